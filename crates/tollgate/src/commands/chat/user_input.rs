//! Terminal input: the user's lines, and approval of a call.

use std::io;

use super::answer::ChatToolCall;
use crate::output::{Output, OutputFormat, clean};
use crate::signals::Interrupts;

/// The next line. `None` at the end of input or at Ctrl-C.
pub(super) async fn line(
    output: Output,
    prompt: &str,
    interrupts: &mut Interrupts,
) -> Option<String> {
    if output.form == OutputFormat::Text {
        output.beside(prompt);
    }
    let read = || {
        let mut line = String::new();
        let size = io::stdin().read_line(&mut line);
        size.ok().filter(|size| *size > 0).map(|_| line)
    };
    let line = tokio::select! {
        line = tokio::task::spawn_blocking(read) => line.ok().flatten(),
        () = interrupts.next() => None,
    };
    if line.is_none() && output.form == OutputFormat::Text {
        output.beside("\n");
    }
    line
}

/// Whether the user approves a call. No answer means no.
pub(super) async fn allows(
    output: Output,
    call: &ChatToolCall,
    interrupts: &mut Interrupts,
) -> bool {
    output.note(&clean(&format!("the agent wants to call {}", call.summary())));
    let answer = line(output, "allow it? [y]es, [n]o: ", interrupts).await;
    matches!(answer.unwrap_or_default().trim(), "y" | "Y" | "yes" | "Yes")
}
