//! The parts of the benchmark against each other, with a handful of calls.

use std::time::Duration;

use bytes::Bytes;

use super::{HttpLoadConnection, LoadRequest, LoadTarget, closed_loop, open_loop};
use crate::bare_proxy::BareProxy;
use crate::chat::{BenchChatTarget, ChatApi};
use crate::fixed_response::FixedResponse;
use crate::mock_model::{MockModel, MockModelBehavior};
use crate::serve::ServerThread;
use crate::upstream::EchoUpstream;
use crate::wire::Era;

fn target(server: &ServerThread, era: Era) -> LoadTarget {
    let ask = LoadRequest::Echo("echo".to_owned());
    LoadTarget { name: "test", address: server.address, era, ask, process: None }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

#[test]
fn direct_and_through_the_bare_proxy_every_answer_is_right() {
    let upstream = ServerThread::start("upstream", EchoUpstream::new(2)).unwrap();
    let bare = ServerThread::start("bare", BareProxy::new(upstream.address, "/mcp")).unwrap();
    for server in [&upstream, &bare] {
        for era in Era::BOTH {
            let target = target(server, era);
            let slice = block_on(closed_loop::run(&target, 4, Duration::from_millis(20))).unwrap();
            assert!(slice.latencies.len() >= 4, "{era:?}");
        }
    }
}

#[test]
fn chat_completions_are_answered_whole_and_streamed() {
    let model =
        ServerThread::start("model", MockModel { manner: MockModelBehavior::Answers }).unwrap();
    let bare = BareProxy::new(model.address, ChatApi::OpenAi.path());
    let bare = ServerThread::start("bare", bare).unwrap();
    let chat = BenchChatTarget { model: "m", front: ChatApi::OpenAi };
    for server in [&model, &bare] {
        let target = LoadTarget { ask: LoadRequest::Chat(chat), ..target(server, Era::Modern) };
        let slice = block_on(closed_loop::run(&target, 4, Duration::from_millis(20))).unwrap();
        assert!(slice.latencies.len() >= 4);
        block_on(async {
            let mut connection = HttpLoadConnection::open(&target).await.unwrap();
            for number in 1..4 {
                let stream = connection.stream(chat, number).await.unwrap();
                stream.finish("test", number).await.unwrap();
            }
        });
    }
}

#[test]
fn a_fixed_rate_is_kept() {
    let upstream = ServerThread::start("upstream", EchoUpstream::new(2)).unwrap();
    let load = open_loop::FixedRate { rate: 200, span: Duration::from_millis(100) };
    let targets = [target(&upstream, Era::Modern)];
    let slice = block_on(open_loop::run(&targets, 2, load)).unwrap();
    assert_eq!(slice.latencies.len(), 20);
}

#[test]
fn all_tools_are_listed_and_the_same_bytes_are_served_again() {
    let upstream = ServerThread::start("upstream", EchoUpstream::new(100)).unwrap();
    let mut list = target(&upstream, Era::Modern);
    list.ask = LoadRequest::List(Bytes::new());
    let (names, page) = block_on(async {
        let mut connection = HttpLoadConnection::open(&list).await.unwrap();
        connection.list().await.unwrap()
    });
    assert_eq!(names.len(), 100);
    let fixed = ServerThread::start("fixed", FixedResponse(page.clone())).unwrap();
    let mut same = target(&fixed, Era::Legacy);
    same.ask = LoadRequest::Same(page);
    block_on(closed_loop::run(&same, 2, Duration::from_millis(10))).unwrap();
}

#[test]
fn a_wrong_answer_fails_the_measurement() {
    let wrong = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    let fixed = ServerThread::start("fixed", FixedResponse(wrong)).unwrap();
    let target = target(&fixed, Era::Modern);
    let ran = block_on(closed_loop::run(&target, 1, Duration::from_millis(10)));
    assert!(ran.unwrap_err().to_string().contains("wrong answer"));
}
