//! Fits names to the rule of a format. A changed name gets a hash of the whole old name, so that no
//! two names collide, whatever other tools there are: the result depends on the name alone.

use std::borrow::Cow;

use tollgate_core::digest;

use crate::format::names::NameRule;

/// `_` and eight hex digits.
const NAME_MARK_CHARS: usize = 9;

impl NameRule {
    pub(super) fn takes(&self, name: &str) -> bool {
        let mut letters = name.chars();
        letters.next().is_some_and(self.first) && letters.all(self.then) && name.len() <= self.most
    }

    /// The name itself, or a replacement with a hash.
    pub(super) fn fit<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.takes(name) {
            return Cow::Borrowed(name);
        }
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        let mut fitted: String =
            name.chars().take(self.most.saturating_sub(NAME_MARK_CHARS + 1)).map(safe).collect();
        if !fitted.starts_with(self.first) {
            fitted.insert(0, '_');
        }
        let sum = digest::DigestBuilder::default().with(name).finish();
        fitted.push('_');
        fitted.push_str(&digest::hex(&sum[..4]));
        Cow::Owned(fitted)
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::ToolFormat;

    #[test]
    fn names_that_fit_stay_and_others_are_marked() {
        let long = "x".repeat(65);
        let check = |form: ToolFormat, name: &str, expected: &str| {
            let fitted = form.names().fit(name);
            match expected.strip_suffix('#') {
                None => assert_eq!(fitted, expected, "{form}"),
                Some(start) => {
                    assert!(fitted.starts_with(start), "{form}: {fitted}");
                    assert_eq!(fitted.len(), start.len() + 8, "{form}: {fitted}");
                }
            }
            assert!(form.names().takes(&fitted), "{form}: {fitted}");
            assert_eq!(form.names().fit(&fitted), fitted, "{form}");
        };
        for form in [
            ToolFormat::OpenAi,
            ToolFormat::OpenAiResponses,
            ToolFormat::Anthropic,
            ToolFormat::OpenAiRealtime,
        ] {
            check(form, "roll-dice_2", "roll-dice_2");
            check(form, "files.read", "files_read_#");
            check(form, "a b/ä", "a_b___#");
            check(form, "", "__#");
            check(form, &long, &format!("{}_#", "x".repeat(54)));
        }
        check(ToolFormat::Gemini, "files.read:all", "files.read:all");
        check(ToolFormat::Gemini, "2files", "_2files_#");
        check(ToolFormat::GeminiLive, "-x", "_x_#");
        check(ToolFormat::Mcp, "anything at all/ä", "anything at all/ä");
    }

    #[test]
    fn names_that_only_look_alike_afterwards_stay_apart() {
        let names = ToolFormat::OpenAi.names();
        assert_ne!(names.fit("a.b"), names.fit("a/b"));
        assert_ne!(names.fit("a.b"), names.fit("a_b"));
    }
}
