//! Global rules: allowlist and denylist of tools for all agents, in general and per environment.

use tollgate_core::filter::{AllowDenyLists, GlobalRules, ToolSwitch};
use tollgate_core::glob::Glob;

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;
use super::super::suggest::nearest;

pub(super) fn read_global_rules(
    top: &SectionFields,
    environment: &str,
    problems: &mut Problems,
) -> GlobalRules {
    let Some(tools) = top.section("tools") else { return GlobalRules::default() };
    let known = tools.named_sections("environments");
    let own = known.iter().find(|(name, _)| name.value == environment);
    if let (None, Some((first, _))) = (own, known.first()) {
        let message = format!("no rule applies to this environment, `{environment}`");
        let names = known.iter().map(|(name, _)| name.value.as_str());
        let near = nearest(environment, names);
        let found = problems.warning(first.at, &tools.path("environments"), message);
        match near {
            Some(near) => found.help(format!("did you mean `environment: {near}`?")),
            None => found.help("`environment:` at the top level names this environment"),
        };
    }
    GlobalRules {
        switch: if tools.flag("enabled") == Some(false) { ToolSwitch::Off } else { ToolSwitch::On },
        everywhere: lists(tools),
        environment: own.map_or_else(AllowDenyLists::default, |(_, fields)| lists(fields)),
        ..GlobalRules::default()
    }
}

/// An empty list that is present allows nothing.
fn lists(fields: &SectionFields) -> AllowDenyLists {
    let globs = |key: &str| fields.texts(key).iter().map(|text| Glob::new(text.value)).collect();
    AllowDenyLists {
        allow: if fields.has("allow") { globs("allow") } else { AllowDenyLists::default().allow },
        deny: globs("deny"),
    }
}
