//! Client capabilities that a legacy session declares: all that any caller could support, or
//! exactly those of one kind of caller.

use crate::Revision;
use crate::meta::ClientFacts;

/// Capabilities that a session declares. Callers with equal ones share a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct DeclaredCapabilities(u8);

const FORM: u8 = 1;
const URL: u8 = 2;
const SAMPLING: u8 = 4;
const ROOTS: u8 = 8;

impl DeclaredCapabilities {
    /// For connections with a single session: an unsupported question is detected at call time.
    pub(super) const ALL: Self = Self(FORM | URL | SAMPLING | ROOTS);
    /// The server cannot ask anything.
    pub(super) const NONE: Self = Self(0);

    /// Exactly what this caller declared.
    pub(super) fn of(client: &ClientFacts) -> Self {
        let Some(declared) = client.declared_capabilities() else { return Self::NONE };
        let mut bits = 0;
        if let Some(elicitation) = declared.get("elicitation") {
            let has = |mode: &str| elicitation.get().contains(mode);
            // An empty object means forms.
            bits |= if has("\"url\"") { URL } else { 0 };
            bits |= if has("\"form\"") || !has("\"url\"") { FORM } else { 0 };
        }
        bits |= if declared.contains("sampling") { SAMPLING } else { 0 };
        bits |= if declared.contains("roots") { ROOTS } else { 0 };
        Self(bits)
    }

    /// The `capabilities` of `initialize`, in the format of that revision.
    pub(super) fn to_capabilities_json(self, revision: Revision) -> String {
        let has = |bit: u8| self.0 & bit != 0;
        let mut parts = Vec::new();
        if (has(FORM) || has(URL)) && revision >= Revision::V2025_06_18 {
            let modes = [(FORM, r#""form":{}"#), (URL, r#""url":{}"#)];
            let modes: Vec<&str> =
                modes.into_iter().filter(|(bit, _)| has(*bit)).map(|(_, text)| text).collect();
            let modes =
                if revision >= Revision::V2025_11_25 { modes.join(",") } else { String::new() };
            parts.push(format!(r#""elicitation":{{{modes}}}"#));
        }
        if has(SAMPLING) {
            parts.push(r#""sampling":{}"#.to_owned());
        }
        if has(ROOTS) {
            parts.push(r#""roots":{"listChanged":false}"#.to_owned());
        }
        format!("{{{}}}", parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::json::raw;

    use super::DeclaredCapabilities;
    use crate::Revision;
    use crate::meta::ClientFacts;

    #[test]
    fn a_session_declares_what_its_callers_did_in_the_words_of_the_revision() {
        let check = |capabilities: &str, revision: Revision, expected: &str| {
            let capabilities = Some(raw(capabilities.to_owned()));
            let client = ClientFacts { capabilities, ..ClientFacts::default() };
            assert_eq!(DeclaredCapabilities::of(&client).to_capabilities_json(revision), expected);
        };
        let newest = Revision::V2025_11_25;
        check("{}", newest, "{}");
        check(r#"{"sampling":{}}"#, newest, r#"{"sampling":{}}"#);
        check(r#"{"elicitation":{}}"#, newest, r#"{"elicitation":{"form":{}}}"#);
        check(r#"{"elicitation":{"url":{}}}"#, newest, r#"{"elicitation":{"url":{}}}"#);
        check(r#"{"elicitation":{}}"#, Revision::V2025_06_18, r#"{"elicitation":{}}"#);
        check(
            r#"{"elicitation":{},"roots":{}}"#,
            Revision::V2024_11_05,
            r#"{"roots":{"listChanged":false}}"#,
        );
        assert_eq!(DeclaredCapabilities::of(&ClientFacts::default()), DeclaredCapabilities::NONE);
    }
}
