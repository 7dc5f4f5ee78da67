//! The real program in a control group of 512 MiB: bodies, answers, programs and what is stored have
//! shares of the memory that add up to more than all of it. At once they are shed, and kill nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_testkit::skip;

use crate::large_answers::{Limited, Seen};

const SPAN: Duration = Duration::from_secs(5);
/// Clients of each kind.
const CLIENTS: usize = 4;

/// A request of each kind that holds much memory.
fn large_requests() -> Vec<(&'static str, Value)> {
    let call = |name: &str| json!({"name": name, "arguments": {}});
    let body = json!({"name": "roll", "arguments": {"expression": "x".repeat(7 << 20)}});
    let program = "x = \"y\" * 55000000\nfor i in range(100000):\n    pass\nresult = len(x)\n";
    let stored = json!({"model": "tiny", "input": "x".repeat(3 << 20), "store": true});
    vec![
        ("/v1/tools/execute", call("json_large")),
        ("/v1/tools/execute", call("pipe_large")),
        ("/v1/tools/execute", body),
        ("/v1/code", json!({"code": program})),
        ("/v1/responses", stored),
        ("/v1/responses", json!({"model": "huge", "input": "x", "store": true})),
    ]
}

#[test]
fn p_21_bodies_answers_programs_and_stores_at_once_do_not_kill_it() {
    if !skip::require_cgroup() {
        return;
    }
    tollgate_testkit::worker();
    let limited = Limited::start();
    let served = AtomicUsize::new(0);
    let probe = |limited: &Limited| {
        let body = json!({"name": "roll", "arguments": {"expression": "2d6"}});
        let seen = limited.ask("modest", "/v1/tools/execute", &body);
        assert_answered(&seen);
        served.fetch_add(usize::from(seen.status == 200), Ordering::Relaxed);
    };
    let requests = large_requests();
    let attack = || {
        #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
        let began = Instant::now();
        thread::scope(|scope| {
            for (path, body) in &requests {
                for client in 0..CLIENTS {
                    let limited = &limited;
                    // Both keys, since one has half of each share.
                    let key = ["greedy", "modest"][client % 2];
                    scope.spawn(move || {
                        while began.elapsed() < SPAN {
                            assert_answered(&limited.ask(key, path, body));
                        }
                    });
                }
            }
        });
    };
    limited.beside(probe, attack);
    limited.assert_alive();
    assert!(served.into_inner() > 0, "small calls get through");
    limited.assert_recovered();
}

/// Whoever is refused is told when to come back.
fn assert_answered(seen: &Seen) {
    let is_shed = seen.status == 503 && seen.head.contains("\r\nretry-after: ");
    assert!(seen.status == 200 || is_shed, "{seen:?}");
}
