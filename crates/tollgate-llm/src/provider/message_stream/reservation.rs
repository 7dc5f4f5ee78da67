//! Back-pressure on the messages of a provider: what is received of a large one counts against the
//! memory for answers. While that is used up, nothing more is read.

use std::fmt;
use std::io;
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use tollgate_mcp::answer_budget::AnswerPermit;
use tollgate_mcp::memory_budget::NoRoomError;

/// Memory of the message that is being read, held until more is read after its end.
#[derive(Default)]
pub(super) struct MessageReservation {
    permit: AnswerPermit,
    growing: Option<BoxFuture<'static, (AnswerPermit, Result<(), NoRoomError>)>>,
}

impl MessageReservation {
    /// Pending while there is no memory for a message of which `bytes` were received.
    pub(super) fn poll_cover(
        &mut self,
        context: &mut Context<'_>,
        bytes: usize,
    ) -> Poll<io::Result<()>> {
        loop {
            if let Some(growing) = &mut self.growing {
                let (permit, grown) = ready!(growing.as_mut().poll(context));
                self.growing = None;
                self.permit = permit;
                if let Err(error) = grown {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::OutOfMemory, error)));
                }
            }
            if bytes == 0 {
                self.permit = AnswerPermit::default();
            }
            if self.permit.covers(bytes) {
                return Poll::Ready(Ok(()));
            }
            let mut permit = std::mem::take(&mut self.permit);
            self.growing = Some(Box::pin(async move {
                let grown = permit.cover_growing(bytes).await;
                (permit, grown)
            }));
        }
    }
}

impl fmt::Debug for MessageReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageReservation").field("permit", &self.permit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tollgate_mcp::answer_budget::SMALL_ANSWER;

    use super::MessageReservation;

    #[tokio::test]
    async fn p_21_a_message_of_a_provider_reserves_memory_while_it_grows() {
        let mut reservation = MessageReservation::default();
        for (received, holds) in
            [(SMALL_ANSWER, false), (1 << 20, true), (8 << 20, true), (0, false)]
        {
            let covered = poll_fn(|context| reservation.poll_cover(context, received)).await;
            assert!(covered.is_ok());
            assert_eq!(!reservation.permit.is_empty(), holds, "{received}");
        }
    }
}
