//! One frame, as it stands on the wire.

use super::RawWebSocketRole;

pub const CONTINUATION: u8 = 0;
pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawWebSocketFrame {
    pub fin: bool,
    /// The three reserved bits; the lowest is RSV3.
    pub reserved: u8,
    pub opcode: u8,
    pub payload: Vec<u8>,
}

impl RawWebSocketFrame {
    pub fn new(opcode: u8, payload: impl Into<Vec<u8>>) -> Self {
        Self { fin: true, reserved: 0, opcode, payload: payload.into() }
    }

    pub fn text(text: &str) -> Self {
        Self::new(TEXT, text)
    }

    pub fn close(code: u16, reason: &str) -> Self {
        Self::new(CLOSE, [&code.to_be_bytes(), reason.as_bytes()].concat())
    }

    /// More of the message follows.
    #[must_use]
    pub fn without_fin(self) -> Self {
        Self { fin: false, ..self }
    }

    #[must_use]
    pub fn with_reserved(self, reserved: u8) -> Self {
        Self { reserved, ..self }
    }

    pub fn bytes(&self, role: RawWebSocketRole) -> Vec<u8> {
        let masked = match role {
            RawWebSocketRole::Client => 0x80,
            RawWebSocketRole::Server => 0,
        };
        let mut bytes = Vec::with_capacity(self.payload.len() + 14);
        bytes.push(u8::from(self.fin) << 7 | self.reserved << 4 | self.opcode);
        match self.payload.len() {
            short @ ..126 => bytes.push(masked | short as u8),
            medium @ 126..65_536 => {
                bytes.push(masked | 126);
                bytes.extend_from_slice(&(medium as u16).to_be_bytes());
            }
            long => {
                bytes.push(masked | 127);
                bytes.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        match role {
            RawWebSocketRole::Server => bytes.extend_from_slice(&self.payload),
            RawWebSocketRole::Client => {
                bytes.extend_from_slice(&MASK);
                let masked = self.payload.iter().zip(MASK.iter().cycle());
                bytes.extend(masked.map(|(byte, mask)| byte ^ mask));
            }
        }
        bytes
    }

    /// The first whole frame and its length.
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let [first, second, rest @ ..] = bytes else { return None };
        let (length, rest) = match second & 0x7f {
            126 => {
                let (length, rest) = rest.split_first_chunk::<2>()?;
                (u64::from(u16::from_be_bytes(*length)), rest)
            }
            127 => {
                let (length, rest) = rest.split_first_chunk::<8>()?;
                (u64::from_be_bytes(*length), rest)
            }
            short => (u64::from(short), rest),
        };
        let (mask, rest) = match second & 0x80 {
            0 => (None, rest),
            _ => rest.split_first_chunk::<4>().map(|(mask, rest)| (Some(*mask), rest))?,
        };
        let length = usize::try_from(length).ok()?;
        let mut payload = rest.get(..length)?.to_vec();
        if let Some(mask) = mask {
            payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        }
        let reserved = first >> 4 & 7;
        let opcode = first & 15;
        let frame = Self { fin: first & 0x80 != 0, reserved, opcode, payload };
        Some((frame, bytes.len() - rest.len() + length))
    }
}
