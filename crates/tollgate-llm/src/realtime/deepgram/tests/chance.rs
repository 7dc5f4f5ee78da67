//! A long conversation by chance, and what has to hold of it.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::begin;
use crate::realtime::transcript::feed_line;

/// What happened to the calls of a long conversation.
#[derive(Default)]
struct Seen {
    running: Vec<String>,
    pending: Vec<String>,
    cancelled: HashSet<String>,
    answers: HashMap<String, u32>,
}

impl Seen {
    fn note(&mut self, lines: &[String]) {
        for line in lines {
            if let Some(id) = line.strip_prefix("run ").and_then(|rest| rest.split(' ').next()) {
                self.running.push(id.to_owned());
            }
            let sent = line.strip_prefix("provider ").map(serde_json::from_str::<Value>);
            if let Some(Ok(sent)) = sent
                && sent["type"] == "FunctionCallResponse"
            {
                let id = sent["id"].as_str().expect("an id").to_owned();
                *self.answers.entry(id).or_default() += 1;
            }
        }
    }
}

/// One line of a conversation that is as bad as it can get.
fn random_line(random: &mut StdRng, seen: &mut Seen, calls: &mut u32) -> String {
    match random.random_range(0..12) {
        0..3 => {
            let mut functions = Vec::new();
            for _ in 0..random.random_range(1..4) {
                *calls += 1;
                let name = ["roll", "book", "lamp", "nobody"].choose(random).expect("a name");
                functions.push(json!({"id": format!("c{calls}"), "name": name, "arguments": "{}", "client_side": true}));
            }
            format!("provider {}", json!({"type": "FunctionCallRequest", "functions": functions}))
        }
        3 => {
            let id = format!("c{}", random.random_range(0..=*calls));
            if seen.running.contains(&id) {
                seen.cancelled.insert(id.clone());
            }
            format!(
                "provider {}",
                json!({"type": "FunctionCallCancelled", "functions": [{"id": id, "name": "x"}]})
            )
        }
        4..8 if !seen.running.is_empty() => {
            let id = seen.running.swap_remove(random.random_range(0..seen.running.len()));
            let how = *["done", "pending", "cancelled"].choose(random).expect("a way");
            if how == "pending" {
                seen.pending.push(id.clone());
            }
            format!("answer {id} {how} {{}}")
        }
        8 if !seen.pending.is_empty() => {
            let id = seen.pending.swap_remove(0);
            format!("answer {id} late {{\"message\":\"late\"}}")
        }
        9 => "provider {\"type\":\"UserStartedSpeaking\"}".to_owned(),
        10 => "provider {\"type\":\"ConversationText\",\"role\":\"user\",\"content\":\"x\"}"
            .to_owned(),
        _ => "provider {\"type\":\"AgentAudioDone\"}".to_owned(),
    }
}

#[test]
fn whatever_the_order_calls_are_answered_once_and_cancelled_ones_never() {
    for seed in 0..60 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut machine = begin();
        let mut seen = Seen::default();
        let mut calls = 0;
        let mut started = HashSet::new();
        let mut written = String::new();
        for _ in 0..200 {
            let line = random_line(&mut random, &mut seen, &mut calls);
            let lines = feed_line(&mut machine, &line);
            let _ = writeln!(written, "{line}\n  {}", lines.join("\n  "));
            seen.note(&lines);
            started.extend(seen.running.iter().cloned());
        }
        for id in std::mem::take(&mut seen.running) {
            let lines = feed_line(&mut machine, &format!("answer {id} done {{}}"));
            seen.note(&lines);
        }
        for id in &started {
            let expected = u32::from(!seen.cancelled.contains(id));
            let answers = seen.answers.get(id).copied().unwrap_or(0);
            assert_eq!(answers, expected, "seed {seed}, call {id}\n{written}");
        }
        assert!(seen.answers.keys().all(|id| started.contains(id)), "seed {seed}: not ours");
    }
}
