//! Latency tiers and the rules that choose them.

use std::time::Duration;

use tollgate_core::budget::Ceilings;
use tollgate_core::tier_assignment;
use tollgate_core::tier_selector::{self, BuiltinKeywords, KeywordLanguage, TierKeywords};
use tollgate_engine::settings::TierSettings;

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;
use super::milliseconds;

pub(super) fn budget(top: &SectionFields, problems: &mut Problems) -> TierSettings {
    let usual = TierSettings::default();
    let Some(fields) = top.section("budget") else { return usual };
    let small = "the table bounds it";
    let seconds = |key: &str, usual: Duration| {
        fields.whole(key).map_or(usual, |it| Duration::from_secs(it.value))
    };
    let standing = tier_assignment::TierRules {
        ceilings: ceilings(fields, problems),
        percentile: fields
            .whole("percentile")
            .map_or(usual.standing.percentile, |it| u8::try_from(it.value).expect(small)),
        min_samples: fields
            .whole("min_samples")
            .map_or(usual.standing.min_samples, |it| u32::try_from(it.value).expect(small)),
        recovery: seconds("recovery_s", usual.standing.recovery),
        hold: seconds("hold_s", usual.standing.hold),
    };
    TierSettings {
        standing,
        deep_interval: seconds("deep_interval_s", usual.deep_interval),
        calibrate_every: seconds("calibrate_interval_s", usual.calibrate_every),
        keywords: keywords(fields, problems),
    }
}

/// The section `keywords`, global or of an agent.
pub(super) fn keywords(parent: &SectionFields, problems: &mut Problems) -> TierKeywords {
    let Some(fields) = parent.section("keywords") else { return TierKeywords::default() };
    let mut listed = |key: &str| {
        let mut words = Vec::new();
        for text in fields.texts(key) {
            if !tier_selector::is_matchable(text.value) {
                let message = format!("the keyword `{}` can never match", text.value);
                problems
                    .error(text.at, &fields.path(key), message)
                    .help("it has no letter and no digit; remove it");
            }
            words.push(text.value.to_owned());
        }
        words
    };
    let deep = listed("deep");
    let standard = listed("standard");
    let builtin = match fields.flag("replace") {
        Some(true) => BuiltinKeywords::Replaced,
        Some(false) | None => BuiltinKeywords::Included,
    };
    let languages = fields.texts("languages");
    if builtin == BuiltinKeywords::Replaced && !languages.is_empty() {
        problems
            .warning(
                fields.place("languages"),
                &fields.path("languages"),
                "no keyword list is left",
            )
            .help("`replace: true` removes the built-in keywords of every language");
    }
    let languages = languages.into_iter().filter_map(|text| KeywordLanguage::parse(text.value));
    TierKeywords { deep, standard, builtin, languages: languages.collect() }
}

fn ceilings(budget: &SectionFields, problems: &mut Problems) -> Ceilings {
    let usual = Ceilings::default();
    let Some(fields) = budget.section("tiers") else { return usual };
    let read = |key: &str, usual: Duration| fields.whole(key).map_or(usual, milliseconds);
    let ceilings = Ceilings {
        fast: read("fast_ms", usual.fast),
        standard: read("standard_ms", usual.standard),
        deep: read("deep_ms", usual.deep),
    };
    let Ceilings { fast, standard, deep } = ceilings;
    if !(fast < standard && standard < deep) {
        let message = format!(
            "the tiers must be increasing: fast {}, standard {}, deep {}",
            fast.as_millis(),
            standard.as_millis(),
            deep.as_millis()
        );
        problems
            .error(fields.at, &fields.path, message)
            .help("the defaults are 500, 1500 and 4000");
    }
    ceilings
}
