//! WebSocket byte stream that detects large messages early, from their frame headers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tollgate_mcp::offload::{LARGE, LargeWork, LargeWorkGuard};

mod reservation;

use reservation::MessageReservation;

/// Maximum bytes of a frame header: with the longest length field and a mask.
const MAX_HEAD: usize = 14;

/// Tracks the messages being read, and reports large ones as large work: reading, decoding and
/// handling them takes longer than other tasks on the same thread should wait.
#[derive(Debug)]
pub struct MessageStream<S> {
    stream: S,
    /// The handshake response, before the first frame.
    handshake: Option<HandshakeHead>,
    progress: MessageProgress,
    /// `None`: the work cannot be moved to another thread.
    large_work: Option<LargeWork>,
    /// Memory for messages; `None`: the caller takes care of it.
    reservation: Option<MessageReservation>,
    /// Guard of a large message, held until more is read after its end: the message may not be
    /// handled before.
    large: Option<LargeWorkGuard>,
}

impl<S> MessageStream<S> {
    /// A stream of frames only: the handshake is done.
    pub fn new(stream: S) -> Self {
        let progress = MessageProgress::default();
        Self { stream, handshake: None, progress, large_work: None, reservation: None, large: None }
    }

    /// A provider's stream, on which the handshake response is still to be read.
    pub(super) fn before_handshake(stream: S) -> Self {
        let handshake = Some(HandshakeHead::default());
        Self { handshake, reservation: Some(MessageReservation::default()), ..Self::new(stream) }
    }

    /// From now on, reports large messages here.
    pub fn report_to(&mut self, large_work: &LargeWork) {
        self.large_work = Some(large_work.clone());
    }

    /// Bytes received of an incomplete message.
    pub fn unfinished_bytes(&self) -> usize {
        self.progress.bytes
    }

    fn advance(&mut self, mut bytes: &[u8]) {
        if let Some(head) = &mut self.handshake {
            let Some(frames) = head.skip(bytes) else { return };
            self.handshake = None;
            bytes = frames;
        }
        self.progress.advance(bytes);
    }

    /// Pending until a large message is read on a thread for large work.
    fn poll_moved(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(large_work) = &self.large_work else { return Poll::Ready(()) };
        if !self.progress.is_large() {
            self.large = None;
            return Poll::Ready(());
        }
        self.large.get_or_insert_with(|| large_work.begin());
        large_work.poll_moved(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MessageStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_moved(context));
        let received = self.progress.bytes;
        if let Some(reservation) = &mut self.reservation {
            ready!(reservation.poll_cover(context, received))?;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.advance(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MessageStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Scans for the empty line that ends an HTTP head.
#[derive(Debug, Default)]
struct HandshakeHead {
    /// Consecutive line ends.
    line_ends: u8,
}

impl HandshakeHead {
    /// The bytes after the head, once it is complete.
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' => self.line_ends += 1,
                b'\r' => {}
                _ => self.line_ends = 0,
            }
            if self.line_ends == 2 {
                return Some(&bytes[at + 1..]);
            }
        }
        None
    }
}

/// Progress of a message. Only reads frame headers; the reader behind it reports invalid ones.
#[derive(Debug, Default)]
struct MessageProgress {
    /// Header of the next frame, as far as it was received.
    head: [u8; MAX_HEAD],
    head_bytes: usize,
    /// Payload bytes of the frame that are still missing.
    left: u64,
    /// Bytes of the message, over all frames.
    bytes: usize,
}

impl MessageProgress {
    fn advance(&mut self, mut bytes: &[u8]) {
        while let Some(first) = bytes.first() {
            if self.left > 0 {
                let here = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
                self.left -= here as u64;
                if !self.is_control() {
                    self.bytes = self.bytes.saturating_add(here);
                }
                bytes = &bytes[here..];
            } else {
                self.head[self.head_bytes] = *first;
                self.head_bytes += 1;
                bytes = &bytes[1..];
                let Some(length) = self.payload_length() else { continue };
                self.left = length;
            }
            if self.left == 0 {
                self.end_frame();
            }
        }
    }

    /// Whether the message is large, counting received bytes and those announced by the frame
    /// header.
    fn is_large(&self) -> bool {
        let to_come = if self.is_control() { 0 } else { self.left };
        to_come.saturating_add(self.bytes as u64) > LARGE as u64
    }

    /// Control frames may come between the frames of a message, and are not part of it.
    fn is_control(&self) -> bool {
        self.head[0] & 0x08 != 0
    }

    fn end_frame(&mut self) {
        let is_last = self.head[0] & 0x80 != 0;
        if is_last && !self.is_control() {
            self.bytes = 0;
        }
        self.head_bytes = 0;
    }

    /// Payload length of the frame, once its header is complete.
    fn payload_length(&self) -> Option<u64> {
        if self.head_bytes < 2 {
            return None;
        }
        let extended = match self.head[1] & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = if self.head[1] & 0x80 != 0 { 4 } else { 0 };
        if self.head_bytes < 2 + extended + mask {
            return None;
        }
        let number = self.head[2..2 + extended].iter();
        Some(match extended {
            0 => u64::from(self.head[1] & 0x7f),
            _ => number.fold(0, |sum, byte| (sum << 8) | u64::from(*byte)),
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tollgate_mcp::offload::{LARGE, is_offloaded, offload_while_large};
    use tollgate_testkit::ws::{RawWebSocketFrame, RawWebSocketRole};

    use super::{MessageProgress, MessageStream};

    /// A frame of a client; `first` is its first byte.
    fn frame(first: u8, payload: usize) -> Vec<u8> {
        let frame = RawWebSocketFrame::new(first & 0x0f, vec![b'x'; payload]);
        let frame = if first & 0x80 == 0 { frame.without_fin() } else { frame };
        frame.bytes(RawWebSocketRole::Client)
    }

    #[test]
    fn what_came_of_a_message_is_counted_however_it_is_cut() {
        let message = [frame(0x01, 100), frame(0x89, 5), frame(0x00, 300), frame(0x80, 70_000)];
        let message = message.concat();
        for piece in [1, 7, 4_096] {
            let mut progress = MessageProgress::default();
            let (all_but_one, last) = message.split_at(message.len() - 1);
            all_but_one.chunks(piece).for_each(|bytes| progress.advance(bytes));
            assert_eq!(progress.bytes, 70_399, "in pieces of {piece}");
            progress.advance(last);
            assert_eq!(progress.bytes, 0);
            progress.advance(&frame(0x81, 0));
            progress.advance(&frame(0x02, 10));
            assert_eq!(progress.bytes, 10);
        }
    }

    #[test]
    fn a_message_is_large_as_soon_as_its_frame_says_so_or_enough_has_come() {
        let is_large = |bytes: &[u8]| {
            let mut progress = MessageProgress::default();
            progress.advance(bytes);
            progress.is_large()
        };
        assert!(is_large(&frame(0x81, LARGE + 1)[..14]), "its head says so");
        assert!(!is_large(&frame(0x81, LARGE)[..LARGE]), "not larger than that");
        let mut pieces = frame(0x01, LARGE);
        assert!(!is_large(&pieces));
        pieces.extend(&frame(0x89, 100)[..20]);
        assert!(!is_large(&pieces), "a ping is no part of it");
        pieces.extend([0; 86]);
        pieces.extend(&frame(0x80, 1)[..6]);
        assert!(is_large(&pieces), "the next piece makes it so");
        pieces.push(b'x');
        assert!(!is_large(&pieces), "it is over");
        assert!(is_large(&[&[0x82, 0xff][..], &u64::MAX.to_be_bytes(), &[0; 4]].concat()));
    }

    #[test]
    fn frames_begin_after_the_handshake_however_it_is_cut() {
        let head = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n";
        let bytes = [&head[..], &frame(0x82, 70_000)[..60_000]].concat();
        for piece in [1, 3, 4_096] {
            let mut stream = MessageStream::before_handshake(tokio::io::empty());
            bytes.chunks(piece).for_each(|bytes| stream.advance(bytes));
            assert_eq!(stream.unfinished_bytes(), 60_000 - 14, "in pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn a_large_message_is_read_elsewhere_and_small_ones_here() {
        let (mut client, server) = tokio::io::duplex(64 << 10);
        let sent = [frame(0x82, 5), frame(0x81, 3 * LARGE), frame(0x82, 5), frame(0x82, 5)];
        let lengths: Vec<usize> = sent.iter().map(Vec::len).collect();
        let writing = async {
            for frame in sent {
                client.write_all(&frame).await.unwrap();
            }
        };
        let reading = offload_while_large(async move |large_work| {
            let mut stream = MessageStream::new(server);
            stream.report_to(&large_work);
            let mut seen = Vec::new();
            for length in lengths {
                // As a reader of frames does: the head, and then the rest.
                let mut read = vec![0; length];
                stream.read_exact(&mut read[..6]).await.unwrap();
                stream.read_exact(&mut read[6..]).await.unwrap();
                seen.push(is_offloaded());
                tokio::task::yield_now().await;
            }
            seen
        });
        let (seen, ()) = tokio::join!(reading, writing);
        // The one right behind the large one may be read in the same breath.
        assert_eq!([seen[0], seen[1], seen[3]], [false, true, false]);
    }
}
