//! P16: what a call costs with many tools and many servers. In process, so that nothing else
//! hides it; the calls go round a few tools that lie all over the catalogue.

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_engine::Parts;
use tollgate_engine::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, Server,
};

use super::BenchContext;
use super::in_process_gate::InProcessGate;
use crate::clock;
use crate::error::BenchError;
use crate::table::{FigureRow, TargetVerdict};

const BATCH: usize = 500;
/// Tools that are called.
const CALLED_TOOLS: usize = 10;
/// How much more a call may cost.
const MAX_COST_RATIO: f64 = 1.10;

/// How many servers, and how many tools on each.
#[derive(Debug, Clone, Copy)]
struct CatalogSize {
    servers: usize,
    tools: usize,
}

const SMALL: CatalogSize = CatalogSize { servers: 1, tools: 10 };
const MANY_TOOLS: CatalogSize = CatalogSize { servers: 1, tools: 10_000 };
const MANY_SERVERS: CatalogSize = CatalogSize { servers: 200, tools: 10 };

/// A gate of some size, and the calls to make and what must be in their answers.
pub(super) struct SizedGate {
    pub(super) door: InProcessGate,
    calls: Vec<(String, String)>,
}

impl SizedGate {
    pub(super) async fn with_tools(bench: &BenchContext, tools: usize) -> Result<Self, BenchError> {
        Self::open(bench, CatalogSize { servers: 1, tools }).await
    }

    async fn open(bench: &BenchContext, size: CatalogSize) -> Result<Self, BenchError> {
        let whole = size.servers * size.tools;
        let tools = (0..size.servers).map(|server| Server {
            // A name lives as long as the process; so it does here.
            name: Box::leak(format!("s{server}").into_boxed_str()),
            tools: (0..size.tools).map(|at| echo(server * size.tools + at)).collect(),
        });
        let parts = Parts { tools: tools.collect(), ..Parts::default() };
        let door = InProcessGate::open(&bench.scratch, parts, whole).await?;
        let step = whole / CALLED_TOOLS;
        let call = |at: usize| {
            let text = format!("hello {at}");
            let name = name(at * step);
            let params = format!(r#"{{"name":"{name}","arguments":{{"text":"{text}"}}}}"#);
            (params, text)
        };
        Ok(Self { door, calls: (0..CALLED_TOOLS).map(call).collect() })
    }

    /// Microseconds for each call of a batch.
    async fn batch(&self) -> Result<f64, BenchError> {
        let began = clock::now();
        for at in 0..BATCH {
            let (params, text) = &self.calls[at % CALLED_TOOLS];
            self.door.call(params, text).await?;
        }
        let count = BATCH as f64;
        Ok(clock::micros(clock::now() - began) / count)
    }
}

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let stands = [
        SizedGate::open(bench, SMALL).await?,
        SizedGate::open(bench, MANY_TOOLS).await?,
        SizedGate::open(bench, MANY_SERVERS).await?,
    ];
    let mut best = [f64::INFINITY; 3];
    for _ in 0..bench.pace.rounds * 20 {
        for (best, stand) in best.iter_mut().zip(&stands) {
            *best = best.min(stand.batch().await?);
        }
    }
    let row = |what: &str, value: f64| {
        let ratio = value / best[0];
        FigureRow {
            id: "P16",
            what: format!("cost of a call in process, {what}"),
            measured: format!("{value:.2} µs, small {:.2} µs", best[0]),
            target: format!("≤ {MAX_COST_RATIO:.2} × small"),
            ratio: Some(ratio),
            verdict: TargetVerdict::at_most(ratio, MAX_COST_RATIO),
            figures: json!({ "micros": { "small": best[0], "large": value } }),
        }
    };
    Ok(vec![row("10 → 10,000 tools", best[1]), row("1 → 200 servers", best[2])])
}

fn name(at: usize) -> String {
    format!("echo_{at:05}")
}

fn echo(at: usize) -> Box<dyn BuiltinTool> {
    Box::new(EchoTool { name: name(at) })
}

struct EchoTool {
    name: String,
}

#[async_trait]
impl BuiltinTool for EchoTool {
    fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "description": "Says the text again",
            "inputSchema": {
                "type": "object",
                "properties": { "text": { "type": "string" } },
                "required": ["text"],
            },
            "annotations": { "readOnlyHint": true },
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let text = arguments.get("text").and_then(Value::as_str);
        let text = text.ok_or_else(|| BuiltinToolError::new("`text` is missing"))?;
        Ok(BuiltinReply { text: text.to_owned(), structured: None })
    }
}
