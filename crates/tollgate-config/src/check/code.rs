//! Code mode: limits for programs that models write, and the agents that may use it.

use tollgate_core::agent::Agent;
use tollgate_core::budget::Tier;
use tollgate_core::code_mode::BindingLevel;
use tollgate_core::filter::GlobalRules;
use tollgate_engine::settings::{CodeModeSettings, UnapprovedCallPolicy};

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;
use super::{absolute, milliseconds};

pub(super) fn code(top: &SectionFields, problems: &mut Problems) -> CodeModeSettings {
    let usual = CodeModeSettings::default();
    let Some(fields) = top.section("code") else { return usual };
    let whole = |key: &str| fields.whole(key).map(|it| it.value);
    let count = |key: &str, usual: usize| {
        whole(key).map_or(usual, |it| usize::try_from(it).unwrap_or(usize::MAX))
    };
    let mut limits = usual.limits;
    let mut memory_bytes = usual.memory_bytes;
    limits.time = fields.whole("timeout_ms").map_or(limits.time, milliseconds);
    limits.fence.steps = whole("max_steps").unwrap_or(limits.fence.steps);
    if let Some(calls) = whole("max_calls") {
        limits.fence.calls = u32::try_from(calls).unwrap_or(u32::MAX);
    }
    if let Some(kilobytes) = whole("max_output_kb") {
        limits.fence.output_bytes = kilobytes << 10;
    }
    if let Some(megabytes) = whole("max_memory_mb") {
        memory_bytes = megabytes << 20;
        // The interpreter itself and temporary values need the rest.
        limits.fence.heap_bytes = memory_bytes / 4;
    }
    let spare = count("spare_workers", usual.spare);
    let together = count("max_programs", usual.together);
    if spare > together {
        let message = format!("`spare_workers: {spare}` is more than `max_programs: {together}`");
        problems
            .warning(fields.place("spare_workers"), &fields.path("spare_workers"), message)
            .help("more than `max_programs` are never used");
    }
    CodeModeSettings {
        limits,
        memory_bytes,
        binding: match fields.text("binding_level").map(|text| text.value) {
            Some("tool") => BindingLevel::Tool,
            _ => BindingLevel::Server,
        },
        spare: spare.min(together),
        together,
        unapproved: match fields.text("approval").map(|text| text.value) {
            Some("refuse") => UnapprovedCallPolicy::Refused,
            _ => UnapprovedCallPolicy::Waits,
        },
        worker: fields
            .text("worker")
            .and_then(|text| absolute(text, &fields.path("worker"), problems))
            .unwrap_or(usual.worker),
    }
}

/// The minimum tier with code mode.
pub(super) fn least_tier(top: &SectionFields, usual: Tier) -> Tier {
    let typed = top.section("code").and_then(|code| code.text("tier"));
    typed.and_then(|text| Tier::parse(text.value)).unwrap_or(usual)
}

/// Warns of agents with code mode that can never have a turn of that tier.
pub(super) fn warn_of_turns_too_short(
    top: &SectionFields,
    agents: &[Agent],
    global: &GlobalRules,
    problems: &mut Problems,
) {
    for (name, fields) in top.named_sections("agents") {
        let Some(agent) = agents.iter().find(|agent| agent.id.as_str() == name.value) else {
            continue;
        };
        let least = global.code_begins(agent);
        if let Some(ceiling) = agent.ceiling
            && agent.persona.code_mode
            && ceiling < least
        {
            let message = format!("`code_mode` has no effect: `{}` has no {least} turn", agent.id);
            problems
                .warning(fields.place("code_mode"), &fields.path("code_mode"), message)
                .help(format!("its `budget_tier` is {ceiling}; code mode begins at {least}"));
        }
    }
}
