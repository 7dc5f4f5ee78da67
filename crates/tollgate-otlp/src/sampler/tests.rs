use tollgate_core::trace::{Sampling, SpanContext, TraceId};

use super::Sampler;

fn trace(randomness: u64) -> TraceId {
    let mut bytes = [7; 16];
    bytes[9..].copy_from_slice(&randomness.to_be_bytes()[1..]);
    TraceId::new(bytes).unwrap()
}

#[test]
fn samplers_have_the_names_of_the_specification() {
    let parent = |flags: &str| {
        SpanContext::parse(&format!("00-{}-{}-{flags}", "1".repeat(32), "2".repeat(16))).unwrap()
    };
    let kept = parent("01");
    let dropped = parent("00");
    let most = (1 << 56) - 1;
    for (name, argument, expected) in [
        // Without a parent: of the smallest, a middling and the largest id; beneath a kept one, a dropped one.
        ("always_on", None, "yyy yy"),
        ("always_off", None, "nnn nn"),
        ("traceidratio", Some("0.25"), "nny yy"),
        ("traceidratio", None, "yyy yy"),
        ("traceidratio", Some("0"), "nnn nn"),
        ("parentbased_always_on", None, "yyy yn"),
        ("parentbased_always_off", None, "nnn yn"),
        ("parentbased_traceidratio", Some("0.5"), "nyy yn"),
        ("parentbased_traceidratio", Some("1"), "yyy yn"),
    ] {
        let sampler = Sampler::parse(name, argument).unwrap();
        let decide = |parent: Option<&SpanContext>, randomness: u64| match sampler
            .samples(parent, trace(randomness))
        {
            Sampling::Sampled => 'y',
            Sampling::Dropped => 'n',
        };
        let without: String = [0, 1 << 55, most].map(|it| decide(None, it)).iter().collect();
        let beneath: String = [&kept, &dropped].map(|it| decide(Some(it), most)).iter().collect();
        assert_eq!(format!("{without} {beneath}"), expected, "{name} {argument:?}");
    }
}

#[test]
fn what_is_no_sampler_is_none() {
    for (name, argument) in [
        ("", None),
        ("jaeger_remote", None),
        ("parentbased_", None),
        ("traceidratio", Some("2")),
        ("traceidratio", Some("-0.1")),
        ("traceidratio", Some("many")),
        ("traceidratio", Some("NaN")),
    ] {
        assert_eq!(Sampler::parse(name, argument), None, "{name} {argument:?}");
    }
}
