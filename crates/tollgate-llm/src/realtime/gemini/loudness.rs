//! Whether a client's audio message contains sound, judged by a few of its samples. For the choice
//! of a moment in which nobody speaks; a session without transcripts has nothing else to tell.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::realtime::json_peek;

/// Quieter samples are noise: 2 % of full scale.
const QUIET_AMPLITUDE: u16 = 655;

/// Samples of a message that are looked at.
const PROBES: usize = 64;

/// Characters of base64 that hold three whole samples of 16 bits.
const GROUP: usize = 8;

/// Clients write either alphabet; the last characters may lack bits.
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

/// `audio`: the blob of a `realtimeInput`. Audio in another format than PCM counts as sound.
pub(in crate::realtime) fn has_sound(audio: &str) -> bool {
    let mut data = "";
    let mut mime = "";
    json_peek::for_each_field(audio, |key, value| {
        match key {
            "data" => data = value.trim_matches('"'),
            "mimeType" | "mime_type" => mime = value.trim_matches('"'),
            _ => (),
        }
        true
    });
    if data.is_empty() {
        return false;
    }
    if !mime.is_empty() && !mime.starts_with("audio/pcm") && !mime.starts_with("audio/l16") {
        return true;
    }
    let groups = data.len() / GROUP;
    let step = groups.div_ceil(PROBES / 3).max(1);
    (0..groups).step_by(step).any(|group| {
        let at = group * GROUP;
        data.get(at..at + GROUP).is_none_or(is_loud)
    })
}

fn is_loud(group: &str) -> bool {
    let mut samples = [0; 6];
    let decoded = STANDARD
        .decode_slice(group, &mut samples)
        .or_else(|_| URL_SAFE.decode_slice(group, &mut samples));
    let Ok(length) = decoded else { return true };
    samples[..length]
        .chunks_exact(2)
        .any(|pair| i16::from_le_bytes([pair[0], pair[1]]).unsigned_abs() > QUIET_AMPLITUDE)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::has_sound;

    fn blob(mime: &str, data: &str) -> String {
        format!(r#"{{"mimeType":"{mime}","data":"{data}"}}"#)
    }

    fn pcm(samples: &[i16]) -> Vec<u8> {
        samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
    }

    #[test]
    fn sound_is_told_from_silence_in_either_alphabet() {
        let silence = pcm(&[3; 320]);
        let speech = pcm(&(0..320).map(|at| ((at % 40) * 400 - 8_000) as i16).collect::<Vec<_>>());
        for (sound, expected) in [(&silence, false), (&speech, true)] {
            for data in [STANDARD.encode(sound), URL_SAFE_NO_PAD.encode(sound)] {
                assert_eq!(has_sound(&blob("audio/pcm;rate=16000", &data)), expected);
            }
        }
    }

    #[test]
    fn what_cannot_be_judged_counts_as_sound_and_nothing_does_not() {
        let silence = STANDARD.encode(pcm(&[0; 64]));
        assert!(has_sound(&blob("audio/ogg", &silence)));
        assert!(has_sound(&blob("audio/pcm", "????????????????")));
        assert!(!has_sound("{}"));
        assert!(!has_sound(&blob("audio/pcm", "")));
    }
}
