//! `fuzz COUNT [FIRST]`: runs that many programs, prints how they ended and how fast it was.
//! `fuzz show NUMBER` prints one.

use std::process::{Command, ExitCode};

#[path = "../tests/it/fuzz/campaign.rs"]
mod campaign;
#[path = "../tests/it/rehearsal.rs"]
#[expect(dead_code, reason = "tests use the rest")]
mod rehearsal;

#[expect(clippy::print_stdout, reason = "it reports to whoever started it")]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = given.iter().filter_map(|it| it.parse().ok()).collect();
    match (given.first().map(String::as_str), numbers.as_slice()) {
        (Some("child"), [first, count]) => campaign::child(*first, *count),
        (Some("show"), [number]) => println!("{}", campaign::source(*number)),
        (_, [count, rest @ ..]) => {
            let first = rest.first().copied().unwrap_or(0);
            let begun = std::time::Instant::now();
            let tally = campaign::campaign(first, *count, &start);
            let seconds = begun.elapsed().as_secs_f64();
            for (outcome, times) in &tally.outcomes {
                println!("{times:>12}  {outcome}");
            }
            println!("{count:>12}  in {seconds:.0} s, {:.0} a second", *count as f64 / seconds);
            for finding in tally.findings.iter().take(100) {
                println!("finding {finding}");
            }
            return ExitCode::from(u8::from(!tally.findings.is_empty()));
        }
        _ => {
            println!("fuzz COUNT [FIRST]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn start(first: u64, count: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a program is a file"));
    command.args(["child".to_owned(), first.to_string(), count.to_string()]).env_clear();
    command
}
