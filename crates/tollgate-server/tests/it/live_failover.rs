//! Live sessions whose provider refuses them, or ends in the middle: the next model takes over, and
//! the client has one session.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tollgate_core::agent::{Agent, Persona};
use tollgate_llm::settings::{LlmSettings, ModelSettings, ProviderSettings};
use tollgate_server::Rights;
use tollgate_testkit::ws::{RawUpgradeRequest, RawWebSocket, RawWebSocketMessage, Refused};

use crate::live_sessions::{Talker, agent, models};
use crate::stage::{Setup, Stage, key};

/// Long for a test, short for a person.
const SOON: Duration = Duration::from_secs(20);

/// A gateway whose agent has a model at each of two providers.
struct Pair {
    stage: Stage,
    first: TcpListener,
    second: TcpListener,
}

impl Pair {
    async fn open(persona: Persona) -> Self {
        Self::with(persona, Setup::default()).await
    }

    async fn with(persona: Persona, setup: Setup) -> Self {
        let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let second = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = |name: &str, listener: &TcpListener| {
            let url = format!("http://{}/v1", listener.local_addr().unwrap());
            let LlmSettings { mut providers, mut models } = models(&url);
            let provider = ProviderSettings { name: name.to_owned(), ..providers.remove(0) };
            let model = ModelSettings {
                name: format!("voice-{name}"),
                id: format!("gpt-realtime-{name}"),
                provider: Some(name.to_owned()),
                ..models.remove(0)
            };
            (provider, model)
        };
        let (one, one_model) = at("one", &first);
        let (two, two_model) = at("two", &second);
        let llm = LlmSettings { providers: vec![one, two], models: vec![one_model, two_model] };
        let names = ["voice-one", "voice-two"].map(str::to_owned).to_vec();
        let persona = Persona { models: names, ..persona };
        let agents = vec![Agent { persona, ..agent("default", &["*"]) }];
        let stage = Stage::with(Setup { models: llm, agents, ..setup }).await;
        Self { stage, first, second }
    }

    async fn dial(&self, headers: &[String]) -> Result<RawWebSocket, Refused> {
        let path = "/v1/realtime?model=voice-one";
        let dialled = RawWebSocket::dial(self.stage.address, path, headers);
        tokio::time::timeout(SOON, dialled).await.expect("an answer in time")
    }

    /// A session at the first provider.
    async fn session(&self, headers: &[String]) -> (Talker, Talker) {
        let (client, provider) = tokio::join!(self.dial(headers), begin(&self.first, "one"));
        let mut client = Talker(client.unwrap());
        client.await_event("session.created").await;
        (client, provider)
    }
}

async fn accept(listener: &TcpListener) -> RawUpgradeRequest {
    let accepting = async {
        let (stream, _) = listener.accept().await.unwrap();
        RawUpgradeRequest::read(stream).await.unwrap()
    };
    tokio::time::timeout(SOON, accepting).await.expect("the gateway dials in time")
}

/// A provider that accepts a session.
async fn begin(listener: &TcpListener, name: &str) -> Talker {
    let mut provider = Talker(accept(listener).await.welcome().await.unwrap());
    let session = json!({"id": format!("sess_{name}"), "tools": []});
    provider.say(json!({"type": "session.created", "session": session})).await;
    provider
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "role": "user",
        "content": [{"type": "input_text", "text": text}]})
}

/// The client says something, which the provider has, and asks for an answer.
async fn ask(client: &mut Talker, provider: &mut Talker, id: &str, text: &str) {
    let item = user(id, text);
    client.say(json!({"type": "conversation.item.create", "item": item})).await;
    client.say(json!({"type": "response.create"})).await;
    provider.await_event("response.create").await;
    provider
        .say(json!({"type": "conversation.item.added", "previous_item_id": null, "item": item}))
        .await;
    client.await_event("conversation.item.added").await;
}

/// The provider answers the request for a response.
async fn answer(provider: &mut Talker, client: &mut Talker, words: &str) {
    let request = provider.await_event("response.create").await;
    let response = |status: &str| {
        json!({"id": "resp_2", "status": status, "output": [], "conversation_id": "c",
            "metadata": request["response"]["metadata"]})
    };
    provider.say(json!({"type": "response.created", "response": response("in_progress")})).await;
    let transcript = json!({"type": "response.output_audio_transcript.done",
        "response_id": "resp_2", "item_id": "item_2", "transcript": words});
    provider.say(transcript).await;
    provider.say(json!({"type": "response.done", "response": response("completed")})).await;
    let heard = client.await_event("response.output_audio_transcript.done").await;
    assert_eq!(heard["transcript"], words);
    let done = client.await_event("response.done").await;
    assert_eq!(done["response"]["status"], "completed");
}

#[tokio::test]
async fn the_next_model_is_asked_when_the_first_refuses_in_whatever_way() {
    let refusals = [
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n",
    ];
    for refusal in refusals {
        let pair = Pair::open(Persona::default()).await;
        let refusing = async { accept(&pair.first).await.refuse(refusal).await };
        let (client, (), _provider) =
            tokio::join!(pair.dial(&[]), refusing, begin(&pair.second, "two"));
        let created = Talker(client.unwrap()).await_event("session.created").await;
        assert_eq!(created["session"]["id"], "sess_two", "{refusal}");
    }
}

#[tokio::test]
async fn an_error_and_a_close_right_after_the_upgrade_are_a_refusal() {
    for (code, close) in [("invalid_api_key", 3000), ("invalid_model", 4000)] {
        let pair = Pair::open(Persona::default()).await;
        let refusing = async {
            let mut provider = Talker(accept(&pair.first).await.welcome().await.unwrap());
            let error = json!({"type": "invalid_request_error", "code": code, "message": "no"});
            provider.say(json!({"type": "error", "error": error})).await;
            provider.0.close(close, "invalid_request_error").await;
        };
        let (client, (), _provider) =
            tokio::join!(pair.dial(&[]), refusing, begin(&pair.second, "two"));
        let mut client = Talker(client.unwrap());
        let first = client.hear().await;
        assert_eq!(first["session"]["id"], "sess_two", "{code}: {first}");
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_passed_over() {
    let mut pair = Pair::open(Persona::default()).await;
    let address = pair.first.local_addr().unwrap();
    pair.first = TcpListener::bind("127.0.0.1:0").await.unwrap();
    assert_ne!(pair.first.local_addr().unwrap(), address);
    let (client, _provider) = tokio::join!(pair.dial(&[]), begin(&pair.second, "two"));
    let created = Talker(client.unwrap()).await_event("session.created").await;
    assert_eq!(created["session"]["id"], "sess_two");
}

#[tokio::test]
async fn when_all_refuse_the_error_is_that_of_the_first() {
    let pair = Pair::open(Persona::default()).await;
    let refuse = |listener| async move {
        let refusal = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n";
        accept(listener).await.refuse(refusal).await;
    };
    let (client, (), ()) = tokio::join!(pair.dial(&[]), refuse(&pair.first), refuse(&pair.second));
    let refused = client.unwrap_err();
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(refused.text.contains("gpt-realtime-one"), "{}", refused.text);
}

#[tokio::test]
async fn a_session_goes_on_at_the_next_provider_when_the_first_dies() {
    let persona =
        Persona { failover_message: Some("One moment.".to_owned()), ..Persona::default() };
    let pair = Pair::open(persona).await;
    let (mut client, mut provider) = pair.session(&[]).await;
    let settings = json!({"type": "realtime", "audio": {"output": {"voice": "cedar"}}});
    client.say(json!({"type": "session.update", "session": settings})).await;
    ask(&mut client, &mut provider, "item_u1", "Where is the key?").await;
    // As a process that is killed: nobody listens, and the connection breaks.
    let Pair { stage, first, second } = pair;
    drop(first);
    drop(provider);
    let mut next = begin(&second, "two").await;
    let update = next.await_event("session.update").await;
    assert_eq!(update["session"]["audio"]["output"]["voice"], "cedar");
    let declared = next.await_event("session.update").await;
    let tools = declared["session"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "echo"), "{declared}");
    let note = next.await_event("conversation.item.create").await;
    assert_eq!(note["item"]["role"], "system");
    let told = next.await_event("conversation.item.create").await;
    assert_eq!(told["item"], user("item_u1", "Where is the key?"));
    answer(&mut next, &mut client, "One moment. By the door.").await;
    // It is a session like any other.
    next.call("call_1", "echo", &json!({"text": "seven"})).await;
    assert_eq!(next.answer().await["message"], "seven");
    drop(stage);
}

#[tokio::test]
async fn a_call_that_runs_is_answered_at_the_next_provider() {
    let pair = Pair::open(Persona::default()).await;
    let (_client, mut provider) = pair.session(&[]).await;
    provider.call("call_1", "wait", &json!({"ms": 1_500})).await;
    while pair.stage.calls() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let Pair { stage, first, second } = pair;
    drop(first);
    drop(provider);
    let mut next = begin(&second, "two").await;
    loop {
        let event = next.await_event("conversation.item.create").await;
        if event["item"]["type"] == "function_call" {
            assert_eq!(event["item"]["call_id"], "call_1");
            break;
        }
    }
    let answer = next.await_event("conversation.item.create").await;
    assert_eq!(answer["item"]["type"], "function_call_output");
    assert_eq!(answer["item"]["call_id"], "call_1");
    assert_eq!(stage.calls(), 1, "it ran once");
}

#[tokio::test]
async fn a_connection_that_only_broke_is_made_again_at_the_same_provider() {
    let pair = Pair::open(Persona::default()).await;
    let (mut client, mut provider) = pair.session(&[]).await;
    ask(&mut client, &mut provider, "item_u1", "Hello?").await;
    drop(provider);
    let mut next = begin(&pair.first, "one again").await;
    answer(&mut next, &mut client, "I am here.").await;
}

#[tokio::test]
async fn a_quota_that_is_used_up_moves_the_session_and_the_client_does_not_see_the_error() {
    let pair = Pair::open(Persona::default()).await;
    let (mut client, mut provider) = pair.session(&[]).await;
    ask(&mut client, &mut provider, "item_u1", "Hello?").await;
    let error = json!({"type": "insufficient_quota", "code": "insufficient_quota",
        "message": "You exceeded your quota.", "event_id": null});
    provider.say(json!({"type": "error", "error": error})).await;
    let mut next = begin(&pair.second, "two").await;
    next.await_event("conversation.item.create").await;
    let request = next.await_event("response.create").await;
    assert_eq!(request["type"], "response.create");
    next.say(json!({"type": "rate_limits.updated", "rate_limits": []})).await;
    let seen = client.hear().await;
    assert_eq!(seen["type"], "rate_limits.updated", "{seen}");
}

#[tokio::test]
async fn a_session_that_fails_again_and_again_ends_with_the_providers_reason() {
    let pair = Pair::open(Persona::default()).await;
    let (mut client, provider) = pair.session(&[]).await;
    provider.0.close(4_001, "first").await;
    for (listener, reason) in
        [(&pair.second, "second"), (&pair.first, "third"), (&pair.second, "fourth")]
    {
        let next = begin(listener, reason).await;
        next.0.close(4_001, reason).await;
    }
    assert_eq!(client.end().await, RawWebSocketMessage::Close(4_001, "fourth".to_owned()));
}

#[tokio::test]
async fn a_session_of_another_key_does_not_notice_that_a_provider_died() {
    let keys = vec![key("one", "secret-1", Rights::ALL), key("two", "secret-2", Rights::ALL)];
    let pair = Pair::with(Persona::default(), Setup { keys, ..Setup::default() }).await;
    let bearer = |secret: &str| [format!("authorization: Bearer {secret}")];
    let (mut doomed, mut provider) = pair.session(&bearer("secret-1")).await;
    let (mut other, mut others_provider) = pair.session(&bearer("secret-2")).await;
    ask(&mut doomed, &mut provider, "item_u1", "The first one's secret").await;
    ask(&mut other, &mut others_provider, "item_u2", "The second one's secret").await;
    provider.0.close(4_000, "gone").await;
    let mut next = begin(&pair.second, "two").await;
    next.await_event("conversation.item.create").await;
    let told = next.await_event("conversation.item.create").await;
    assert_eq!(told["item"], user("item_u1", "The first one's secret"));
    answer(&mut next, &mut doomed, "Here.").await;
    others_provider.say(json!({"type": "rate_limits.updated", "rate_limits": []})).await;
    assert_eq!(other.hear().await["type"], "rate_limits.updated");
}
