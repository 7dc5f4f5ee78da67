//! Measures the gateway against its targets: beside a direct call, a bare proxy and a server of
//! fixed bytes, all in one run on one machine. Starts everything itself and checks every answer.
//!
//! `tollgate-bench [--quick] [P1 P3 …]`; the gateway is `TOLLGATE_BIN`, or the `tollgate` that
//! lies beside this program. `tollgate-bench tokens` counts what a large catalogue costs a model,
//! `tollgate-bench code-tokens` what code mode saves of that. `tollgate-bench memory [--full]
//! [sqlite|postgresql|pgvector]` measures the memory alone, with a million entries if that is said.
//! `tollgate-bench soak [--minutes N] [ROW …]` is the long run under load, attack and faults.
#![expect(clippy::print_stdout, reason = "a table is what this program is for")]
#![expect(clippy::print_stderr, reason = "progress and mistakes are told on standard error")]

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;

mod bare_proxy;
mod campaign;
mod chat;
mod clock;
mod code_tokens;
mod config;
mod echo;
mod error;
mod fixed_response;
mod load;
mod machine;
mod misbehaving_servers;
mod mock_model;
mod process;
mod samples;
mod scenario;
mod serve;
mod soak;
mod speech;
mod stdio_echo;
mod table;
mod tcp_relay;
mod tokens;
mod upstream;
mod wire;

use campaign::{Campaign, CampaignVolume};
use config::ScratchDirectory;
use error::{BenchError, within};
use machine::Machine;
use scenario::{ALL, BenchContext, BenchFigure, BenchPace, RecallDatabase};
use serve::BenchHandler;
use stdio_echo::StdioEchoBehavior;
use table::{FigureRow, TargetVerdict};

/// The whole run; whatever hangs is given up then.
const RUN_TIMEOUT: Duration = Duration::from_secs(12 * 60);
const RESULTS: &str = "target/bench.json";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["tokens"] => {
            let ways = tokens::ways().map_err(BenchError::from);
            ways.map(|ways| print!("{}", tokens::render(&ways)))
        }
        ["memory", words @ ..] => match MemoryBenchArgs::read(words) {
            Some(wish) => return wish.measure(),
            None => return usage(),
        },
        ["soak", words @ ..] => match soak::SoakArgs::read(words) {
            Some(wish) => return wish.measure(),
            None => return usage(),
        },
        ["code-tokens", ids @ ..] => code_tokens::run(ids).map(|table| print!("{table}")),
        ["stdio-echo"] => stdio_echo::run(StdioEchoBehavior::Answers).map_err(BenchError::from),
        ["stdio-echo", "--hang"] => {
            stdio_echo::run(StdioEchoBehavior::Hangs).map_err(BenchError::from)
        }
        ["wicked"] => serve_on_socket(misbehaving_servers::serve),
        ["wicked", manner] => match misbehaving_servers::Misbehavior::parse(manner) {
            Some(manner) => misbehaving_servers::run(manner).map_err(BenchError::from),
            None => return usage(),
        },
        ["bare", upstream, path] => match upstream.parse::<SocketAddr>() {
            Ok(upstream) => serve_here(|| bare_proxy::BareProxy::new(upstream, path)),
            Err(_) => return usage(),
        },
        ["relay", upstream] => match upstream.parse::<SocketAddr>() {
            Ok(upstream) => serve_on_socket(|listener| tcp_relay::relay(listener, upstream)),
            Err(_) => return usage(),
        },
        ["upstream", tools] => match tools.parse::<usize>() {
            Ok(tools) => serve_here(|| upstream::EchoUpstream::new(tools)),
            Err(_) => return usage(),
        },
        ["fixed", file] => match std::fs::read(file) {
            Ok(bytes) => serve_here(|| fixed_response::FixedResponse(bytes.into())),
            Err(error) => Err(error.into()),
        },
        _ => match BenchRunArgs::read(&words) {
            Some(wish) => return measure(&wish),
            None => return usage(),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("tollgate-bench: {trouble}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    let known: Vec<&str> = ALL.iter().map(|figure| figure.id()).collect();
    eprintln!("usage: tollgate-bench [--quick] [{}]", known.join("|"));
    eprintln!("       tollgate-bench memory [--full] [sqlite|postgresql|pgvector]");
    eprintln!("       tollgate-bench soak [--minutes N] [R-01|R-02|…]");
    ExitCode::from(2)
}

fn serve_here<H: BenchHandler>(handler: impl FnOnce() -> H) -> Result<(), BenchError> {
    serve_on_socket(|listener| serve::serve(listener, handler()))
}

/// Says where it serves, and serves until it is killed. On as many threads as the gateway has.
fn serve_on_socket<F: Future<Output = ()>>(
    serve: impl FnOnce(TcpListener) -> F,
) -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = serve::bind().await?;
        println!("{}", listener.local_addr()?);
        serve(listener).await;
        Ok(())
    })
}

/// Which memories are measured alone, and how full they are.
struct MemoryBenchArgs {
    databases: Vec<RecallDatabase>,
    volume: CampaignVolume,
}

impl MemoryBenchArgs {
    fn read(words: &[&str]) -> Option<Self> {
        let mut wish = Self { databases: Vec::new(), volume: CampaignVolume::SMALL };
        for word in words {
            if *word == "--full" {
                wish.volume = CampaignVolume::FULL;
            } else {
                let named = |it: &RecallDatabase| it.name().eq_ignore_ascii_case(word);
                wish.databases.push(RecallDatabase::ALL.into_iter().find(named)?);
            }
        }
        if wish.databases.is_empty() {
            wish.databases.extend(RecallDatabase::ALL);
        }
        Some(wish)
    }

    /// As long as it takes.
    fn measure(&self) -> ExitCode {
        let machine = Machine::look();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let rows = runtime.map_err(BenchError::from).and_then(|it| {
            it.block_on(async {
                let campaign = Campaign::new(self.volume);
                let mut rows = Vec::new();
                for database in &self.databases {
                    let began = clock::now();
                    let scratch = ScratchDirectory::new()?;
                    match scenario::memory(&scratch, &campaign, *database).await {
                        Ok(measured) => rows.extend(measured),
                        Err(trouble) => rows.push(FigureRow::failure("M", &trouble.to_string())),
                    }
                    let took = (clock::now() - began).as_secs_f64();
                    eprintln!("{} took {took:.1} s", database.name());
                }
                Ok(rows)
            })
        });
        report(&machine, rows)
    }
}

/// What the command line asks for.
struct BenchRunArgs {
    figures: Vec<BenchFigure>,
    pace: BenchPace,
}

impl BenchRunArgs {
    fn read(words: &[&str]) -> Option<Self> {
        let mut wish = Self { figures: Vec::new(), pace: BenchPace::FULL };
        for word in words.iter().flat_map(|word| word.split(',')) {
            if word == "--quick" {
                wish.pace = BenchPace::QUICK;
            } else {
                let named = ALL.into_iter().find(|it| it.id().eq_ignore_ascii_case(word))?;
                wish.figures.push(named);
            }
        }
        if wish.figures.is_empty() {
            wish.figures.extend(ALL);
        }
        Some(wish)
    }
}

fn measure(wish: &BenchRunArgs) -> ExitCode {
    process::raise_file_limit();
    let machine = Machine::look();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let rows = runtime.map_err(BenchError::from).and_then(|it| it.block_on(run(wish)));
    report(&machine, rows)
}

fn report(machine: &Machine, rows: Result<Vec<FigureRow>, BenchError>) -> ExitCode {
    let rows = match rows {
        Ok(rows) => rows,
        Err(trouble) => {
            eprintln!("tollgate-bench: {trouble}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}", table::render(&rows));
    println!("ratio: to the yardstick that the target names, else to the target itself");
    println!("{}", machine.describe());
    if cfg!(debug_assertions) {
        println!("this program was built without optimisation: the figures mean nothing");
    }
    if let Err(error) = write(machine, &rows, RESULTS) {
        eprintln!("tollgate-bench: cannot write {RESULTS}: {error}");
        return ExitCode::FAILURE;
    }
    if rows.iter().any(|row| row.verdict == TargetVerdict::Failed) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// A figure that fails leaves the others their turn.
async fn run(wish: &BenchRunArgs) -> Result<Vec<FigureRow>, BenchError> {
    let bench = BenchContext::here(wish.pace)?;
    let until = clock::now() + RUN_TIMEOUT;
    let mut rows = Vec::new();
    for figure in &wish.figures {
        let began = clock::now();
        let left = until.saturating_duration_since(began);
        match within(left, "the whole run", Box::pin(figure.measure(&bench))).await {
            Ok(measured) => rows.extend(measured),
            Err(trouble) => rows.push(FigureRow::failure(figure.id(), &trouble.to_string())),
        }
        eprintln!("{} took {:.1} s", figure.id(), (clock::now() - began).as_secs_f64());
    }
    Ok(rows)
}

fn write(machine: &Machine, rows: &[FigureRow], file: &str) -> std::io::Result<()> {
    let rows: Vec<Value> = rows.iter().map(FigureRow::json).collect();
    let results = json!({ "machine": machine.json(), "rows": rows });
    if let Some(directory) = std::path::Path::new(file).parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(file, format!("{results:#}\n"))
}
