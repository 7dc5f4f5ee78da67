//! One file per command. A command loads the config it needs, asks, and prints.

use std::time::Duration;

use tokio::runtime::Builder;

use crate::cli::operate::Manual;
use crate::cli::{Cli, Command, Options, Serve, Servers, Telemetry};
use crate::config::{self, Config, Environment};
use crate::failure::Failure;
use crate::logging::{self, Reader};
use crate::output::Output;
use crate::signals::{asked_to_stop, told_to_leave};

/// How long blocking work may still take when the command is over.
const LAST_WORDS: Duration = Duration::from_millis(500);

mod approvals;
mod audit;
mod bench;
mod calibrate;
mod call;
mod chat;
mod check;
mod code;
mod completions;
mod conformance_client;
mod connect;
mod convert;
mod doctor;
mod import;
mod keys;
mod man;
mod mcp;
mod memory;
mod reference;
mod reload;
mod result;
mod serve;
mod servers;
mod sessions;
mod telemetry;
mod tier;
mod tools;

pub fn run(cli: Cli, output: Output, environment: &dyn Environment) -> Result<(), Failure> {
    let command = match cli.command.unwrap_or(Command::Serve(Serve::default())) {
        Command::Check(check) => return check::run(&check, &cli.options, (output, environment)),
        Command::Completions { shell } => {
            completions::run(shell, output);
            return Ok(());
        }
        Command::Convert(wanted) => return convert::run(&wanted, output),
        Command::Man(wanted) => return man::run(&wanted, output),
        Command::Manual { what } => {
            output.raw(&match what {
                Manual::Config => config::manual(),
                Manual::Cli => reference::reference(),
            });
            return Ok(());
        }
        command => command,
    };
    let reader = match command {
        Command::Serve(_) | Command::Mcp(_) => Reader::Operator,
        _ => Reader::Asker,
    };
    logging::start(reader, environment);
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let done = runtime.block_on(async {
        let serves = matches!(command, Command::Serve(_));
        let talks = matches!(command, Command::Chat(_));
        let asked = asked(command, &cli.options, (output, environment));
        if serves {
            // It knows how to stop in good order.
            return asked.await;
        }
        let stopped = async {
            match talks {
                // It has its own use for Ctrl-C.
                true => told_to_leave().await,
                false => asked_to_stop().await,
            }
        };
        tokio::select! {
            done = asked => done,
            // What was started for this command ends with it, children and all.
            () = stopped => Err(Failure::failed("stopped by a signal")),
        }
    });
    // A write to a pipe that nobody reads must not keep the process.
    runtime.shutdown_timeout(LAST_WORDS);
    done
}

async fn asked(
    command: Command,
    options: &Options,
    (output, environment): (Output, &dyn Environment),
) -> Result<(), Failure> {
    let load = || load(options, output, environment);
    match command {
        Command::Serve(wanted) => {
            let request = config::Request { tls: wanted.tls, ..options.request() };
            let loaded = config::load(&request, environment)?;
            output.report(&loaded.report);
            serve::run(loaded, request, output).await
        }
        Command::Reload => reload::run(&load()?, output).await,
        Command::Tools(tools) => tools::run(&tools, &load()?, output).await,
        Command::Call(call) => call::run(&call, &load()?, output).await,
        Command::Code(wanted) => code::run(&wanted, &load()?, output).await,
        Command::Chat(wanted) => chat::run(&wanted, &load()?, output).await,
        Command::Result(page) => result::run(&page, &load()?, output).await,
        Command::Tier(said) => tier::run(&said, &load()?, output).await,
        Command::Calibrate(calibrate) => calibrate::run(&calibrate, &load()?, output).await,
        Command::Telemetry(Telemetry::Export(written)) => {
            telemetry::export(&written, &load()?, output).await
        }
        Command::Telemetry(Telemetry::Merge { files, written }) => {
            telemetry::merge(&files, &written, output)
        }
        Command::Servers(Servers::Change(change)) => {
            servers::change::run(change, options.request(), (output, environment)).await
        }
        Command::Import(wanted) => {
            import::run(&wanted, options.request(), (output, environment)).await
        }
        Command::Doctor(wanted) => {
            doctor::run(&wanted, options.request(), (output, environment)).await
        }
        Command::Bench(wanted) => bench::run(&wanted, &load()?, output).await,
        Command::Connect(wanted) => {
            let at = (&load()?, &options.request());
            connect::run(&wanted, at, (output, environment)).await
        }
        Command::Servers(Servers::Look(servers)) => servers::run(&servers, &load()?, output).await,
        Command::Approvals(wanted) => approvals::run(&wanted, &load()?, output).await,
        Command::Sessions(wanted) => sessions::run(&wanted, &load()?, output).await,
        Command::Audit(wanted) => audit::run(&wanted, &load()?, output).await,
        Command::Keys(wanted) => keys::run(&wanted, &load()?, output).await,
        Command::Memory(wanted) => memory::run(&wanted, &load()?, output).await,
        Command::Mcp(mcp) => mcp::run(&mcp, &load()?).await,
        Command::ConformanceClient { url } => {
            conformance_client::run(&url, output, environment).await
        }
        Command::Check(_)
        | Command::Completions { .. }
        | Command::Convert(_)
        | Command::Man(_)
        | Command::Manual { .. } => unreachable!("run before"),
    }
}

/// The config; what is odd about it goes to standard error.
fn load(
    options: &Options,
    output: Output,
    environment: &dyn Environment,
) -> Result<Config, Failure> {
    let loaded = config::load(&options.request(), environment)?;
    output.report(&loaded.report);
    Ok(loaded.config)
}
