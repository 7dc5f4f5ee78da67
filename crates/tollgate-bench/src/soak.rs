//! `tollgate-bench soak [--minutes N] [ROW …]`: what takes longer than tests may.
//!
//! Load, overload, attacks and faults against the real program, each as a row with its target; a
//! row that misses it makes the run fail.
//!
//! Ten minutes by default. What is left of the time when all other rows have had theirs goes to the
//! long run with random faults.

use std::process::ExitCode;
use std::time::Duration;

use crate::clock;
use crate::error::{BenchError, within};
use crate::machine::Machine;
use crate::process;
use crate::scenario::{BenchContext, BenchPace};
use crate::table::{self, FigureRow, TargetVerdict};

mod attack;
mod call_accounting;
mod client;
mod faults;
mod load;
mod memory_pressure;
mod overload;
mod shutdown;
mod sockets;
mod upstream;

/// What is not over so long after its time is given up.
const OVERTIME: Duration = Duration::from_secs(180);

/// A part of the run, and its share of ten minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SoakRow {
    Attack,
    BuiltinTool,
    Children,
    Chat,
    Sockets,
    Parked,
    Overload,
    Fairness,
    Memory,
    SlowClients,
    Shutdown,
    Ledger,
    Faults,
}

const ALL: [SoakRow; 13] = [
    SoakRow::Attack,
    SoakRow::BuiltinTool,
    SoakRow::Children,
    SoakRow::Chat,
    SoakRow::Sockets,
    SoakRow::Parked,
    SoakRow::Overload,
    SoakRow::Fairness,
    SoakRow::Memory,
    SoakRow::SlowClients,
    SoakRow::Shutdown,
    SoakRow::Ledger,
    SoakRow::Faults,
];

impl SoakRow {
    fn id(self) -> &'static str {
        match self {
            Self::Attack => "attack",
            Self::BuiltinTool => "R-01",
            Self::Children => "R-02",
            Self::Chat => "R-03",
            Self::Sockets => "R-04",
            Self::Parked => "R-05",
            Self::Faults => "R-06",
            Self::Overload => "R-08",
            Self::Fairness => "R-10",
            Self::Memory => "R-11",
            Self::SlowClients => "R-12",
            Self::Shutdown => "R-33",
            Self::Ledger => "R-36",
        }
    }

    /// Seconds of a run of ten minutes.
    fn seconds(self) -> u64 {
        match self {
            Self::Attack => 300,
            Self::BuiltinTool | Self::Overload | Self::Ledger | Self::SlowClients => 30,
            Self::Children | Self::Chat | Self::Sockets | Self::Fairness => 20,
            Self::Memory | Self::Parked | Self::Shutdown => 10,
            Self::Faults => 60,
        }
    }

    /// The longest that its goal asks for; more shows nothing new.
    fn longest(self) -> u64 {
        match self {
            Self::Attack => 300,
            Self::BuiltinTool | Self::Overload => 60,
            Self::Sockets => 600,
            Self::Ledger => 1_800,
            Self::Faults => u64::MAX,
            _ => 60,
        }
    }

    async fn run(self, bench: &BenchContext, span: Duration) -> Result<Vec<FigureRow>, BenchError> {
        match self {
            Self::Attack => attack::measure(bench, span).await,
            Self::BuiltinTool => load::builtin_tool(bench, span).await,
            Self::Children => load::children(bench, span).await,
            Self::Chat => load::chat(bench, span).await,
            Self::Sockets => sockets::measure(bench, span).await,
            Self::Parked => load::measure_waiting_calls(bench, span).await,
            Self::Overload => overload::measure(bench, span).await,
            Self::Fairness => overload::fairness(bench, span).await,
            Self::Memory => memory_pressure::measure(bench).await,
            Self::SlowClients => attack::slow_clients(bench, span).await,
            Self::Shutdown => shutdown::measure(bench, span).await,
            Self::Ledger => call_accounting::measure(bench, span).await,
            Self::Faults => faults::measure(bench, span).await,
        }
    }
}

/// What the command line asks for; `None`: nothing that there is.
pub(crate) struct SoakArgs {
    parts: Vec<SoakRow>,
    minutes: f64,
}

impl SoakArgs {
    pub(crate) fn read(words: &[&str]) -> Option<Self> {
        let mut wish = Self { parts: Vec::new(), minutes: 10.0 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == "--minutes" {
                let minutes = words.next()?.parse().ok();
                wish.minutes = minutes.filter(|it| (0.1..=100_000.0).contains(it))?;
            } else {
                let part = ALL.into_iter().find(|part| part.id().eq_ignore_ascii_case(word));
                wish.parts.push(part?);
            }
        }
        if wish.parts.is_empty() {
            wish.parts.extend(ALL);
        }
        Some(wish)
    }

    /// How long a part takes.
    fn span(&self, part: SoakRow) -> Duration {
        let scaled = |part: SoakRow| {
            let seconds = part.seconds() as f64 * self.minutes / 10.0;
            seconds.clamp(5.0, part.longest() as f64)
        };
        let own = match part {
            SoakRow::Faults => {
                let others = self.parts.iter().filter(|it| **it != SoakRow::Faults);
                let taken: f64 = others.map(|it| scaled(*it)).sum();
                scaled(part).max(self.minutes * 60.0 - taken)
            }
            _ => scaled(part),
        };
        Duration::from_secs_f64(own)
    }

    pub(crate) fn measure(&self) -> ExitCode {
        process::raise_file_limit();
        let machine = Machine::look();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let rows = runtime.map_err(BenchError::from).and_then(|it| it.block_on(self.run()));
        let rows = match rows {
            Ok(rows) => rows,
            Err(trouble) => {
                eprintln!("tollgate-bench: {trouble}");
                return ExitCode::FAILURE;
            }
        };
        println!("{}", table::render(&rows));
        println!("{}", machine.describe());
        let missed = rows.iter().filter(|row| row.verdict != TargetVerdict::Ok).count();
        println!("{} rows, {missed} missed", rows.len());
        if let Err(error) = crate::write(&machine, &rows, "target/soak.json") {
            eprintln!("tollgate-bench: cannot write target/soak.json: {error}");
            return ExitCode::FAILURE;
        }
        if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// A part that fails leaves the others their turn.
    async fn run(&self) -> Result<Vec<FigureRow>, BenchError> {
        let bench = BenchContext::here(BenchPace::FULL)?;
        let mut rows = Vec::new();
        for part in &self.parts {
            let began = clock::now();
            let span = self.span(*part);
            match within(span + OVERTIME, part.id(), Box::pin(part.run(&bench, span))).await {
                Ok(measured) => rows.extend(measured),
                Err(trouble) => rows.push(FigureRow::failure(part.id(), &trouble.to_string())),
            }
            eprintln!("{} took {:.1} s", part.id(), (clock::now() - began).as_secs_f64());
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ALL, SoakArgs, SoakRow};

    #[test]
    fn the_run_takes_the_time_it_was_given_and_long_runs_are_long_with_faults() {
        let total =
            |wish: &SoakArgs| ALL.iter().map(|part| wish.span(*part).as_secs()).sum::<u64>();
        let ten = SoakArgs::read(&[]).unwrap();
        assert!((590..=660).contains(&total(&ten)), "{}", total(&ten));
        assert_eq!(ten.span(SoakRow::Attack), Duration::from_secs(300));
        let long = SoakArgs::read(&["--minutes", "480"]).unwrap();
        assert!((480 * 60..=481 * 60).contains(&total(&long)), "{}", total(&long));
        assert!(long.span(SoakRow::Faults) > Duration::from_secs(6 * 3_600));
    }

    #[test]
    fn rows_are_named_by_their_ids() {
        let wish = SoakArgs::read(&["r-08", "--minutes", "1"]).unwrap();
        assert_eq!(wish.parts, [SoakRow::Overload]);
        assert!(SoakArgs::read(&["R-99"]).is_none());
        assert!(SoakArgs::read(&["--minutes"]).is_none());
        assert!(SoakArgs::read(&["--minutes", "none"]).is_none());
    }
}
