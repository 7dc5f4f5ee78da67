//! S-27: schema bombs. While a hundred of them load, other requests do not wait: long work leaves
//! the workers, and excessive work is refused.

use std::fs;
use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use tollgate_engine::settings::{ServerTransport, StdioCommand};
use tollgate_mcp::Revision;

use crate::stage::{Setup, Stage, server};

/// How long a timer may be held up, at p99.9.
const MAX_HOLD: Duration = Duration::from_millis(50);

/// Lists a hundred tools whose schemas are bombs of ten kinds, and one honest tool.
const BOMBER: &str = r##"
import json, sys
def chain(kind, levels):
    defs = {"d%d" % i: {kind: [{"$ref": "#/$defs/d%d" % (i + 1)}] * 2} for i in range(levels)}
    defs["d%d" % levels] = {"type": "string"}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs}
def of(pattern): return {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}
def nested(depth):
    schema = {"type": "string"}
    for _ in range(depth): schema = {"type": "object", "properties": {"x": schema}}
    return schema
KINDS = [
    lambda i: chain("allOf", 20 + i),
    lambda i: chain("anyOf", 20 + i),
    lambda i: {"type": "object", "properties": {"x": {"$ref": "#"}, "y": {"$ref": "#/properties/y"}}},
    lambda i: of("^(a+)+$" + "(b*)*" * i),
    lambda i: of("(((a{1,100}){1,100}){1,100}){%d}" % (i + 1)),
    lambda i: {"type": "object", "properties": {"x": {"enum": ["v%d" % n for n in range(5000)]}}},
    lambda i: nested(20 + 20 * i),
    lambda i: {"type": "object", "properties": {"x": {"$ref": "http://169.254.169.254/%d" % i}}},
    lambda i: {"type": "object", "properties": {"p%d" % n: {"type": "string"} for n in range(1900 + 50 * i)}},
    lambda i: {"type": "object", "properties": {"x": {"oneOf": [{"const": n} for n in range(900)]}},
               "$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]},
]
TOOLS = [{"name": "bomb%d" % n, "inputSchema": KINDS[n % 10](n // 10)} for n in range(100)]
TOOLS.append({"name": "say", "inputSchema": {"type": "object"}})
LISTED = {
    "ping": {}, "tools/list": {"tools": TOOLS},
    "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "b", "version": "1"},
                   "capabilities": {"tools": {}}},
}
FINE = {"content": [{"type": "text", "text": "fine"}]}
for line in sys.stdin:
    request = json.loads(line)
    if request.get("id") is None: continue
    result = LISTED.get(request["method"], FINE)
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
    sys.stdout.flush()
"##;

/// Processor time that this thread had, whatever else runs on the machine.
fn busy() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts it");
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

/// How much this thread did between two ticks of a timer of one millisecond, until `work` is done:
/// for so long the timer was held up, apart from what other programs take.
async fn ticking<T>(work: impl Future<Output = T>) -> (T, Vec<Duration>) {
    let mut work = std::pin::pin!(work);
    let mut held = Vec::new();
    let mut before = busy();
    loop {
        tokio::select! {
            done = &mut work => return (done, held),
            () = tokio::time::sleep(Duration::from_millis(1)) => {
                let now = busy();
                held.push(now.saturating_sub(before));
                before = now;
            }
        }
    }
}

fn assert_not_held_up(mut held: Vec<Duration>, what: &str) {
    held.sort_unstable();
    let at = (held.len() * 999).div_ceil(1_000).saturating_sub(1);
    let p999 = held[at];
    let longest = held[held.len() - 1];
    let _ = writeln!(
        std::io::stderr(),
        "s_27: {what}: {} ticks, p99.9 {p999:?}, longest {longest:?}",
        held.len()
    );
    assert!(p999 <= MAX_HOLD, "{what}: p99.9 of {} ticks is {p999:?}", held.len());
}

/// All of the gateway runs on the thread of this test, except what it moves elsewhere.
#[tokio::test]
async fn s_27_a_timer_is_not_held_up_while_a_hundred_bombs_load_and_are_called() {
    let words = ["python3", "-u", "-c", BOMBER].map(str::to_owned).into();
    let bombs =
        server("bombs", ServerTransport::Stdio(StdioCommand::new(words)), Revision::NEWEST_LEGACY);
    let loading = Stage::with(Setup { servers: vec![bombs], ..Setup::default() });
    let (stage, held) = ticking(Box::pin(loading)).await;
    assert_not_held_up(held, "loading");
    let honest = stage.gate.catalog();
    assert!(honest.tool("bombs_say").is_some());
    let is_served = |number: &usize| honest.tool(&format!("bombs_bomb{number}")).is_some();
    let served: Vec<usize> = (0..100).filter(is_served).collect();
    assert!(served.len() < 100, "some are refused, and only those");
    let deep =
        (0..60).fold(json!("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"), |inner, _| json!({ "x": inner }));
    let calling = async {
        for number in &served {
            let name = format!("bombs_bomb{number}");
            for arguments in [json!({"x": "a".repeat(50_000) + "!"}), deep.clone()] {
                let body = json!({"name": name, "arguments": arguments}).to_string();
                let reply = stage.post(body).path("/v1/tools/execute").send().await;
                let status = reply.json()["status"].clone();
                let typed = ["ok", "invalid_arguments"].map(|it| status == it).contains(&true);
                assert!(typed, "{name}: {reply:.300?}");
            }
        }
    };
    let ((), held) = ticking(calling).await;
    assert_not_held_up(held, "calling");
}
