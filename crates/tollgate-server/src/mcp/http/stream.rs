//! An answer as an event stream: preceding messages, then the answer. Dropping the body drops the
//! exchange.

use std::task::Poll;
use std::time::Duration;

use axum::response::Response;
use futures_util::stream;

use super::super::encode::EncodedMessage;
use super::super::exchange::{Exchange, ExchangeStep};
use crate::events::{self, EndsOnRevocation, ServerSentEvent};

pub(super) fn response(
    exchange: Exchange,
    mut first: Option<String>,
    keep_alive: Duration,
) -> Response {
    // `None` after the end.
    let mut exchange = Some(exchange);
    let messages = stream::poll_fn(move |context| {
        if let Some(first) = first.take() {
            return Poll::Ready(Some(message(first)));
        }
        let Some(running) = &mut exchange else { return Poll::Ready(None) };
        match running.poll_next(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(ExchangeStep::Say(text)) => Poll::Ready(Some(message(text))),
            Poll::Ready(ExchangeStep::Done(answer)) => {
                exchange = None;
                Poll::Ready(answer.text.map(EncodedMessage::into_string).map(message))
            }
        }
    });
    let mut response = events::response(messages, keep_alive);
    response.extensions_mut().insert(EndsOnRevocation);
    response
}

fn message(data: String) -> ServerSentEvent {
    ServerSentEvent { name: "message", id: None, data }
}
