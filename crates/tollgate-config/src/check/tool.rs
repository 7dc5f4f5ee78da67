//! Overrides of single tools: `expose_as`, durations, hedging, rate limits, effects, approval.

use std::collections::BTreeMap;
use std::time::Duration;

use tollgate_core::id::{ExposedName, ToolName};
use tollgate_core::tool::{ApprovalMode, ResultDelivery, SpeechTemplate, ToolEffect, ToolOverride};

use super::super::diagnostic::Problems;
use super::super::raw::{SectionFields, Spanned};
use super::milliseconds;
use super::rate::rate_limit;

pub(super) fn tools(
    server: &SectionFields,
    problems: &mut Problems,
) -> BTreeMap<ToolName, ToolOverride> {
    let one = |(name, fields): &(Spanned<String>, SectionFields)| {
        warn_of_repeats(server, fields, problems);
        warn_of_silence(fields, problems);
        (ToolName::new(&name.value), tool_override(fields, problems))
    };
    server.named_sections("tools").iter().map(one).collect()
}

fn tool_override(fields: &SectionFields, problems: &mut Problems) -> ToolOverride {
    let text = |key: &str| fields.text(key).map(|text| text.value.to_owned());
    ToolOverride {
        expose_as: expose_as(fields, problems),
        description: text("description"),
        speech: SpeechTemplate { template: text("speech_template"), field: text("speech_field") },
        estimated: estimated_duration(fields, problems),
        max: fields.whole("max_duration_ms").map(milliseconds),
        idempotent: fields.flag("idempotent"),
        cacheable: fields.whole("cacheable_seconds").map(|it| Duration::from_secs(it.value)),
        probe: probe(fields, problems),
        hedge: fields.flag("hedge"),
        rate_limit: rate_limit(fields, problems),
        effect: effect(fields),
        delivery: delivery(fields),
        approval: fields.text("approval").map(|text| match text.value {
            "always" => ApprovalMode::Always,
            "never" => ApprovalMode::Never,
            _ => ApprovalMode::Auto,
        }),
    }
}

fn delivery(fields: &SectionFields) -> Option<ResultDelivery> {
    fields.text("delivery").map(|text| match text.value {
        "when_idle" => ResultDelivery::WhenIdle,
        "interrupt" => ResultDelivery::Interrupt,
        "silent" => ResultDelivery::Silent,
        _ => ResultDelivery::Wait,
    })
}

fn effect(fields: &SectionFields) -> Option<ToolEffect> {
    fields.text("effect").map(|text| match text.value {
        "read_only" => ToolEffect::ReadOnly,
        "mutating" => ToolEffect::Mutating,
        _ => ToolEffect::Destructive,
    })
}

/// Warns of settings that repeat a call, for tools not declared idempotent.
fn warn_of_repeats(server: &SectionFields, fields: &SectionFields, problems: &mut Problems) {
    // Read-only tools may be repeated, and a trusted server may declare its tools idempotent.
    let reads = (effect(fields) == Some(ToolEffect::ReadOnly)).then_some(true);
    if fields.flag("idempotent").or(reads).or(server.flag("trusted")) == Some(true) {
        return;
    }
    let mut warn = |key: &str, what: &str| {
        problems
            .warning(fields.place(key), &fields.path(key), what)
            .help("this requires `idempotent: true`");
    };
    if fields.whole("cacheable_seconds").is_some_and(|seconds| seconds.value > 0) {
        warn("cacheable_seconds", "results will not be cached");
    }
    if fields.flag("hedge") == Some(true) {
        warn("hedge", "there will be no retries");
    }
}

/// Warns of speech settings that no result can satisfy.
fn warn_of_silence(fields: &SectionFields, problems: &mut Problems) {
    let mut warn = |key: &str, help: &str| {
        let message = format!("`{key}` will never be spoken");
        problems.warning(fields.place(key), &fields.path(key), message).help(help);
    };
    if let Some(help) = fields.text("speech_template").and_then(|text| flaw(text.value)) {
        warn("speech_template", help);
    }
    if fields.text("speech_field").is_some_and(|text| text.value.trim().is_empty()) {
        warn("speech_field", "it is empty; name a field of the result, or remove it");
    }
}

/// Why a template can never be filled.
fn flaw(template: &str) -> Option<&'static str> {
    if template.trim().is_empty() {
        return Some("it is empty; write a sentence, or remove it");
    }
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let inside = &rest[at + 1..];
        rest = match (inside.strip_prefix('{'), inside.split_once('}')) {
            (Some(after), _) => after,
            (None, None) => return Some("a `{` is not closed; a brace itself is `{{`"),
            (None, Some((path, _))) if path.trim().is_empty() => {
                return Some("`{}` names no field; like `{icao}`");
            }
            (None, Some((_, after))) => after,
        };
    }
    None
}

fn expose_as(fields: &SectionFields, problems: &mut Problems) -> Option<ExposedName> {
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

fn estimated_duration(fields: &SectionFields, problems: &mut Problems) -> Option<Duration> {
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
            .help("the median cannot exceed the maximum");
    }
    Some(milliseconds(estimated))
}

fn probe(fields: &SectionFields, problems: &mut Problems) -> Option<serde_json::Value> {
    let probe = fields.json("probe")?;
    if !probe.value.is_object() {
        problems
            .error(probe.at, &fields.path("probe"), "`probe` must be a map of arguments")
            .help("like `probe: { icao: EDDF }`");
        return None;
    }
    Some(probe.value.clone())
}
