//! Frame I/O over pipes: lengths are checked before anything is read, and memory grows only with
//! the bytes received. Independent of the content.

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::frames::{MAX_FRAME_BYTES, MAX_WORKER_MESSAGE_BYTES};

const HEAD: usize = size_of::<u32>();

#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameReadError {
    #[error("its output ended in the middle of a frame")]
    Cut,
    #[error("it sent a message of {0} bytes; the limit is {MAX_WORKER_MESSAGE_BYTES}")]
    TooLong(u32),
    #[error("its output cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

#[derive(Debug, thiserror::Error)]
#[error("{bytes} bytes are more than one frame may have ({MAX_FRAME_BYTES})")]
pub(crate) struct FrameTooLargeError {
    pub(crate) bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameRead {
    Frame,
    /// EOF between two frames.
    End,
}

/// Reads one frame's JSON into `frame`. Not cancel-safe: half a frame is lost.
pub(crate) async fn read<R>(from: &mut R, frame: &mut Vec<u8>) -> Result<FrameRead, FrameReadError>
where
    R: AsyncRead + Unpin,
{
    frame.clear();
    let mut head = [0; HEAD];
    let mut have = 0;
    while have < HEAD {
        match from.read(&mut head[have..]).await? {
            0 if have == 0 => return Ok(FrameRead::End),
            0 => return Err(FrameReadError::Cut),
            more => have += more,
        }
    }
    let length = u32::from_le_bytes(head);
    if length > MAX_WORKER_MESSAGE_BYTES {
        return Err(FrameReadError::TooLong(length));
    }
    let read = from.take(u64::from(length)).read_to_end(frame).await?;
    if read < length as usize { Err(FrameReadError::Cut) } else { Ok(FrameRead::Frame) }
}

/// Encodes one frame.
pub(crate) fn frame(value: &impl Serialize) -> Result<Vec<u8>, FrameTooLargeError> {
    let mut bytes = vec![0; HEAD];
    serde_json::to_writer(&mut bytes, value).expect("frames are plain data, and memory takes all");
    let length = u32::try_from(bytes.len() - HEAD).unwrap_or(u32::MAX);
    if length > MAX_FRAME_BYTES {
        return Err(FrameTooLargeError { bytes: bytes.len() - HEAD });
    }
    bytes[..HEAD].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests;
