//! Scripts that the offline model follows exactly, for tests and demos of the agent loop. The
//! script is the user's text, if that begins with a `call` (or a `say` before it); each line is a
//! step:
//!
//! ```text
//! say Let me see.
//! call dice_roll {"expression":"2d6"}
//! call no_such_tool {"broken
//! then
//! call dice_roll {"expression":"1d20"}
//! again
//! say Done.
//! ```
//!
//! Calls on neighbouring lines are made at once, whether or not such a tool was offered, with the
//! arguments exactly as written. `then` waits for the results, `again` repeats the last calls
//! forever, and `say` adds text before calls, or the final text.

/// Invariant: every round has calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OfflineScript {
    rounds: Vec<OfflineScriptRound>,
    is_endless: bool,
    /// Text after all calls are made. Empty: the results are reported.
    pub last_words: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct OfflineScriptRound {
    pub says: String,
    /// Names and arguments.
    pub calls: Vec<(String, String)>,
}

impl OfflineScript {
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let first = text.lines().map(str::trim).find(|line| !line.starts_with("say "))?;
        call(first)?;
        let mut script = Self::default();
        let mut round = OfflineScriptRound::default();
        for line in text.lines().map(str::trim) {
            if let Some((name, arguments)) = call(line) {
                round.calls.push((name.to_owned(), arguments.to_owned()));
                continue;
            }
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "say" if round.calls.is_empty() => add(&mut round.says, rest),
                "say" => {
                    script.close(&mut round);
                    add(&mut round.says, rest);
                }
                "then" => script.close(&mut round),
                "again" => script.is_endless = true,
                _ => {}
            }
        }
        script.close(&mut round);
        script.last_words = round.says;
        Some(script)
    }

    /// The round after this many rounds of calls. `None`: answer with text.
    pub fn round(&self, made: usize) -> Option<&OfflineScriptRound> {
        match self.rounds.get(made) {
            None if self.is_endless => self.rounds.last(),
            round => round,
        }
    }

    fn close(&mut self, round: &mut OfflineScriptRound) {
        if !round.calls.is_empty() {
            self.rounds.push(std::mem::take(round));
        }
    }
}

/// Name and arguments. The arguments must resemble JSON: people also write `call me tomorrow`.
fn call(line: &str) -> Option<(&str, &str)> {
    let (name, arguments) = line.strip_prefix("call ")?.trim_start().split_once(' ')?;
    let arguments = arguments.trim();
    arguments.starts_with(['{', '[', '"', '\'', '`']).then_some((name, arguments))
}

fn add(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more.trim());
}

#[cfg(test)]
mod tests;
