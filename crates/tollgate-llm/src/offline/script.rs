//! A script that the offline model follows to the letter, for tests and demos of any loop. It is the
//! user's text, if that begins with a `call` (or a `say` before it); each line is a step:
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
//! arguments as they stand there. `then` waits for the results, `again` repeats the last calls for
//! ever, and `say` gives words before calls, or the last words of all.

/// Invariant: every round has calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OfflineScript {
    rounds: Vec<OfflineScriptRound>,
    is_endless: bool,
    /// Said when all calls are made. Empty: the results are spoken.
    pub last_words: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct OfflineScriptRound {
    pub says: String,
    /// Name and arguments.
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

    /// What to do when calls were made so many times. `None`: speak.
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

/// Name and arguments. These must look like JSON from afar: people say `call me tomorrow` too.
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
