//! Which names a dialect takes for the tools of its clients. Used by every dialect's reader.

use std::collections::HashSet;

use crate::conversation::Tool;
use crate::failure::Failure;

/// Letters, digits, `_` and `-`, and what else the dialect allows.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    pub longest: usize,
    pub marks: &'static str,
}

/// Names that the provider would refuse, and names that stand twice.
pub fn check(tools: &[Tool], rule: NameRule) -> Result<(), Failure> {
    let places: Vec<String> = (0..tools.len()).map(|index| format!("tools[{index}]")).collect();
    check_at(tools, &places, rule)
}

/// For dialects in which tools stand deeper: `places` has one for each.
pub fn check_at(tools: &[Tool], places: &[String], rule: NameRule) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for (tool, at) in tools.iter().zip(places) {
        let Tool::Function(function) = tool else { continue };
        let name = function.name.as_str();
        if let Some(wrong) = rule.complaint(name) {
            return Err(Failure::invalid(at, format!("the name of `{at}` {wrong}")));
        }
        if !seen.insert(name) {
            let message =
                format!("`{at}` is called `{name}` like a tool before it; names are unique");
            return Err(Failure::invalid(at, message));
        }
    }
    Ok(())
}

impl NameRule {
    fn complaint(self, name: &str) -> Option<String> {
        let shown: String = name.chars().take(80).collect();
        let long = name.chars().count();
        if name.is_empty() {
            Some("is empty".to_owned())
        } else if let Some(mark) = name.chars().find(|mark| !self.allows(*mark)) {
            let allowed: String = self.marks.chars().flat_map(|mark| [' ', mark]).collect();
            Some(format!(
                "is `{shown}`, and {mark:?} is not allowed in it: letters, digits, _ -{allowed}"
            ))
        } else if long > self.longest {
            Some(format!("is `{shown}…`, {long} characters; at most {} are allowed", self.longest))
        } else {
            None
        }
    }

    fn allows(self, mark: char) -> bool {
        mark.is_ascii_alphanumeric() || "_-".contains(mark) || self.marks.contains(mark)
    }
}

#[cfg(test)]
mod tests;
