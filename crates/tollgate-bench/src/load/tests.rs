//! The parts of the benchmark against each other, with a handful of calls.

use std::time::Duration;

use bytes::Bytes;

use super::{Ask, HttpLane, Target, closed, open};
use crate::bare::Bare;
use crate::chat::{Chat, Front};
use crate::fixed::Fixed;
use crate::model::{Manner, Model};
use crate::serve::OnThread;
use crate::upstream::Upstream;
use crate::wire::Era;

fn target(server: &OnThread, era: Era) -> Target {
    let ask = Ask::Echo("echo".to_owned());
    Target { name: "test", address: server.address, era, ask, process: None }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

#[test]
fn direct_and_through_the_bare_proxy_every_answer_is_right() {
    let upstream = OnThread::start("upstream", Upstream::new(2)).unwrap();
    let bare = OnThread::start("bare", Bare::new(upstream.address, "/mcp")).unwrap();
    for server in [&upstream, &bare] {
        for era in Era::BOTH {
            let target = target(server, era);
            let slice = block_on(closed::run(&target, 4, Duration::from_millis(20))).unwrap();
            assert!(slice.latencies.len() >= 4, "{era:?}");
        }
    }
}

#[test]
fn chat_completions_are_answered_whole_and_streamed() {
    let model = OnThread::start("model", Model { manner: Manner::Answers }).unwrap();
    let bare = Bare::new(model.address, Front::OpenAi.path());
    let bare = OnThread::start("bare", bare).unwrap();
    let chat = Chat { model: "m", front: Front::OpenAi };
    for server in [&model, &bare] {
        let target = Target { ask: Ask::Chat(chat), ..target(server, Era::Modern) };
        let slice = block_on(closed::run(&target, 4, Duration::from_millis(20))).unwrap();
        assert!(slice.latencies.len() >= 4);
        block_on(async {
            let mut lane = HttpLane::open(&target).await.unwrap();
            for number in 1..4 {
                let stream = lane.stream(chat, number).await.unwrap();
                stream.finish("test", number).await.unwrap();
            }
        });
    }
}

#[test]
fn a_fixed_rate_is_kept() {
    let upstream = OnThread::start("upstream", Upstream::new(2)).unwrap();
    let load = open::Load { rate: 200, span: Duration::from_millis(100) };
    let targets = [target(&upstream, Era::Modern)];
    let slice = block_on(open::run(&targets, 2, load)).unwrap();
    assert_eq!(slice.latencies.len(), 20);
}

#[test]
fn all_tools_are_listed_and_the_same_bytes_are_served_again() {
    let upstream = OnThread::start("upstream", Upstream::new(100)).unwrap();
    let mut list = target(&upstream, Era::Modern);
    list.ask = Ask::List(Bytes::new());
    let (names, page) = block_on(async {
        let mut lane = HttpLane::open(&list).await.unwrap();
        lane.list().await.unwrap()
    });
    assert_eq!(names.len(), 100);
    let fixed = OnThread::start("fixed", Fixed(page.clone())).unwrap();
    let mut same = target(&fixed, Era::Legacy);
    same.ask = Ask::Same(page);
    block_on(closed::run(&same, 2, Duration::from_millis(10))).unwrap();
}

#[test]
fn a_wrong_answer_fails_the_measurement() {
    let wrong = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    let fixed = OnThread::start("fixed", Fixed(wrong)).unwrap();
    let target = target(&fixed, Era::Modern);
    let ran = block_on(closed::run(&target, 1, Duration::from_millis(10)));
    assert!(ran.unwrap_err().to_string().contains("wrong answer"));
}
