//! Warns of names in an allowlist (of agents, of the global rules) that no tool can have. Servers
//! change at run time, so it only warns, and only if the config alone is conclusive.

use std::path::PathBuf;

use tollgate_core::code_mode::MetaTool;
use tollgate_core::glob::Glob;
use tollgate_engine::builtin::{BuiltinDeps, memory, shipped_servers};
use tollgate_engine::settings::BuiltinSettings;
use tollgate_llm::settings::ProviderSettings;

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;
use super::super::suggest::nearest;
use super::super::wording::last;

/// Built-in tools that exist only if their section is present.
const TOOLS_NEEDING_SECTION: &[(&str, &str)] =
    &[("play_track", "builtin.music"), ("stop_music", "builtin.music")];

pub(super) fn warn_of_names_nobody_has(
    top: &SectionFields,
    providers: &[ProviderSettings],
    problems: &mut Problems,
) {
    let Some(known) = PossibleToolNames::of(top, providers) else { return };
    for (section, key) in lists(top) {
        for listed in section.texts(key).into_iter().filter(|it| !known.has(it.value)) {
            if let Some((_, needed)) =
                TOOLS_NEEDING_SECTION.iter().find(|(name, _)| *name == listed.value)
            {
                let message = format!("there is no `{}` without `{needed}`", listed.value);
                problems.warning(listed.at, &section.path(key), message);
                continue;
            }
            let message = format!("no tool can be named `{}`", listed.value);
            let found = problems.warning(listed.at, &section.path(key), message);
            let near = nearest(listed.value, known.exact.iter().map(String::as_str));
            match near {
                Some(near) => found.help(format!("did you mean `{near}`?")),
                None => found
                    .help("built-in tools have bare names, others begin as `names.pattern` says"),
            };
        }
    }
}

/// Lists of exposed names.
fn lists(top: &SectionFields) -> Vec<(&SectionFields, &'static str)> {
    let global = top.section("tools");
    let environments = global.iter().flat_map(|global| global.named_sections("environments"));
    let rules = global.into_iter().chain(environments.map(|(_, section)| section));
    let agents = top.named_sections("agents").iter().map(|(_, agent)| agent);
    let of_rules = rules.flat_map(|section| [(section, "allow"), (section, "deny")]);
    let of_agents = agents.flat_map(|agent| [(agent, "tools"), (agent, "auto_execute")]);
    of_rules.chain(of_agents).collect()
}

/// The possible tool names, as far as the config determines them.
struct PossibleToolNames {
    exact: Vec<String>,
    patterns: Vec<String>,
}

impl PossibleToolNames {
    /// `None` when any name is possible.
    fn of(top: &SectionFields, providers: &[ProviderSettings]) -> Option<Self> {
        let pattern = top.section("names").and_then(|names| names.text("pattern"));
        let pattern = pattern.map_or("{server}_{tool}", |text| text.value);
        let servers = top.named_sections("servers");
        if !servers.is_empty() && !pattern.contains("{server}") {
            return None;
        }
        let mut exact: Vec<String> = builtin_tool_names(top, providers);
        let is_there = |section: &str| top.section("builtin").is_some_and(|it| it.has(section));
        let needing = TOOLS_NEEDING_SECTION.iter().filter(|(_, section)| is_there(last(section)));
        exact.extend(needing.map(|(name, _)| (*name).to_owned()));
        exact.extend(memory::NAMES.iter().map(|&name| name.to_owned()));
        exact.extend(MetaTool::ALL.map(|means| means.name().to_owned()));
        let mut patterns = Vec::new();
        for (name, server) in servers {
            let id = name.value.replace(['-', '_'], "?");
            patterns.push(pattern.replace("{server}", &id).replace("{tool}", "*"));
            let renamed =
                server.named_sections("tools").iter().filter_map(|(_, it)| it.text("expose_as"));
            exact.extend(renamed.map(|text| text.value.to_owned()));
        }
        Some(Self { exact, patterns })
    }

    fn has(&self, listed: &str) -> bool {
        let glob = Glob::new(listed);
        self.exact.iter().any(|name| glob.matches(name))
            || self.patterns.iter().any(|pattern| overlap(pattern.as_bytes(), listed.as_bytes()))
    }
}

/// Tools of the built-in servers. Listing names starts nothing.
fn builtin_tool_names(top: &SectionFields, providers: &[ProviderSettings]) -> Vec<String> {
    // Errors are reported elsewhere.
    let mut unheard = Problems::default();
    let web = super::web::web(top, &mut unheard);
    let images = super::images::images(top, providers, &mut unheard);
    let servers = shipped_servers::servers(
        &BuiltinSettings { web, images, ..BuiltinSettings::new(PathBuf::new()) },
        &BuiltinDeps::default(),
    );
    let definitions = servers.iter().flat_map(|server| &server.tools).map(|tool| tool.definition());
    definitions.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect()
}

/// Whether some name matches both globs.
fn overlap(a: &[u8], b: &[u8]) -> bool {
    let mut row: Vec<bool> = vec![false; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let mut next = vec![false; b.len() + 1];
        for j in (0..=b.len()).rev() {
            let star_a = a.get(i) == Some(&b'*');
            let star_b = b.get(j) == Some(&b'*');
            next[j] = match (a.get(i), b.get(j)) {
                (None, None) => true,
                _ if star_a && (row[j] || j < b.len() && next[j + 1]) => true,
                _ if star_b && (next[j + 1] || i < a.len() && row[j]) => true,
                (Some(x), Some(y)) if !star_a && !star_b => {
                    (x == y || *x == b'?' || *y == b'?') && row[j + 1]
                }
                _ => false,
            };
        }
        row = next;
    }
    row[0]
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn globs_overlap_where_one_name_fits_both() {
        for (a, b, expected) in [
            ("files_*", "files_read", true),
            ("files_*", "file_read", false),
            ("files_*", "*_read", true),
            ("files_*", "*", true),
            ("a?b_*", "a_b_c", true),
            ("a*", "b*", false),
            ("*a", "*b", false),
            ("", "*", true),
            ("", "a", false),
        ] {
            assert_eq!(overlap(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
            assert_eq!(overlap(b.as_bytes(), a.as_bytes()), expected, "{b} {a}");
        }
    }
}
