//! A long conversation by chance, and what has to hold of it.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::{backend, begin, call};
use crate::realtime::transcript::feed_line;

/// What happened in a long conversation.
#[derive(Default)]
struct Seen {
    /// Responses that run, with the ids of our calls in them and of the client's.
    responses: HashMap<&'static str, (Vec<String>, Vec<String>)>,
    running: Vec<String>,
    pending: Vec<String>,
    clients: Vec<String>,
    failed: HashSet<String>,
    started: HashSet<String>,
    answers: HashMap<String, u32>,
    unanswered: HashSet<String>,
}

impl Seen {
    /// Takes down what the machine did, and that it goes on only when it may.
    fn note(&mut self, lines: &[String]) {
        for line in lines {
            if let Some(id) = line.strip_prefix("run ").and_then(|rest| rest.split(' ').next()) {
                self.running.push(id.to_owned());
                self.started.insert(id.to_owned());
            }
            let sent = line.strip_prefix("provider ").map(serde_json::from_str::<Value>);
            let Some(Ok(sent)) = sent else { continue };
            match sent["type"].as_str() {
                Some("response.item.create") => {
                    let id = sent["item"]["call_id"].as_str().expect("an id").to_owned();
                    self.unanswered.remove(&id);
                    *self.answers.entry(id).or_default() += 1;
                }
                Some("response.create") => {
                    assert!(self.responses.is_empty(), "goes on while a response runs");
                    assert!(self.unanswered.is_empty(), "goes on without {:?}", self.unanswered);
                }
                _ => {}
            }
        }
    }
}

fn random_line(random: &mut StdRng, seen: &mut Seen, calls: &mut u32) -> String {
    let delegation = *["a", "b"].choose(random).expect("one");
    match random.random_range(0..12) {
        0..2 => {
            seen.responses.entry(delegation).or_default();
            backend(delegation, &json!({"type": "response.created"}))
        }
        2..5 => {
            let Some((ours, theirs)) = seen.responses.get_mut(delegation) else {
                return "time".to_owned();
            };
            *calls += 1;
            let id = format!("c{calls}");
            let name = *["roll", "book", "lamp", "nobody"].choose(random).expect("a name");
            if name == "lamp" {
                theirs.push(id.clone())
            } else {
                ours.push(id.clone())
            }
            backend(delegation, &call(&id, name))
        }
        5 => {
            let Some((ours, theirs)) = seen.responses.remove(delegation) else {
                return "time".to_owned();
            };
            seen.unanswered.extend(ours.into_iter().chain(theirs.clone()));
            seen.clients.extend(theirs);
            backend(delegation, &json!({"type": "response.completed"}))
        }
        6 => {
            let Some((ours, _)) = seen.responses.remove(delegation) else {
                return "time".to_owned();
            };
            seen.failed.extend(ours);
            backend(delegation, &json!({"type": "response.failed"}))
        }
        7..10 if !seen.running.is_empty() => {
            let id = seen.running.swap_remove(random.random_range(0..seen.running.len()));
            let how = *["done", "pending", "cancelled"].choose(random).expect("a way");
            if how == "pending" {
                seen.pending.push(id.clone());
            }
            format!("answer {id} {how} {{}}")
        }
        10 if !seen.clients.is_empty() => {
            let id = seen.clients.swap_remove(0);
            seen.unanswered.remove(&id);
            let item = json!({"type": "function_call_output", "call_id": id, "output": "x"});
            format!("client {}", json!({"type": "response.item.create", "item": item}))
        }
        11 if !seen.pending.is_empty() => {
            format!("answer {} late {{}}", seen.pending.swap_remove(0))
        }
        _ => r#"provider {"type":"session.input_transcript.delta","delta":"x"}"#.to_owned(),
    }
}

#[test]
fn whatever_the_order_calls_are_answered_once_and_the_backend_goes_on_when_it_may() {
    for seed in 0..60 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut machine = begin("responses");
        let mut seen = Seen::default();
        let mut calls = 0;
        let mut written = String::new();
        for _ in 0..200 {
            let line = random_line(&mut random, &mut seen, &mut calls);
            let lines = feed_line(&mut machine, &line);
            let _ = writeln!(written, "{line}\n  {}", lines.join("\n  "));
            seen.note(&lines);
        }
        for delegation in ["a", "b"] {
            if let Some((ours, theirs)) = seen.responses.remove(delegation) {
                seen.unanswered.extend(ours.into_iter().chain(theirs));
                let line = backend(delegation, &json!({"type": "response.completed"}));
                seen.note(&feed_line(&mut machine, &line));
            }
        }
        for id in std::mem::take(&mut seen.running) {
            seen.note(&feed_line(&mut machine, &format!("answer {id} done {{}}")));
        }
        for id in &seen.started {
            let expected = u32::from(!seen.failed.contains(id));
            let answers = seen.answers.get(id).copied().unwrap_or(0);
            assert_eq!(answers, expected, "seed {seed}, call {id}\n{written}");
        }
        assert!(seen.answers.keys().all(|id| seen.started.contains(id)), "seed {seed}: not ours");
    }
}
