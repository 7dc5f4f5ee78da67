//! The latency tiers and what chooses them.

use std::time::Duration;

use tollgate_core::budget::Ceilings;

use super::super::diagnostic::Problems;
use super::super::raw::Fields;
use super::milliseconds;

#[derive(Debug, Clone)]
pub struct Budget {
    pub tiers: Ceilings,
    /// Which measured percentile decides a tool's tier.
    pub percentile: u8,
    /// Below this the declared latency counts.
    pub min_samples: u32,
    /// A second deep turn sooner than this is a standard one.
    pub deep_interval: Duration,
    pub keywords: Keywords,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keywords {
    pub deep: Vec<String>,
    pub standard: Vec<String>,
    /// Forget the built-in words.
    pub replace: bool,
}

pub(crate) fn budget(top: &Fields, problems: &mut Problems) -> Budget {
    let fields = top.section("budget");
    let whole = |key: &str, default: u32| {
        let found = fields.and_then(|fields| fields.whole(key));
        found.map_or(default, |it| u32::try_from(it.value).unwrap_or(u32::MAX))
    };
    Budget {
        tiers: ceilings(fields.and_then(|fields| fields.section("tiers")), problems),
        percentile: u8::try_from(whole("percentile", 50)).expect("the table says at most 99"),
        min_samples: whole("min_samples", 5),
        deep_interval: Duration::from_secs(u64::from(whole("deep_interval_s", 30))),
        keywords: fields
            .and_then(|fields| fields.section("keywords"))
            .map_or_else(Keywords::default, |fields| keywords(fields, problems)),
    }
}

fn ceilings(fields: Option<&Fields>, problems: &mut Problems) -> Ceilings {
    let read = |key: &str, default: u64| {
        let found = fields.and_then(|fields| fields.whole(key));
        found.map_or(Duration::from_millis(default), milliseconds)
    };
    let ceilings = Ceilings {
        fast: read("fast_ms", 500),
        standard: read("standard_ms", 1_500),
        deep: read("deep_ms", 4_000),
    };
    if let Some(fields) = fields
        && !(ceilings.fast < ceilings.standard && ceilings.standard < ceilings.deep)
    {
        let Ceilings { fast, standard, deep } = ceilings;
        let message = format!(
            "the tiers must rise: fast {}, standard {}, deep {}",
            fast.as_millis(),
            standard.as_millis(),
            deep.as_millis()
        );
        problems
            .error(fields.at, &fields.path, message)
            .help("what is left out is 500, 1500 and 4000");
    }
    ceilings
}

fn keywords(fields: &Fields, problems: &mut Problems) -> Keywords {
    let mut read = |key: &str| {
        let mut words = Vec::new();
        for text in fields.texts(key) {
            if text.value.trim().is_empty() {
                problems
                    .error(text.at, &fields.path(key), "a keyword is empty")
                    .help("take it out");
            }
            words.push(text.value.to_owned());
        }
        words
    };
    Keywords {
        deep: read("deep"),
        standard: read("standard"),
        replace: fields.flag("replace").unwrap_or(false),
    }
}
