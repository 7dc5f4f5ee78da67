//! Blocking frame I/O with the gateway, one frame at a time. Used by `main` and by a session.
//! Independent of the content.

use std::io::{self, Read, Write};

use tollgate_sandbox::frames::{MAX_FRAME_BYTES, MAX_WORKER_MESSAGE_BYTES, WorkerMessage};

/// Why a frame was not sent.
#[derive(Debug, thiserror::Error)]
pub enum FrameSendError {
    /// Nothing of it was written: a shorter one can still be sent.
    #[error("{0} bytes exceed the size of one message")]
    TooLong(usize),
    #[error(transparent)]
    Lost(#[from] io::Error),
}

pub struct FramePipe {
    input: Box<dyn Read>,
    output: Box<dyn Write>,
}

impl FramePipe {
    pub fn new(input: Box<dyn Read>, output: Box<dyn Write>) -> Self {
        Self { input, output }
    }

    pub fn say(&mut self, word: &WorkerMessage) -> Result<(), FrameSendError> {
        let mut frame = vec![0; 4];
        serde_json::to_writer(&mut frame, word).map_err(io::Error::from)?;
        let bytes = frame.len() - 4;
        let length = u32::try_from(bytes).ok().filter(|length| *length <= MAX_WORKER_MESSAGE_BYTES);
        let length = length.ok_or(FrameSendError::TooLong(bytes))?;
        frame[..4].copy_from_slice(&length.to_le_bytes());
        self.output.write_all(&frame)?;
        Ok(self.output.flush()?)
    }

    /// The content of the next frame.
    pub fn hear(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.input.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_FRAME_BYTES {
            return Err(io::Error::other("a frame that is too long"));
        }
        let mut content = vec![0; length as usize];
        self.input.read_exact(&mut content)?;
        Ok(content)
    }
}
