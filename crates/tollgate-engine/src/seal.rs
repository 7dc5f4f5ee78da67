//! Seals state that a client carries for us: the client can neither read nor change it, nor use it
//! for another principal or purpose. The key lives as long as the process.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

/// The purpose of a sealed text. One cannot be used for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealPurpose {
    /// `requestState`.
    State,
    /// The handle of a task.
    Ticket,
}

pub(crate) struct Seal {
    key: LessSafeKey,
    random: SystemRandom,
}

impl Seal {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let mut bytes = [0; 32];
        random.fill(&mut bytes).expect("the system has randomness");
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).expect("the key has the right size");
        Self { key: LessSafeKey::new(key), random }
    }

    /// `purpose` and `owner` must be given again to open it.
    pub(crate) fn close(&self, purpose: SealPurpose, owner: &str, content: &str) -> String {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).expect("the system has randomness");
        let mut sealed = content.as_bytes().to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.key
            .seal_in_place_append_tag(unique, bound_to(purpose, owner), &mut sealed)
            .expect("the content is short");
        let mut out = nonce.to_vec();
        out.append(&mut sealed);
        URL_SAFE_NO_PAD.encode(out)
    }

    pub(crate) fn open(&self, purpose: SealPurpose, owner: &str, text: &str) -> Option<String> {
        let mut bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        if bytes.len() < NONCE_LEN {
            return None;
        }
        let mut sealed = bytes.split_off(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&bytes).ok()?;
        let opened = self.key.open_in_place(nonce, bound_to(purpose, owner), &mut sealed).ok()?;
        String::from_utf8(opened.to_vec()).ok()
    }
}

fn bound_to(purpose: SealPurpose, owner: &str) -> Aad<Vec<u8>> {
    let purpose = match purpose {
        SealPurpose::State => "state:",
        SealPurpose::Ticket => "ticket:",
    };
    Aad::from([purpose, owner].concat().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::Seal;
    use super::SealPurpose::{State, Ticket};

    #[test]
    fn s_14_a_seal_opens_only_unchanged_and_only_for_its_owner_and_purpose() {
        let seal = Seal::new();
        let text = seal.close(State, "ada", "content");
        assert_eq!(seal.open(State, "ada", &text).as_deref(), Some("content"));
        assert_eq!(seal.open(State, "bob", &text), None);
        assert_eq!(seal.open(Ticket, "ada", &text), None, "another purpose");
        assert_eq!(Seal::new().open(State, "ada", &text), None, "another process");
        for bit in 0..text.len() * 8 {
            let mut changed = text.clone().into_bytes();
            changed[bit / 8] ^= 1 << (bit % 8);
            // Clients can only send valid UTF-8.
            let Ok(changed) = String::from_utf8(changed) else { continue };
            assert_eq!(seal.open(State, "ada", &changed), None, "bit {bit}");
        }
        for garbage in ["", "A", "%%%", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
            assert_eq!(seal.open(State, "ada", garbage), None);
        }
    }
}
