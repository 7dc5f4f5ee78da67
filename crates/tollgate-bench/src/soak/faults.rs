//! R-06: the long run: ordinary work with random faults, and afterwards everything is as before. The
//! longer it lasts the more the slope of memory says.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use rustix::process::{Pid, Signal};

use super::client::{self, OpenLoopLoad, SoakConnection};
use super::upstream::WaitingUpstream;
use crate::clock;
use crate::config::{ConfiguredServer, ConfiguredTransport, GatewayConfig};
use crate::error::BenchError;
use crate::process::MeasuredProcess;
use crate::scenario::{BenchContext, http_server};
use crate::table::{FigureLimit, FigureRow};
use crate::wire::{Era, SESSION};

const CHILDREN: usize = 3;
const WARM_UP: Duration = Duration::from_secs(10);
/// For everything to be as before.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(60);
const MEBIBYTE: f64 = (1 << 20) as f64;
/// Below this the slope says nothing: caches still fill.
const SLOPE_FROM: Duration = Duration::from_secs(30 * 60);

/// What a process has of everything that can leak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeakCounts {
    files: usize,
    threads: usize,
    children: usize,
    sessions: usize,
}

impl LeakCounts {
    async fn of(gateway: &MeasuredProcess, admin: &str) -> Result<Self, BenchError> {
        let count = |folder: &str| {
            fs::read_dir(format!("/proc/{}/{folder}", gateway.pid)).map_or(0, Iterator::count)
        };
        let files = count("fd");
        let threads = count("task");
        Ok(Self {
            files,
            threads,
            children: children(gateway.pid).len(),
            sessions: sessions(gateway, admin).await?,
        })
    }

    /// Within two of everything.
    fn is_near(&self, other: &Self) -> bool {
        let near = |a: usize, b: usize| a.abs_diff(b) <= 2;
        near(self.files, other.files)
            && self.threads <= other.threads + 2
            && near(self.children, other.children)
            && near(self.sessions, other.sessions)
    }
}

/// Processes whose parent is this one.
fn children(parent: u32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_ascii_whitespace().nth(1) == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

/// MCP sessions, as the metrics tell.
async fn sessions(gateway: &MeasuredProcess, admin: &str) -> Result<usize, BenchError> {
    let mut headers = HeaderMap::new();
    let bearer = HeaderValue::from_str(&format!("Bearer {admin}"));
    headers.insert(http::header::AUTHORIZATION, bearer.map_err(std::io::Error::other)?);
    let mut connection = SoakConnection::open(gateway.address).await?;
    let reply = connection.get("/metrics", headers).await?;
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    let line = text.lines().find(|line| line.starts_with("tollgate_sessions{kind=\"mcp\"}"));
    let value = line.and_then(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
    let missing = || BenchError::wrong("the gateway", "no metric of sessions", &reply.body);
    Ok(value.ok_or_else(missing)? as usize)
}

pub(super) async fn measure(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    let upstream = WaitingUpstream::start()?;
    let command = vec![bench.own.display().to_string(), "stdio-echo".to_owned()];
    let mut servers = vec![http_server("up", upstream.address, Era::Modern)];
    servers.extend((0..CHILDREN).map(|at| ConfiguredServer {
        name: format!("c{at}"),
        kind: ConfiguredTransport::Stdio { command: command.clone() },
    }));
    let keys: Vec<String> = (0..8).map(|at| format!("k{at}")).collect();
    let config =
        GatewayConfig::with_keys(&bench.scratch, "soak-faults", &keys, "timeout_ms: 60000")?
            .servers(&servers);
    let token = config.data().join("admin.token");
    let gateway = bench.start_gateway_on(&config.write()?).await?;
    super::overload::wait_for_tool(&gateway).await?;
    let admin = fs::read_to_string(token)?.trim().to_owned();
    work(&gateway, WARM_UP).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = LeakCounts::of(&gateway, &admin).await?;
    let memory_before = gateway.usage()?.resident_bytes as f64 / MEBIBYTE;

    let began = clock::now();
    let mut memory = Vec::new();
    let mut answers = [0_u64; 3];
    while clock::now() - began < span {
        let left = span.saturating_sub(clock::now() - began);
        let seen = work(&gateway, left.min(Duration::from_secs(15))).await;
        answers.iter_mut().zip(seen).for_each(|(all, more)| *all += more);
        let hours = (clock::now() - began).as_secs_f64() / 3_600.0;
        memory.push((hours, gateway.usage()?.resident_bytes as f64 / MEBIBYTE));
    }

    let over = clock::now();
    let mut after = LeakCounts::of(&gateway, &admin).await?;
    while !after.is_near(&before) && clock::now() - over < RECOVERY_TIMEOUT {
        tokio::time::sleep(Duration::from_secs(1)).await;
        after = LeakCounts::of(&gateway, &admin).await?;
    }
    let took = (clock::now() - over).as_secs_f64();
    let memory_after = gateway.usage()?.resident_bytes as f64 / MEBIBYTE;
    gateway.stop().await?;
    let [served, refused, wrong] = answers;
    let mut rows = vec![
        FigureRow::check(
            "R-06",
            format!(
                "{:.0} s with random faults: files, threads, children, sessions",
                span.as_secs_f64()
            ),
            format!("{before:?} → {after:?} after {took:.0} s"),
            "± 2 within 60 s",
            after.is_near(&before),
        )
        .with_note(&format!("{served} served, {refused} refused, {wrong} failed on purpose")),
        FigureRow::at_most(
            "R-06",
            "memory after, of what it was after the warm-up".to_owned(),
            memory_after / memory_before,
            FigureLimit { most: 1.5, unit: "×", digits: 2 },
        )
        .with_note(&format!("{memory_before:.1} → {memory_after:.1} MiB")),
    ];
    if span >= SLOPE_FROM {
        rows.push(FigureRow::at_most(
            "R-06",
            "slope of memory".to_owned(),
            slope(&memory).max(0.0),
            FigureLimit { most: 1.0, unit: "MiB/h", digits: 2 },
        ));
    }
    Ok(rows)
}

/// Calls of all servers, clients that go away, sessions, and a child that is killed. How many calls
/// were served, refused, and failed.
async fn work(gateway: &MeasuredProcess, span: Duration) -> [u64; 3] {
    let make: client::MakeRequest = Arc::new(|id| {
        let key = format!("k{}", id % 8);
        match id % 5 {
            0 => client::execute(&key, "up_wait", id, r#"{"text":"x","ms":20}"#),
            1 => client::execute(&key, "up_wait", id, r#"{"text":"x","fails":true}"#),
            2 => client::execute(&key, "roll", id, r#"{"expression":"2d6"}"#),
            at => client::execute(&key, &format!("c{}_echo", at - 3), id, r#"{"text":"x"}"#),
        }
    });
    let address = gateway.address;
    let load = OpenLoopLoad { address, rate: 200.0, connections: 16, span, make };
    let until = clock::now() + span;
    let goers = async {
        let mut count = 0_u64;
        while clock::now() < until {
            count += 1;
            let sent = client::execute("k0", "up_wait", count, r#"{"text":"x","ms":200}"#);
            if let Ok(mut connection) = SoakConnection::open(address).await {
                let _ =
                    tokio::time::timeout(Duration::from_millis(30), connection.call(&sent)).await;
            }
        }
    };
    let members = async {
        while clock::now() < until {
            // A session that is opened and ended, as good clients do.
            let _ = session(gateway).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let killer = async {
        let mut turn = 0;
        while clock::now() + Duration::from_secs(4) < until {
            tokio::time::sleep(Duration::from_secs(4)).await;
            let all = children(gateway.pid);
            if let Some(pid) = all.get(turn % all.len().max(1)).and_then(|pid| Pid::from_raw(*pid))
            {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            turn += 1;
        }
    };
    let (tally, (), (), ()) = tokio::join!(load.run(), goers, members, killer);
    [tally.served.len() as u64, tally.shed.len() as u64, tally.wrong]
}

async fn session(gateway: &MeasuredProcess) -> Result<(), BenchError> {
    let mut connection = SoakConnection::open(gateway.address).await?;
    let mut headers = crate::wire::headers(Era::Legacy, "initialize", None);
    let key = HeaderValue::from_str(&crate::config::key_of("k1"));
    headers.insert("x-api-key", key.map_err(std::io::Error::other)?);
    let body = crate::wire::INITIALIZE.into();
    let reply = connection.send(http::Method::POST, "/mcp", headers.clone(), body).await?;
    if let Some(session) = reply.headers.get(SESSION) {
        headers.insert(SESSION, session.clone());
        let delete = http::Method::DELETE;
        connection.send(delete, "/mcp", headers, bytes::Bytes::new()).await?;
    }
    Ok(())
}

/// Of the line that fits the points best.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let x = mean(|point| point.0);
    let y = mean(|point| point.1);
    let above: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let below: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_slope_is_that_of_the_line_through_the_points() {
        let line: Vec<_> = (0..10).map(|x| (f64::from(x), 3.0 + 2.0 * f64::from(x))).collect();
        assert!((super::slope(&line) - 2.0).abs() < 1e-9);
        assert!(super::slope(&[]).abs() < 1e-9);
    }
}
