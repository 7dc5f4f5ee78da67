//! What the operator says of single tools.

use std::collections::BTreeMap;
use std::time::Duration;

use tollgate_core::id::{ExposedName, ToolName};
use tollgate_core::tool::{Approval, Override, Speech};

use super::super::diagnostic::Problems;
use super::super::raw::Fields;
use super::milliseconds;
use super::rate::rate_limit;

pub(super) fn tools(server: &Fields, problems: &mut Problems) -> BTreeMap<ToolName, Override> {
    let entries = server.named("tools").iter();
    entries.map(|(name, fields)| (ToolName::new(&name.value), one(fields, problems))).collect()
}

fn one(fields: &Fields, problems: &mut Problems) -> Override {
    let text = |key: &str| fields.text(key).map(|text| text.value.to_owned());
    let idempotent = fields.flag("idempotent");
    let cacheable = fields.whole("cacheable_seconds");
    if let (Some(false), Some(seconds)) = (idempotent, cacheable)
        && seconds.value > 0
    {
        problems
            .warning(seconds.at, &fields.path("cacheable_seconds"), "nothing will be cached")
            .help("only results of tools with `idempotent: true` are");
    }
    Override {
        expose_as: expose_as(fields, problems),
        description: text("description"),
        speech: Speech { template: text("speech_template"), field: text("speech_field") },
        estimated: estimated(fields, problems),
        max: fields.whole("max_duration_ms").map(milliseconds),
        idempotent,
        cacheable: cacheable.map(|seconds| Duration::from_secs(seconds.value)),
        probe: probe(fields, problems),
        hedge: None,
        rate_limit: rate_limit(fields, problems),
        approval: fields.text("approval").map(|text| match text.value {
            "always" => Approval::Always,
            "never" => Approval::Never,
            _ => Approval::Auto,
        }),
    }
}

fn expose_as(fields: &Fields, problems: &mut Problems) -> Option<ExposedName> {
    let text = fields.text("expose_as")?;
    match ExposedName::parse(text.value) {
        Ok(name) => Some(name),
        Err(error) => {
            let message = format!("`expose_as`: {error}");
            problems
                .error(text.at, &fields.path("expose_as"), message)
                .help("like `search_world`: at most 64 characters");
            None
        }
    }
}

fn estimated(fields: &Fields, problems: &mut Problems) -> Option<Duration> {
    let estimated = fields.whole("estimated_duration_ms")?;
    if let Some(max) = fields.whole("max_duration_ms")
        && estimated.value > max.value
    {
        let message = format!(
            "`estimated_duration_ms` ({}) is more than `max_duration_ms` ({})",
            estimated.value, max.value
        );
        problems
            .error(estimated.at, &fields.path("estimated_duration_ms"), message)
            .help("half of the calls cannot take longer than the slowest may");
    }
    Some(milliseconds(estimated))
}

fn probe(fields: &Fields, problems: &mut Problems) -> Option<serde_json::Value> {
    let probe = fields.json("probe")?;
    if !probe.value.is_object() {
        problems
            .error(probe.at, &fields.path("probe"), "`probe` must be a map of arguments")
            .help("like `probe: { icao: EDDF }`");
        return None;
    }
    Some(probe.value.clone())
}
