//! Provider connections that are replaced during a session: after an announcement, and after an
//! unexpected end.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_testkit::ws::{RawWebSocket, RawWebSocketFrame, RawWebSocketMessage};

use crate::live_gateway::{Ends, Living, Speaks, text};

const SOON: Duration = Duration::from_secs(30);

/// A Gemini session with a handle to resume it.
async fn resumable(living: &Living) -> Ends {
    let mut ends = living.open(Speaks::Gemini).await;
    let update = json!({"newHandle": "h1", "resumable": true});
    ends.says(json!({"sessionResumptionUpdate": update})).await;
    // What follows is answered after it.
    ends.says(json!({"usageMetadata": {"totalTokenCount": 1}})).await;
    text(&mut ends.client).await;
    ends
}

/// Audio with sound in it, and a number.
fn audio(number: u64) -> String {
    let data = "AEA".repeat(16);
    let audio = json!({"mimeType": "audio/pcm;rate=16000", "data": data});
    json!({"realtimeInput": {"audio": audio, "n": number}}).to_string()
}

/// Numbers of the audio until the close frame, and its code.
async fn read_to_close(wire: &mut RawWebSocket) -> (Vec<u64>, u16) {
    let mut numbers = Vec::new();
    loop {
        match tokio::time::timeout(SOON, wire.message()).await.expect("it goes on") {
            RawWebSocketMessage::Text(text) => numbers.extend(number_of(&text)),
            RawWebSocketMessage::Binary(_) => {}
            RawWebSocketMessage::Close(code, _) => return (numbers, code),
            RawWebSocketMessage::Gone => return (numbers, 1006),
        }
    }
}

fn number_of(text: &str) -> Option<u64> {
    let message: Value = serde_json::from_str(text).ok()?;
    message["realtimeInput"]["n"].as_u64()
}

async fn take_over(living: &Living) -> RawWebSocket {
    let mut next = living.accept().await;
    let setup: Value = serde_json::from_str(&text(&mut next).await).unwrap();
    assert_eq!(setup["setup"]["sessionResumption"]["handle"], "h1", "{setup}");
    next.text(json!({"setupComplete": {}}).to_string()).await.unwrap();
    next
}

async fn says_hello(wire: &mut RawWebSocket, client: &mut RawWebSocket) {
    let said = json!({"serverContent": {"modelTurn": {"parts": [{"text": "Hello."}]}}});
    wire.text(said.to_string()).await.unwrap();
    loop {
        let received = text(client).await;
        if received.contains("Hello.") {
            return;
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_replaced_is_closed_in_order_and_no_audio_is_lost() {
    const LAST: u64 = 99;
    let living = Living::start().await;
    let Ends { mut client, provider: mut old } = resumable(&living).await;
    let talking = async {
        for number in 0..=LAST {
            client.text(audio(number)).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        client
    };
    let providing = async {
        let go_away = json!({"goAway": {"timeLeft": "1.2s"}});
        old.text(go_away.to_string()).await.unwrap();
        let (before, code) = read_to_close(&mut old).await;
        let _ = old.send(&RawWebSocketFrame::close(1000, "")).await;
        let mut next = take_over(&living).await;
        let mut after = Vec::new();
        while after.last() != Some(&LAST) {
            after.extend(number_of(&text(&mut next).await));
        }
        (before, code, after, next)
    };
    let (mut client, (before, code, after, mut next)) = tokio::join!(talking, providing);
    assert_eq!(code, 1000);
    assert_eq!(before, (0..before.len() as u64).collect::<Vec<_>>());
    let first = after[0];
    assert!(first <= before.len() as u64, "lost between {} and {first}", before.len());
    assert_eq!(after, (first..=LAST).collect::<Vec<_>>());
    says_hello(&mut next, &mut client).await;
}

#[tokio::test]
async fn a_provider_that_closes_without_warning_is_connected_again() {
    for code in [1000, 1011] {
        let living = Living::start().await;
        let Ends { mut client, provider: mut old } = resumable(&living).await;
        old.send(&RawWebSocketFrame::close(code, "Deadline expired")).await.unwrap();
        let mut next = take_over(&living).await;
        says_hello(&mut next, &mut client).await;
        client.text(audio(1)).await.unwrap();
        assert_eq!(number_of(&text(&mut next).await), Some(1), "{code}");
    }
}

#[tokio::test]
async fn a_connection_that_just_breaks_is_made_again() {
    let living = Living::start().await;
    let Ends { mut client, provider: old } = resumable(&living).await;
    drop(old);
    let mut next = take_over(&living).await;
    says_hello(&mut next, &mut client).await;
}

#[tokio::test]
async fn an_end_that_nothing_resumes_is_told_as_it_was() {
    let living = Living::start().await;
    let ends = living.open(Speaks::Gemini).await;
    let resumable = resumable(&living).await;
    for (Ends { mut client, mut provider }, code) in [(ends, 1011), (resumable, 1007)] {
        provider.send(&RawWebSocketFrame::close(code, "no")).await.unwrap();
        assert_eq!(read_to_close(&mut client).await.1, code);
    }
}
