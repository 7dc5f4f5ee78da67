use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;

use super::{ServerSentEvent, before, listening, response};

fn event(data: &str) -> ServerSentEvent {
    ServerSentEvent { name: "message", id: None, data: data.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_says_nothing_shows_that_it_lives() {
    let late = stream::once(async {
        tokio::time::sleep(Duration::from_secs(40)).await;
        event("1")
    });
    let body = response(late, Duration::from_secs(15)).into_body();
    let text = body.collect().await.unwrap().to_bytes();
    assert_eq!(text, ":\n\n:\n\nevent: message\ndata: 1\n\n");
}

#[tokio::test]
async fn whoever_listens_hears_at_once_that_the_stream_is_open() {
    let mut body = listening(stream::pending(), Duration::from_secs(15)).into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, ":\n\n");
}

#[tokio::test]
async fn what_is_said_meanwhile_is_heard_before_the_end() {
    let (sender, receiver) = mpsc::channel(8);
    let last = async move {
        for number in 0..4 {
            sender.send(number).await.unwrap();
            tokio::task::yield_now().await;
        }
        sender.send(4).await.unwrap();
        event("end")
    };
    let put = |number: u32| (number != 2).then(|| event(&number.to_string()));
    let received: Vec<String> = before(last, receiver, put).map(|event| event.data).collect().await;
    assert_eq!(received, ["0", "1", "3", "4", "end"]);
}

#[tokio::test]
async fn no_event_is_taken_for_two() {
    let torn = stream::iter([event("\"a\nb\r\n\ndata: c\"")]);
    let body = response(torn, Duration::from_secs(15)).into_body();
    let text = body.collect().await.unwrap().to_bytes();
    let text = std::str::from_utf8(&text).unwrap();
    assert_eq!(text.lines().count(), 3, "{text:?}");
}
