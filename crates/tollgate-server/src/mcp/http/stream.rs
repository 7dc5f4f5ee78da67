//! An answer as an event stream: what is said before it, then the answer itself. Dropping the
//! body drops the exchange.

use std::task::Poll;
use std::time::Duration;

use axum::response::Response;
use futures_util::stream;

use super::super::dress::Text;
use super::super::exchange::{Exchange, Step};
use crate::events::{self, EndsItself, Event};

pub(super) fn response(
    exchange: Exchange,
    mut first: Option<String>,
    keep_alive: Duration,
) -> Response {
    // `None` after the end.
    let mut exchange = Some(exchange);
    let said = stream::poll_fn(move |context| {
        if let Some(first) = first.take() {
            return Poll::Ready(Some(message(first)));
        }
        let Some(running) = &mut exchange else { return Poll::Ready(None) };
        match running.poll_next(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Step::Say(text)) => Poll::Ready(Some(message(text))),
            Poll::Ready(Step::Done(answer)) => {
                exchange = None;
                Poll::Ready(answer.text.map(Text::into_string).map(message))
            }
        }
    });
    let mut response = events::response(said, keep_alive);
    response.extensions_mut().insert(EndsItself);
    response
}

fn message(data: String) -> Event {
    Event { name: "message", id: None, data }
}
