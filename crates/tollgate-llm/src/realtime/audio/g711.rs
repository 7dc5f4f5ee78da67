//! G.711 (ITU-T): 8-bit companded samples of telephone lines.

/// Samples per second.
pub(super) const RATE: u32 = 8_000;

/// µ-law, as in North America and Japan, and on Twilio's media streams.
#[derive(Debug, Clone, Copy)]
pub struct MuLaw;

/// A-law, as in the rest of the world.
#[derive(Debug, Clone, Copy)]
pub struct ALaw;

/// Added to a magnitude before its segment is looked up.
const MU_LAW_BIAS: i32 = 0x84;
const MU_LAW_CLIP: i32 = 32_635;
/// A-law inverts every second bit on the line.
const A_LAW_MASK: u8 = 0x55;

const MU_LAW: [i16; 256] = {
    let mut samples = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let code = !(byte as u8);
        let step = ((code & 0x0f) as i32) << 3;
        let magnitude = ((step + MU_LAW_BIAS) << ((code & 0x70) >> 4)) - MU_LAW_BIAS;
        samples[byte] = if code & 0x80 != 0 { -magnitude as i16 } else { magnitude as i16 };
        byte += 1;
    }
    samples
};

const A_LAW: [i16; 256] = {
    let mut samples = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let code = byte as u8 ^ A_LAW_MASK;
        let step = ((code & 0x0f) as i32) << 4;
        let magnitude = match (code & 0x70) >> 4 {
            0 => step + 8,
            segment => (step + 0x108) << (segment - 1),
        };
        samples[byte] = if code & 0x80 != 0 { magnitude as i16 } else { -magnitude as i16 };
        byte += 1;
    }
    samples
};

impl MuLaw {
    pub const fn decode(byte: u8) -> i16 {
        MU_LAW[byte as usize]
    }

    pub fn encode(sample: i16) -> u8 {
        let sign = if sample < 0 { 0x80 } else { 0 };
        let magnitude = i32::from(sample).abs().min(MU_LAW_CLIP) + MU_LAW_BIAS;
        let segment = segment(magnitude);
        let mantissa = (magnitude >> (segment + 3)) & 0x0f;
        !(sign | (segment << 4) as u8 | mantissa as u8)
    }
}

impl ALaw {
    pub const fn decode(byte: u8) -> i16 {
        A_LAW[byte as usize]
    }

    pub fn encode(sample: i16) -> u8 {
        // Negative values are one's complements, so that both signs have the same segments.
        let (sign, magnitude) =
            if sample < 0 { (0, !i32::from(sample)) } else { (0x80, i32::from(sample)) };
        let segment = segment(magnitude);
        let shift = if segment == 0 { 4 } else { segment + 3 };
        let mantissa = (magnitude >> shift) & 0x0f;
        (sign | (segment << 4) as u8 | mantissa as u8) ^ A_LAW_MASK
    }
}

/// The segment of a 15-bit magnitude; each is twice as coarse as the one before.
fn segment(magnitude: i32) -> u32 {
    i32::BITS - (magnitude >> 8).leading_zeros()
}
