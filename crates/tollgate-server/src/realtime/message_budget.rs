//! Back-pressure on realtime sessions: memory for incomplete messages.
//!
//! There are many sessions, and a message may have megabytes. Its received part counts against the
//! memory budget for bodies. While the budget is exhausted, nothing more is read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tollgate_core::turn::Principal;
use tollgate_llm::realtime::wire::MessageStream;

use crate::body::{BodyBudget, BodyBudgetError, BodyPermit, SMALL_BODY};
use crate::pressure::ConnectionMemory;

/// Step by which a growing message reserves memory.
const STEP: usize = 512 << 10;
/// A client's stream of WebSocket frames.
pub(crate) struct BudgetedStream<S> {
    stream: MessageStream<S>,
    budget: Arc<BodyBudget>,
    principal: Option<Principal>,
    connection: Option<Arc<ConnectionMemory>>,
    /// Permit of the current message, held until more is read after its end.
    permit: Option<Arc<BodyPermit>>,
    reserving: Option<BoxFuture<'static, Result<(), BodyBudgetError>>>,
}

impl<S> BudgetedStream<S> {
    pub(super) fn new(
        stream: MessageStream<S>,
        budget: &Arc<BodyBudget>,
        principal: Option<Principal>,
    ) -> Self {
        Self {
            stream,
            budget: Arc::clone(budget),
            principal,
            connection: None,
            permit: None,
            reserving: None,
        }
    }

    /// Charges its memory to this connection.
    pub(super) fn on_account_of(self, connection: Option<Arc<ConnectionMemory>>) -> Self {
        Self { connection, ..self }
    }

    /// Ready when memory for the received part is reserved. An error ends the session: the
    /// reservation timed out.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if let Some(reserving) = &mut self.reserving {
                let reserved = ready!(reserving.as_mut().poll(context));
                self.reserving = None;
                if reserved.is_err() {
                    let message = "there is not enough memory for a message of this size";
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::OutOfMemory, message)));
                }
            }
            let bytes = self.stream.unfinished_bytes();
            if bytes <= SMALL_BODY {
                self.permit = None;
                return Poll::Ready(Ok(()));
            }
            let new = || {
                let permit = self.budget.permit(self.principal.clone());
                Arc::new(permit.on_account_of(self.connection.clone()))
            };
            let permit = Arc::clone(self.permit.get_or_insert_with(new));
            if permit.bytes() >= bytes {
                return Poll::Ready(Ok(()));
            }
            let more = bytes - permit.bytes() + STEP;
            self.reserving = Some(Box::pin(async move { permit.grow(more).await }));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BudgetedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_room(context))?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BudgetedStream<S> {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tollgate_core::turn::Principal;
    use tollgate_llm::realtime::wire::MessageStream;
    use tollgate_testkit::ws::{RawWebSocketFrame, RawWebSocketRole};

    use super::BudgetedStream;
    use crate::body::BodyBudget;
    use crate::pressure::MemoryLimit;

    /// A frame of a client; `first` is its first byte.
    fn frame(first: u8, payload: usize) -> Vec<u8> {
        let frame = RawWebSocketFrame::new(first & 0x0f, vec![b'x'; payload]);
        let frame = if first & 0x80 == 0 { frame.without_fin() } else { frame };
        frame.bytes(RawWebSocketRole::Client)
    }

    struct UnknownGauge;

    impl crate::MemoryGauge for UnknownGauge {
        fn resident_bytes(&self) -> Option<u64> {
            None
        }
    }

    #[tokio::test(start_paused = true)]
    async fn p_21_unfinished_messages_share_the_memory_for_bodies() {
        const TOTAL: usize = 4 << 20;
        let budget =
            BodyBudget::new(&MemoryLimit::with_gauge(8 * TOTAL as u64, Arc::new(UnknownGauge)));
        let open = |name: &str| {
            let (client, server) = tokio::io::duplex(256 << 10);
            let principal = Some(Principal::from_name(name));
            (client, BudgetedStream::new(MessageStream::new(server), &budget, principal))
        };
        // Reads what comes, as far as it can.
        let read = async |server: &mut BudgetedStream<_>| {
            let mut bytes = vec![0; 64 << 10];
            let mut all = 0;
            loop {
                match server.read(&mut bytes).await {
                    Ok(0) => return Ok(all),
                    Ok(count) => all += count,
                    Err(error) => return Err(error.kind()),
                }
            }
        };
        let (mut greedy, mut held) = open("greedy");
        let begun = frame(0x81, TOTAL)[..TOTAL / 4].to_vec();
        let writing = async {
            greedy.write_all(&begun).await.unwrap();
            tokio::time::sleep(Duration::from_secs(60)).await;
        };
        let held_open = async { read(&mut held).await };
        let another = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let (mut second, mut refused) = open("greedy");
            // It stays open, and nothing more is read of it: what was sent need not arrive.
            let send = async {
                let _ = second.write_all(&frame(0x81, TOTAL)[..TOTAL / 2]).await;
                std::future::pending::<()>().await;
            };
            let refused = tokio::select! {
                refused = read(&mut refused) => refused,
                () = send => unreachable!("it never ends"),
            };
            assert_eq!(refused, Err(std::io::ErrorKind::OutOfMemory), "the key has no more room");
            let (mut modest, mut served) = open("modest");
            let send = async {
                modest.write_all(&frame(0x81, TOTAL / 4)).await.unwrap();
                drop(modest);
            };
            let ((), served) = tokio::join!(send, read(&mut served));
            assert!(served.is_ok(), "another key has room: {served:?}");
        };
        tokio::select! {
            _ = held_open => panic!("it goes on"),
            () = writing => panic!("it goes on"),
            () = another => {}
        }
    }
}
