use std::f64::consts::TAU;

use super::{ALaw, AudioConverter, AudioFormat, MuLaw, Resampler, UnsupportedRateError};

const PCM_8K: AudioFormat = AudioFormat::Pcm16 { rate: 8_000 };
const PCM_16K: AudioFormat = AudioFormat::Pcm16 { rate: 16_000 };
const PCM_24K: AudioFormat = AudioFormat::Pcm16 { rate: 24_000 };

fn tone(hertz: f64, rate: u32, count: usize) -> Vec<i16> {
    let sample = |at| 10_000.0 * (TAU * hertz * f64::from(at) / f64::from(rate)).sin();
    (0..count as u32).map(|at| sample(at).round() as i16).collect()
}

fn rms(samples: &[i16]) -> f64 {
    let sum: f64 = samples.iter().map(|it| f64::from(*it).powi(2)).sum();
    (sum / samples.len() as f64).sqrt()
}

#[test]
fn g_711_has_the_values_of_the_standard() {
    for (byte, mu, a) in [
        (0x00, -32_124, -5_504),
        (0x7f, 0, -848),
        (0x80, 32_124, 5_504),
        (0xff, 0, 848),
        (0xd5, 716, 8),
        (0x55, -716, -8),
        (0x2a, -5_372, -32_256),
        (0xaa, 5_372, 32_256),
    ] {
        assert_eq!(MuLaw::decode(byte), mu, "µ-law {byte:02x}");
        assert_eq!(ALaw::decode(byte), a, "A-law {byte:02x}");
    }
    assert_eq!(
        [MuLaw::encode(0), MuLaw::encode(i16::MIN), MuLaw::encode(i16::MAX)],
        [0xff, 0x00, 0x80]
    );
    assert_eq!(
        [ALaw::encode(0), ALaw::encode(i16::MIN), ALaw::encode(i16::MAX)],
        [0xd5, 0x2a, 0xaa]
    );
}

#[test]
fn every_g_711_byte_survives_a_round_trip() {
    for byte in 0..=u8::MAX {
        // Negative zero is the only other name of a value.
        let mu = if byte == 0x7f { 0xff } else { byte };
        assert_eq!(MuLaw::encode(MuLaw::decode(byte)), mu, "µ-law {byte:02x}");
        assert_eq!(ALaw::encode(ALaw::decode(byte)), byte, "A-law {byte:02x}");
    }
}

#[test]
fn g_711_stays_within_half_a_step() {
    for sample in i16::MIN..=i16::MAX {
        let magnitude = i32::from(sample).abs();
        let step = (magnitude / 16).max(8) + 4;
        for decoded in [MuLaw::decode(MuLaw::encode(sample)), ALaw::decode(ALaw::encode(sample))] {
            let error = (i32::from(decoded) - i32::from(sample)).abs();
            assert!(error <= step.max(magnitude - 32_124), "{sample} became {decoded}");
        }
    }
}

#[test]
fn a_tone_keeps_its_pitch_level_and_time() {
    for (from, to) in
        [(24_000, 16_000), (16_000, 24_000), (8_000, 16_000), (24_000, 8_000), (44_100, 24_000)]
    {
        let input = tone(1_000.0, from, from as usize / 2);
        let mut resampler = Resampler::new(from, to).unwrap();
        let mut output = resampler.resample(&input);
        output.extend(resampler.flush());
        assert_eq!(output.len(), to as usize / 2, "{from} to {to}");
        let expected = tone(1_000.0, to, output.len());
        let edge = to as usize / 100;
        for at in edge..output.len() - edge {
            let error = (i32::from(output[at]) - i32::from(expected[at])).abs();
            assert!(error < 60, "{from} to {to}: {} is not {}", output[at], expected[at]);
        }
    }
}

#[test]
fn what_the_lower_rate_cannot_hold_is_silent() {
    for (from, to, hertz) in
        [(24_000, 16_000, 9_500.0), (24_000, 8_000, 5_000.0), (16_000, 8_000, 6_000.0)]
    {
        let output = Resampler::new(from, to).unwrap().resample(&tone(hertz, from, 24_000));
        assert!(rms(&output[1_000..]) < 20.0, "{from} to {to}: {}", rms(&output[1_000..]));
    }
}

#[test]
fn the_cut_into_frames_changes_nothing() {
    let bytes: Vec<u8> =
        tone(440.0, 24_000, 4_800).iter().flat_map(|sample| sample.to_le_bytes()).collect();
    for to in [PCM_16K, PCM_8K, AudioFormat::MuLaw, AudioFormat::ALaw] {
        let mut whole = AudioConverter::new(PCM_24K, to).unwrap();
        let mut expected = whole.convert(&bytes);
        expected.extend(whole.flush());
        for length in [1, 2, 3, 7, 480, 961, 9_600] {
            let mut converter = AudioConverter::new(PCM_24K, to).unwrap();
            let frames = bytes.chunks(length);
            let mut output: Vec<u8> = frames.flat_map(|frame| converter.convert(frame)).collect();
            output.extend(converter.flush());
            assert_eq!(output, expected, "{to:?} in frames of {length}");
        }
    }
}

#[test]
fn a_reset_stream_begins_anew() {
    let loud: Vec<u8> = tone(440.0, 24_000, 999).iter().flat_map(|it| it.to_le_bytes()).collect();
    let mut converter = AudioConverter::new(PCM_24K, PCM_16K).unwrap();
    let first = converter.convert(&loud);
    converter.convert(&loud[..5]);
    converter.reset();
    assert_eq!(converter.convert(&loud), first);
    converter.flush();
    assert_eq!(converter.convert(&loud), first);
}

#[test]
fn equal_formats_are_copied_and_odd_rates_refused() {
    let mut converter = AudioConverter::new(AudioFormat::MuLaw, AudioFormat::MuLaw).unwrap();
    assert_eq!(converter.convert(&[1, 2, 3]), [1, 2, 3]);
    let odd = AudioFormat::Pcm16 { rate: 7 };
    assert_eq!(AudioConverter::new(odd, PCM_24K).err(), Some(UnsupportedRateError { rate: 7 }));
}

#[test]
fn durations_are_those_of_whole_samples() {
    for (format, millis, bytes) in
        [(PCM_24K, 100, 4_800), (PCM_16K, 20, 640), (AudioFormat::MuLaw, 20, 160)]
    {
        assert_eq!(format.bytes(millis), bytes);
        assert_eq!(format.millis(bytes), millis);
    }
}
