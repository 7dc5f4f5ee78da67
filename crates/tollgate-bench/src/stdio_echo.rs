//! The echo server over standard input and output, for the gateway to start as a child.

use std::io::{self, BufRead as _, Write as _};

use crate::echo::{EchoAnswer, EchoServer};
use crate::wire::Era;

/// How the child behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdioEchoBehavior {
    Answers,
    /// Reads everything and never says a word.
    Hangs,
}

/// Serves until the input ends.
pub(crate) fn run(manner: StdioEchoBehavior) -> io::Result<()> {
    let echo = EchoServer::new(2);
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if manner == StdioEchoBehavior::Answers
            && let EchoAnswer::Message(mut message) = echo.answer(era(&line), &line)
        {
            message.push('\n');
            output.write_all(message.as_bytes())?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

/// Modern requests name their revision; nothing else does.
fn era(line: &[u8]) -> Era {
    const KEY: &[u8] = b"io.modelcontextprotocol/protocolVersion";
    if line.windows(KEY.len()).any(|window| window == KEY) { Era::Modern } else { Era::Legacy }
}
