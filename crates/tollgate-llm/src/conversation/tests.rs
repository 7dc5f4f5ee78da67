//! Signatures that come back from clients, of their own dialect and of others.

use super::*;

#[test]
fn a_signature_finds_its_maker_again_through_any_client() {
    for maker in Dialect::ALL {
        for client in Dialect::ALL {
            let signature = ThoughtSignature { maker, text: "a:b==".to_owned() };
            let kept = signature.for_client(client);
            assert_eq!(kept == signature.text, maker == client);
            assert_eq!(ThoughtSignature::from_client(client, kept), signature);
        }
    }
}

#[test]
fn a_signature_without_a_known_maker_is_the_clients_own() {
    for kept in ["", "abc", "tollgate:", "tollgate:nobody:abc"] {
        let signature = ThoughtSignature::from_client(Dialect::Anthropic, kept.to_owned());
        assert_eq!(
            signature,
            ThoughtSignature { maker: Dialect::Anthropic, text: kept.to_owned() }
        );
    }
}
