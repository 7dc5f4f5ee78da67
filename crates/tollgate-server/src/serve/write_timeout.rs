//! Write timeout: a write without progress for too long fails, so that slow readers do not hold
//! memory forever.
//!
//! It also counts pending output, to find the connection that holds most.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_rustls::server::TlsStream;

use super::client_stream::ClientStream;
use super::connections::ConnectionActivity;

/// Connections that can be closed with a TCP reset, so that nothing is kept for the peer.
pub(super) trait Abortable {
    fn abort_on_close(&self);
}

impl Abortable for ClientStream {
    fn abort_on_close(&self) {
        self.reset_on_close();
    }
}

impl Abortable for TlsStream<ClientStream> {
    fn abort_on_close(&self) {
        self.get_ref().0.abort_on_close();
    }
}

pub(super) struct WriteTimeoutStream<S: Abortable> {
    stream: S,
    limit: Duration,
    /// Timer that runs while a write is blocked.
    waiting: Option<Pin<Box<Sleep>>>,
    activity: Arc<ConnectionActivity>,
}

impl<S: Abortable> WriteTimeoutStream<S> {
    pub(super) fn new(stream: S, limit: Duration, activity: Arc<ConnectionActivity>) -> Self {
        Self { stream, limit, waiting: None, activity }
    }

    /// The same for a write of `offered` bytes. The part that is not written stays in memory.
    fn track_write(
        &mut self,
        context: &mut Context<'_>,
        offered: usize,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let taken = match &written {
            Poll::Ready(Ok(taken)) => *taken,
            Poll::Ready(Err(_)) | Poll::Pending => 0,
        };
        self.activity.memory().set_unsent(offered.saturating_sub(taken));
        self.check_write_timeout(context, written)
    }

    fn check_write_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.waiting.take().is_some() {
                self.activity.set_sending(false);
            }
            return written;
        }
        let limit = self.limit;
        self.activity.set_sending(true);
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(limit)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: Abortable> Drop for WriteTimeoutStream<S> {
    fn drop(&mut self) {
        if self.activity.is_reset() {
            self.stream.abort_on_close();
        }
    }
}

impl<S: Abortable + AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: Abortable + AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.track_write(context, bytes.len(), written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.track_write(context, bytes.iter().map(|part| part.len()).sum(), written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.check_write_timeout(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check_write_timeout(context, ended)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tollgate_engine::clock::{Clock, SystemClock};

    use super::super::connections::ConnectionActivity;
    use super::{Abortable, WriteTimeoutStream};

    impl Abortable for DuplexStream {
        fn abort_on_close(&self) {}
    }

    #[tokio::test(start_paused = true)]
    async fn r_12_a_reader_that_takes_nothing_is_given_up() {
        let (ours, theirs) = tokio::io::duplex(8);
        let mut stream = WriteTimeoutStream::new(ours, Duration::from_secs(30), Arc::default());
        let began = SystemClock.now();
        let error = stream.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(SystemClock.now() - began >= Duration::from_secs(30));
        drop(theirs);
    }
    #[tokio::test]
    async fn r_11_what_a_peer_does_not_take_is_on_its_account() {
        let (ours, mut theirs) = tokio::io::duplex(100);
        let activity = Arc::<ConnectionActivity>::default();
        let mut stream =
            WriteTimeoutStream::new(ours, Duration::from_secs(30), Arc::clone(&activity));
        let writing = stream.write_all(&[0; 1_000]);
        let mut writing = std::pin::pin!(writing);
        assert!(futures_util::poll!(&mut writing).is_pending());
        assert_eq!(activity.memory().bytes(), 900);
        let mut taken = [0; 1_000];
        let (written, read) = tokio::join!(writing, theirs.read_exact(&mut taken));
        assert!(written.is_ok() && read.is_ok());
        assert_eq!(activity.memory().bytes(), 0);
    }
}
