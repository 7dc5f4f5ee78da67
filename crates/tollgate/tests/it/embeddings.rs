//! Meanings through the built gateway: an endpoint that speaks the wire format of OpenAI and has a
//! real model behind it comes, goes and comes back.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_engine::embedding::{Embedder, EmbeddingPurpose};
use tollgate_llm::static_model;
use tollgate_testkit::embedding_model;

use crate::isolated_gateway::Gateway;

/// Facts, and what one asks for without a word of theirs.
const COMPUTER: (&str, &str) =
    ("A PC with little memory takes long to open programs.", "my computer is very slow");
const PLANTS: (&str, &str) = (
    "Leaves use sunlight to turn water and carbon dioxide into sugar.",
    "how do plants make food?",
);
const OTHERS: [&str; 3] = [
    "Orders are delivered by mail within five working days.",
    "The conflict ended with a peace treaty in 1648.",
    "Jupiter is bigger than all other worlds of the solar system.",
];

const KEY: &str = "of-the-endpoint";

/// `/v1/embeddings`, for as long as it is held.
struct Endpoint {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Port 0: any.
    fn start(model: &Arc<dyn Embedder>, port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let address = listener.local_addr().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let model = Arc::clone(model);
        let ended = Arc::clone(&over);
        let serving = thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    break;
                }
                open.push(stream.try_clone().unwrap());
                let model = Arc::clone(&model);
                thread::spawn(move || while answer(&stream, &*model).is_some() {});
            }
            for stream in open {
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
        Self { address, over, serving: Some(serving) }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.serving.take().unwrap().join();
    }
}

fn answer(mut stream: &TcpStream, model: &dyn Embedder) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).ok().filter(|read| *read > 0)?;
    }
    assert!(head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!(": Bearer {KEY}\r\n")), "{head}");
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
    });
    let mut body = vec![0; length?];
    reader.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let texts: Vec<String> = serde_json::from_value(request["input"].clone()).ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let vectors = runtime.block_on(model.embed(&texts, EmbeddingPurpose::Passage)).ok()?;
    let data: Vec<Value> = (0..)
        .zip(&vectors)
        .map(|(index, vector)| {
            json!({"object": "embedding", "index": index, "embedding": vector.numbers()})
        })
        .collect();
    let usage = json!({"prompt_tokens": 1, "total_tokens": 1});
    let text = json!({"object": "list", "data": data, "model": request["model"], "usage": usage})
        .to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length";
    write!(stream, "{head}: {}\r\n\r\n{text}", text.len()).ok()
}

fn gateway(endpoint: &Endpoint) -> Gateway {
    let base_url = format!("http://{}/v1", endpoint.address);
    let provider = json!({"kind": "openai", "base_url": base_url, "api_key": KEY, "retries": 0});
    let config = json!({
        "providers": {"lan": provider},
        "memory": {"embedding": {"provider": "lan", "model": "tiny", "dimensions": 256}},
    });
    Gateway::start_in(TempDir::new().unwrap(), &config, |command| command)
}

fn remember(gateway: &Gateway, fact: &str) {
    let text = gateway.call("remember", &json!({"text": fact}));
    assert_eq!(text, "I will remember that.");
}

/// The best fit.
fn make_request(gateway: &Gateway, question: &str) -> String {
    let text = gateway.call("search_facts", &json!({"query": question, "top_k": 1}));
    text.lines().next().unwrap_or_default().to_owned()
}

/// Passages are read while nobody waits.
fn eventually_answers(gateway: &Gateway, fact: &str, question: &str) {
    let mut last = String::new();
    for _ in 0..150 {
        last = make_request(gateway, question);
        if last == fact {
            return;
        }
        thread::sleep(Duration::from_millis(200));
    }
    panic!("`{question}` found `{last}`");
}

#[test]
fn meanings_are_found_while_a_model_is_there_and_words_always() {
    let model = static_model::open(&embedding_model()).unwrap();
    let endpoint = Endpoint::start(&model, 0);
    let port = endpoint.address.port();
    let gateway = gateway(&endpoint);
    for fact in [COMPUTER.0].iter().chain(&OTHERS) {
        remember(&gateway, fact);
    }
    eventually_answers(&gateway, COMPUTER.0, COMPUTER.1);
    drop(endpoint);
    remember(&gateway, PLANTS.0);
    assert_eq!(make_request(&gateway, "what does sunlight do?"), PLANTS.0, "by its words");
    assert_eq!(make_request(&gateway, PLANTS.1), "No matching facts.");
    let _endpoint = Endpoint::start(&model, port);
    eventually_answers(&gateway, PLANTS.0, PLANTS.1);
    eventually_answers(&gateway, COMPUTER.0, COMPUTER.1);
}

/// The same without any endpoint.
#[test]
fn a_model_on_this_machine_needs_nothing_else() {
    let config = json!({"memory": {"embedding": {"local": embedding_model()}}});
    let gateway = Gateway::start_in(TempDir::new().unwrap(), &config, |command| command);
    for fact in [COMPUTER.0, PLANTS.0].iter().chain(&OTHERS) {
        remember(&gateway, fact);
    }
    eventually_answers(&gateway, COMPUTER.0, COMPUTER.1);
    eventually_answers(&gateway, PLANTS.0, PLANTS.1);
}

#[test]
fn a_model_that_is_none_is_told_at_the_start() {
    let folder = TempDir::new().unwrap();
    let config = json!({"memory": {"embedding": {"local": folder.path()}}});
    std::fs::write(folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
    let run = crate::tollgate(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("there is no `tokenizer.json`"), "{}", run.stderr);
}
