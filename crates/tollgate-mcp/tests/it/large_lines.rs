//! Large answers on a pipe that callers share: each pays for its own, and nobody waits for long
//! behind those of others.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, duplex};
use tokio::time::{Instant, sleep};
use tollgate_core::turn::Principal;
use tollgate_mcp::answer_budget::{AnswerAccount, usage};
use tollgate_mcp::client::RequestError;
use tollgate_mcp::line::{LineRead, LineReader};

use crate::support::{Connected, Peer, echo, legacy};

const LARGE: usize = 1 << 20;

fn account(name: &str) -> AnswerAccount {
    AnswerAccount::new(Some(Principal::from_name(name)))
}

/// An account of somebody who has used their share but for `rest` bytes.
async fn full_account(name: &str, rest: usize) -> AnswerAccount {
    let full = account(name);
    full.grow_to(usage().limit_bytes / 2 - rest).await.expect("the share is free");
    full
}

/// Answers with `LARGE` bytes, with the id before or behind the result.
async fn answer_large(peer: &mut Peer, form: IdPlace) {
    let id = &peer.expect("tools/call").await["id"];
    let result = json!({"content": [{"type": "text", "text": "x".repeat(LARGE)}]});
    let line = match form {
        IdPlace::First => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"),
        IdPlace::Last => format!("{{\"result\":{result},\"jsonrpc\":\"2.0\",\"id\":{id}}}\n"),
    };
    peer.send_bytes(line.as_bytes()).await;
}

#[derive(Debug, Clone, Copy)]
enum IdPlace {
    First,
    Last,
}

#[tokio::test]
async fn p_21_answers_on_a_shared_pipe_count_against_the_share_of_their_caller() {
    let Connected { client, mut peer, .. } = legacy().await;
    for form in [IdPlace::First, IdPlace::Last] {
        let greedy = full_account("greedy", LARGE).await;
        let modest = account("modest");
        let refused = async {
            let (outcome, ()) =
                tokio::join!(echo(&*client, "a", None), answer_large(&mut peer, form));
            outcome
        };
        let refused = greedy.scope(refused).await;
        assert!(matches!(refused, Err(RequestError::NoRoom(_))), "{form:?}: {refused:?}");
        assert!(greedy.bytes() < usage().limit_bytes / 2, "{form:?}");
        let delivered = async {
            let (outcome, ()) =
                tokio::join!(echo(&*client, "b", None), answer_large(&mut peer, form));
            outcome
        };
        let delivered = modest.scope(delivered).await;
        assert!(delivered.is_ok(), "{form:?}: {delivered:?}");
        assert!(modest.bytes() > LARGE, "{form:?}");
    }
}

/// Whoever gets the large ones takes them slowly: there is always room again, just before the
/// reader would give up.
#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the paused clock of the test")]
async fn p_21_a_small_line_waits_a_bounded_time_behind_any_number_of_large_ones() {
    let payer = Principal::from_name("slow");
    // Room for one line of 1 MiB, not for two.
    let _full = full_account("slow", 8 << 20).await;
    let (read, mut write) = duplex(1 << 20);
    let mut lines = LineReader::new(read, 8 << 20).charging(move |_| Some(payer.clone()));
    let sent = async move {
        let large = json!({"text": "x".repeat(LARGE)}).to_string() + "\n";
        for _ in 0..40 {
            write.write_all(large.as_bytes()).await.unwrap();
        }
        write.write_all(b"{\"small\":1}\n").await.unwrap();
    };
    let began = Instant::now();
    let received = async {
        let mut delivered = 0;
        loop {
            match lines.next().await.unwrap().expect("the small line comes") {
                LineRead::Text(text) if text.len() < 100 => return delivered,
                LineRead::Text(_) => {
                    delivered += 1;
                    let permit = lines.take_permit();
                    tokio::spawn(async move {
                        sleep(Duration::from_millis(1_900)).await;
                        drop(permit);
                    });
                }
                LineRead::NoRoom { .. } | LineRead::Skipped { .. } => {}
                LineRead::TooLong { .. } => panic!("no line is too long"),
            }
        }
    };
    let ((), delivered) = tokio::join!(sent, received);
    assert!(delivered >= 2, "{delivered}: the reader waits for the first of them");
    assert!(began.elapsed() <= Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn b_io_05_half_a_large_line_keeps_its_memory_for_a_minute_at_most() {
    let owner = Principal::from_name("dripping");
    let share = full_account("dripping", 8 << 20).await;
    let (read, mut write) = duplex(2 << 20);
    let payer = owner.clone();
    let mut lines = LineReader::new(read, 8 << 20).charging(move |_| Some(payer.clone()));
    let half = json!({"text": "x".repeat(LARGE)}).to_string();
    let (head, tail) = half.as_bytes().split_at(LARGE / 2);
    write.write_all(head).await.unwrap();
    let drip = async {
        sleep(Duration::from_secs(30)).await;
        write.write_all(b"x").await.unwrap();
        sleep(Duration::from_secs(90)).await;
        share.grow_to(usage().limit_bytes / 2).await.expect("the memory is free again");
        write.write_all(tail).await.unwrap();
        write.write_all(b"\n{\"next\":1}\n").await.unwrap();
    };
    let read = async {
        let head = lines.next().await.unwrap();
        assert!(matches!(head, Some(LineRead::NoRoom { .. })), "{head:?}");
        let tail = lines.next().await.unwrap();
        assert!(matches!(tail, Some(LineRead::Skipped { .. })), "{tail:?}");
        lines.next().await.unwrap()
    };
    let ((), next) = tokio::join!(drip, read);
    let Some(LineRead::Text(text)) = next else { panic!("{next:?}") };
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), json!({"next": 1}));
}
