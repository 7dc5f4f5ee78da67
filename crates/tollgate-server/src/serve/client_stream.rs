//! The TCP connection of a client. It can be moved to the runtime of another thread.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Registered with the runtime that accepted it, until [`StreamMover::request`].
pub(super) struct ClientStream {
    /// `None` only if moving it failed.
    stream: Option<TcpStream>,
    mover: StreamMover,
}

/// Moves a stream that is wrapped in others, and so cannot be reached.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamMover(Arc<AtomicBool>);

impl StreamMover {
    /// The next poll registers the stream with its own runtime.
    pub(super) fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn take_request(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}

impl ClientStream {
    pub(super) fn new(stream: TcpStream, mover: StreamMover) -> Self {
        Self { stream: Some(stream), mover }
    }

    pub(super) fn reset_on_close(&self) {
        // Otherwise the kernel keeps unread output for minutes.
        let _ = self.stream.as_ref().map(TcpStream::set_zero_linger);
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        if self.mover.take_request()
            && let Some(stream) = self.stream.take()
        {
            self.stream = Some(TcpStream::from_std(stream.into_std()?)?);
        }
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(context, buffer)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::runtime::Builder;

    use super::{ClientStream, StreamMover};

    /// The first runtime stands still meanwhile, so its reactor cannot help.
    #[test]
    fn a_stream_that_moved_needs_the_runtime_that_accepted_it_no_more() {
        let first = Builder::new_current_thread().enable_all().build().unwrap();
        let mover = StreamMover::default();
        let (mut stream, mut peer) = first.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = ClientStream::new(stream, mover.clone());
            let mut peer = ClientStream::new(peer, mover.clone());
            peer.write_all(b"one").await.unwrap();
            let mut read = [0; 3];
            stream.read_exact(&mut read).await.unwrap();
            assert_eq!(&read, b"one");
            (stream, peer.stream.take().unwrap().into_std().unwrap())
        });
        mover.request();
        let other = thread::spawn(move || {
            let second = Builder::new_current_thread().enable_all().build().unwrap();
            second.block_on(async {
                let mut read = [0; 3];
                stream.read_exact(&mut read).await.unwrap();
                stream.write_all(b"yes").await.unwrap();
                read
            })
        });
        peer.set_nonblocking(false).unwrap();
        std::io::Write::write_all(&mut peer, b"two").unwrap();
        let mut answer = [0; 3];
        std::io::Read::read_exact(&mut peer, &mut answer).unwrap();
        assert_eq!((&other.join().unwrap(), &answer), (b"two", b"yes"));
        drop(first);
    }
}
