//! A child of our own that is called over its pipes: what a client without a gateway does.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::error::BenchError;
use crate::wire::{self, Era};

pub(crate) struct PipeLoadConnection {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    /// Killed with the connection.
    _child: Child,
}

impl PipeLoadConnection {
    pub(crate) fn open(program: &Path) -> Result<Self, BenchError> {
        let mut child = Command::new(program)
            .arg("stdio-echo")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let gone = || BenchError::Process("the echo child has no pipes".to_owned());
        let input = child.stdin.take().ok_or_else(gone)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(gone)?);
        Ok(Self { input, output, line: Vec::new(), _child: child })
    }

    pub(crate) async fn call(&mut self, number: u64) -> Result<(), BenchError> {
        let mut message = wire::call(Era::Modern, "echo", number);
        message.push('\n');
        self.input.write_all(message.as_bytes()).await?;
        self.line.clear();
        self.output.read_until(b'\n', &mut self.line).await?;
        wire::check_echo("the echo child", number, &self.line)
    }
}
