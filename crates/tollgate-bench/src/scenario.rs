//! What is measured: one file for each kind of figure. Direct calls, the bare proxy and the
//! gateway take turns in short slices, so that whatever else the machine does hits all of them.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

use crate::config::{ConfiguredServer, ConfiguredTransport, GatewayConfig, ScratchDirectory};
use crate::error::{BenchError, within};
use crate::load::{HttpLoadConnection, LoadRequest, LoadSlice, LoadTarget, closed_loop};
use crate::process::MeasuredProcess;
use crate::table::FigureRow;
use crate::wire::Era;

mod agent_loop;
mod binary;
mod builtin_tool;
mod catalog_scaling;
mod catalog_scaling_http;
mod completions;
mod decisions;
mod in_process_gate;
mod list;
mod memory;
mod metrics_page;
mod pipes;
mod programs;
mod rate;
mod recall;
mod sentence_cascade;
mod speech;
mod start;
mod throughput;
mod token_savings;
mod wall;

pub(crate) use recall::{RecallDatabase, rows as memory};

/// How long servers may take to come up, thousands of tools among them.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(20);

/// The figures of the targets that can be measured so far, in the order in which they run.
pub(crate) const ALL: [BenchFigure; 20] = [
    BenchFigure::P1,
    BenchFigure::P2,
    BenchFigure::P3,
    BenchFigure::P4,
    BenchFigure::P5,
    BenchFigure::P6,
    BenchFigure::P7,
    BenchFigure::P8,
    BenchFigure::P9,
    BenchFigure::P10,
    BenchFigure::P11,
    BenchFigure::P12,
    BenchFigure::P13,
    BenchFigure::P14,
    BenchFigure::P15,
    BenchFigure::P16,
    BenchFigure::P17,
    BenchFigure::C1,
    BenchFigure::M,
    BenchFigure::O1,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BenchFigure {
    P1,
    P2,
    P3,
    P4,
    P5,
    P6,
    P7,
    P8,
    P9,
    P10,
    P11,
    P12,
    P13,
    P14,
    P15,
    P16,
    P17,
    /// A sentence cascade, beside its models alone.
    C1,
    /// M1 to M5: what is measured in one memory, which takes long to fill.
    M,
    /// What whoever operates it reads.
    O1,
}

impl BenchFigure {
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
            Self::P4 => "P4",
            Self::P5 => "P5",
            Self::P6 => "P6",
            Self::P7 => "P7",
            Self::P8 => "P8",
            Self::P9 => "P9",
            Self::P10 => "P10",
            Self::P11 => "P11",
            Self::P12 => "P12",
            Self::P13 => "P13",
            Self::P14 => "P14",
            Self::P15 => "P15",
            Self::P16 => "P16",
            Self::P17 => "P17",
            Self::C1 => "C1",
            Self::M => "M",
            Self::O1 => "O1",
        }
    }

    pub(crate) async fn measure(self, bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
        match self {
            Self::P1 => throughput::measure(bench).await,
            Self::P2 => throughput::added_by_one(bench).await,
            Self::P3 => rate::measure(bench).await,
            Self::P4 => list::measure(bench).await,
            Self::P5 => builtin_tool::measure(bench).await,
            Self::P6 => pipes::measure(bench).await,
            Self::P7 => completions::measure(bench).await,
            Self::P8 => agent_loop::measure(bench).await,
            Self::P9 => decisions::measure(bench).await,
            Self::P10 => memory::measure(bench).await,
            Self::P11 => start::measure(bench).await,
            Self::P12 => wall::measure(bench).await,
            Self::P13 => speech::measure(bench).await,
            Self::P14 => programs::measure(bench).await,
            Self::P15 => token_savings::measure(bench).await,
            Self::P16 => {
                let mut rows = catalog_scaling::measure(bench).await?;
                rows.extend(catalog_scaling_http::measure(bench).await?);
                Ok(rows)
            }
            Self::P17 => binary::measure(bench),
            Self::C1 => sentence_cascade::measure(bench).await,
            Self::M => recall::measure(bench).await,
            Self::O1 => metrics_page::measure(bench).await,
        }
    }
}

/// What all measurements need.
pub(crate) struct BenchContext {
    pub(crate) pace: BenchPace,
    pub(crate) scratch: ScratchDirectory,
    /// This program, to be started again in other roles.
    pub(crate) own: PathBuf,
    pub(crate) gateway: PathBuf,
}

/// How long everything takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BenchPace {
    pub(crate) rounds: usize,
    pub(crate) slice: Duration,
    /// A slice at a fixed rate, where rare delays have to show.
    pub(crate) long_slice: Duration,
    pub(crate) long_rounds: usize,
    pub(crate) starts: usize,
    /// Against servers that misbehave.
    pub(crate) turns: usize,
    /// Of a workload of queries, one in so many.
    pub(crate) queries: usize,
}

impl BenchPace {
    pub(crate) const FULL: Self = Self {
        rounds: 5,
        slice: Duration::from_millis(800),
        long_slice: Duration::from_secs(5),
        long_rounds: 3,
        starts: 5,
        turns: 10_000,
        queries: 1,
    };
    pub(crate) const QUICK: Self = Self {
        rounds: 2,
        slice: Duration::from_millis(200),
        long_slice: Duration::from_secs(1),
        long_rounds: 2,
        starts: 1,
        turns: 600,
        queries: 8,
    };
}

impl BenchContext {
    /// With the gateway that is named, or lies beside this program.
    pub(crate) fn here(pace: BenchPace) -> Result<Self, BenchError> {
        let own = std::env::current_exe()?;
        let beside = own.with_file_name("tollgate");
        let named = std::env::var_os("TOLLGATE_BIN").map(PathBuf::from);
        let gateway = named.map_or(Ok(beside), std::path::absolute)?;
        Ok(Self { pace, scratch: ScratchDirectory::new()?, own, gateway })
    }

    /// Beside the gateway, where the gateway itself looks for it.
    fn worker(&self) -> PathBuf {
        self.gateway.with_file_name("tollgate-worker")
    }

    /// Starts the gateway and waits until all servers can be called.
    pub(crate) async fn start_gateway(
        &self,
        name: &str,
        servers: &[ConfiguredServer],
    ) -> Result<MeasuredProcess, BenchError> {
        let config = GatewayConfig::new(&self.scratch, name)?.servers(servers);
        self.start_gateway_with(&config, servers).await
    }

    /// The same on a config that says more than its servers.
    pub(crate) async fn start_gateway_with(
        &self,
        config: &GatewayConfig,
        servers: &[ConfiguredServer],
    ) -> Result<MeasuredProcess, BenchError> {
        let gateway = self.start_gateway_on(&config.write()?).await?;
        within(STARTUP_TIMEOUT, "waiting for all servers", async {
            while !has_all(&gateway, servers).await? {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        })
        .await?;
        Ok(gateway)
    }

    pub(crate) async fn start_gateway_on(
        &self,
        config: &std::path::Path,
    ) -> Result<MeasuredProcess, BenchError> {
        if !self.gateway.exists() {
            let message = format!(
                "there is no gateway at {}; build it with `cargo build --release -p tollgate`",
                self.gateway.display()
            );
            return Err(BenchError::Process(message));
        }
        MeasuredProcess::gateway(&self.gateway, config).await
    }

    async fn start_bare(&self, upstream: SocketAddr) -> Result<MeasuredProcess, BenchError> {
        self.start_bare_to(upstream, "/mcp").await
    }

    /// The same for other paths than MCP's.
    async fn start_bare_to(
        &self,
        upstream: SocketAddr,
        path: &str,
    ) -> Result<MeasuredProcess, BenchError> {
        let words = ["bare".to_owned(), upstream.to_string(), path.to_owned()];
        MeasuredProcess::helper(&self.own, words).await
    }

    /// Copies what comes, without reading it.
    pub(crate) async fn start_relay(
        &self,
        upstream: SocketAddr,
    ) -> Result<MeasuredProcess, BenchError> {
        MeasuredProcess::helper(&self.own, ["relay".to_owned(), upstream.to_string()]).await
    }

    /// A server that says nothing but `bytes`.
    pub(crate) async fn start_fixed(&self, bytes: &Bytes) -> Result<MeasuredProcess, BenchError> {
        let file = self.scratch.path().join("fixed.json");
        std::fs::write(&file, bytes)?;
        MeasuredProcess::helper(&self.own, ["fixed".as_ref(), file.as_os_str()]).await
    }

    /// Loads all targets in turn, beginning with another one each round.
    async fn rounds<const N: usize>(
        &self,
        targets: &[LoadTarget; N],
        connections: usize,
    ) -> Result<Vec<[LoadSlice; N]>, BenchError> {
        let mut rounds = Vec::with_capacity(self.pace.rounds);
        for round in 0..self.pace.rounds {
            let mut slices: [Option<LoadSlice>; N] = std::array::from_fn(|_| None);
            for turn in 0..N {
                let at = (round + turn) % N;
                let slice = closed_loop::run(&targets[at], connections, self.pace.slice).await?;
                slices[at] = Some(slice);
            }
            rounds.push(slices.map(|slice| slice.expect("every target had its turn")));
        }
        Ok(rounds)
    }
}

/// Whether the echo of every server is listed.
async fn has_all(
    gateway: &MeasuredProcess,
    servers: &[ConfiguredServer],
) -> Result<bool, BenchError> {
    let mut connection = HttpLoadConnection::open(&listing(gateway)).await?;
    let (names, _) = connection.list().await?;
    let names: HashSet<String> = names.into_iter().collect();
    Ok(servers.iter().all(|server| names.contains(&format!("{}_echo", server.name))))
}

/// Asks the gateway for its tools.
fn listing(gateway: &MeasuredProcess) -> LoadTarget {
    LoadTarget {
        name: "gateway",
        address: gateway.address,
        era: Era::Modern,
        ask: LoadRequest::List(Bytes::new()),
        process: Some(gateway.pid),
    }
}

/// Calls one tool of the gateway.
pub(crate) fn calling(gateway: &MeasuredProcess, tool: String) -> LoadTarget {
    LoadTarget { ask: LoadRequest::Echo(tool), ..listing(gateway) }
}

/// The echo server itself, the bare proxy and the gateway before it.
fn three(
    direct: SocketAddr,
    bare: &MeasuredProcess,
    gateway: &MeasuredProcess,
    tool: &str,
    era: Era,
) -> [LoadTarget; 3] {
    let echo = || LoadRequest::Echo("echo".to_owned());
    let through = LoadTarget { era, ..calling(gateway, tool.to_owned()) };
    [
        LoadTarget { name: "direct", address: direct, era, ask: echo(), process: None },
        LoadTarget {
            name: "bare",
            address: bare.address,
            era,
            ask: echo(),
            process: Some(bare.pid),
        },
        through,
    ]
}

pub(crate) fn http_server(name: &str, address: SocketAddr, era: Era) -> ConfiguredServer {
    ConfiguredServer { name: name.to_owned(), kind: ConfiguredTransport::Http { address, era } }
}

/// Microseconds on the processor for each call, over all rounds.
fn cpu_per_call<'s>(slices: impl IntoIterator<Item = &'s LoadSlice>) -> f64 {
    let mut cpu = 0.0;
    let mut calls = 0.0;
    for slice in slices {
        cpu += crate::clock::micros(slice.cpu);
        calls += slice.calls();
    }
    cpu / calls
}
