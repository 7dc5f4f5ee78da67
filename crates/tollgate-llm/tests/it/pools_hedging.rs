//! Hedging of the first token: a second endpoint beside a slow one.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tollgate_llm::settings::{PoolSettings, RoutePolicy};

use crate::fake::{Act, Fake, encode_chunks, stream_head};
use crate::pools_stage::{Pool, endpoints};
use crate::stage::read_stream;
use crate::wire::{EVENTS, events_before};

fn hedged() -> PoolSettings {
    let hedge_after = Some(Duration::from_millis(100));
    PoolSettings { route: Some(RoutePolicy::Order), hedge_after, ..PoolSettings::default() }
}

#[tokio::test]
async fn the_slower_of_two_is_cancelled() {
    let second = Fake::start(vec![encode_chunks(EVENTS)]).await;
    let slow = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = endpoints(&[&second, &second], hedged());
    let address = slow.local_addr().unwrap();
    settings.providers[0].endpoints[0].base_url = Some(format!("http://{address}"));
    let pool = Pool::new(&settings);
    #[expect(clippy::disallowed_methods, reason = "ends with the test")]
    let is_closed = tokio::spawn(async move {
        let (mut line, _) = slow.accept().await.unwrap();
        let mut request = Vec::new();
        line.read_to_end(&mut request).await.map(|bytes| bytes > 0)
    });
    let answer = read_stream(pool.stream().await).await.unwrap();
    assert_eq!(answer.text(), "Hello thére");
    let closed = tokio::time::timeout(Duration::from_secs(5), is_closed).await;
    assert!(closed.expect("the connection of the slow one is closed").unwrap().unwrap());
    let one = pool.target("one").status;
    let two = pool.target("two").status.counts;
    assert_eq!((one.counts.cancelled, one.counts.hedges, one.running), (1, 0, 0));
    assert_eq!((two.answered, two.hedges, two.hedges_won), (1, 1, 1));
    let least = one.first_token.unwrap();
    assert!(least >= Duration::from_millis(100), "it took at least {least:?}");
}

#[tokio::test]
async fn the_first_may_still_win() {
    let late = [vec![Act::Wait(Duration::from_millis(300))], encode_chunks(EVENTS)].concat();
    let first = Fake::start(vec![late]).await;
    let second = Fake::start(vec![vec![Act::Hang]]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], hedged()));
    read_stream(pool.stream().await).await.unwrap();
    let two = pool.target("two").status.counts;
    assert_eq!((two.hedges, two.hedges_won, two.cancelled), (1, 0, 1));
}

#[tokio::test]
async fn nothing_is_hedged_after_the_first_token() {
    let begun = events_before("thére");
    let rest = &EVENTS[begun.len()..];
    let acts = vec![
        Act::Send(stream_head()),
        Act::Send(begun.into_bytes()),
        Act::Wait(Duration::from_millis(400)),
        Act::Send(rest.as_bytes().to_vec()),
        Act::Close,
    ];
    let first = Fake::start(vec![acts]).await;
    let second = Fake::start(vec![]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], hedged()));
    let answer = read_stream(pool.stream().await).await.unwrap();
    assert_eq!(answer.text(), "Hello thére");
    assert_eq!(second.requests_seen().len(), 0);
}

#[tokio::test]
async fn hedges_stay_within_their_budget() {
    let late = [vec![Act::Wait(Duration::from_millis(250))], encode_chunks(EVENTS)].concat();
    let first = Fake::start(vec![late]).await;
    let second = Fake::start(vec![vec![Act::Hang]]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], hedged()));
    for _ in 0..4 {
        read_stream(pool.stream().await).await.unwrap();
    }
    assert_eq!(first.requests_seen().len(), 4);
    assert_eq!(second.requests_seen().len(), 1, "one of five requests, the first on credit");
}

#[tokio::test]
async fn without_leave_nothing_is_hedged() {
    let late = [vec![Act::Wait(Duration::from_millis(250))], encode_chunks(EVENTS)].concat();
    let first = Fake::start(vec![late]).await;
    let second = Fake::start(vec![]).await;
    let unhedged = PoolSettings { hedge_after: None, ..hedged() };
    let pool = Pool::new(&endpoints(&[&first, &second], unhedged));
    read_stream(pool.stream().await).await.unwrap();
    assert_eq!(second.requests_seen().len(), 0);
}
