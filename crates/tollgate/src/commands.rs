//! Implementation of the commands, one file each. A command loads its config, sends requests, and
//! prints.

use std::time::Duration;

use tokio::runtime::Builder;
use tollgate_config::{self as config, Config, Environment};

use crate::cli::operate::ManualKind;
use crate::cli::{Cli, CliCommand, GlobalArgs, ServeArgs, ServersCommand, TelemetryCommand};
use crate::command_error::CommandError;
use crate::logging::{self, LogAudience};
use crate::output::Output;
use crate::signals::{wait_for_stop_signal, wait_for_terminate_signal};

/// How long blocking work may still run after the command ended.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

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
mod usage;

pub fn run(cli: Cli, output: Output, environment: &dyn Environment) -> Result<(), CommandError> {
    let command = match cli.command.unwrap_or(CliCommand::Serve(ServeArgs::default())) {
        CliCommand::Check(check) => return check::run(&check, &cli.options, output, environment),
        CliCommand::Completions { shell } => {
            completions::run(shell, output);
            return Ok(());
        }
        CliCommand::Convert(args) => return convert::run(&args, output),
        CliCommand::Man(args) => return man::run(&args, output),
        CliCommand::Manual { what } => {
            output.raw(&match what {
                ManualKind::Config => config::manual(),
                ManualKind::Cli => reference::reference(),
            });
            return Ok(());
        }
        command => command,
    };
    let reader = match command {
        CliCommand::Serve(_) | CliCommand::Mcp(_) => LogAudience::Operator,
        _ => LogAudience::Asker,
    };
    logging::start(reader, environment);
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
    let done = runtime.block_on(async {
        let serves = matches!(command, CliCommand::Serve(_));
        let talks = matches!(command, CliCommand::Chat(_));
        let running = dispatch(command, &cli.options, output, environment);
        if serves {
            // `serve` handles signals itself, for an orderly shutdown.
            return running.await;
        }
        let stopped = async {
            if talks {
                // `chat` uses Ctrl-C itself.
                wait_for_terminate_signal().await
            } else {
                wait_for_stop_signal().await
            }
        };
        tokio::select! {
            done = running => done,
            // Dropping the command stops everything that it started, including child processes.
            () = stopped => Err(CommandError::new("stopped by a signal")),
        }
    });
    // A blocked write to a pipe without a reader must not keep the process alive.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    done
}

async fn dispatch(
    command: CliCommand,
    options: &GlobalArgs,
    output: Output,
    environment: &dyn Environment,
) -> Result<(), CommandError> {
    let load = || load(options, output, environment);
    match command {
        CliCommand::Serve(args) => {
            let request = config::ConfigRequest { tls: args.tls, ..options.request() };
            let loaded = config::load(&request, environment)?;
            output.report(&loaded.report);
            serve::run(loaded, request, output).await
        }
        CliCommand::Reload => reload::run(&load()?, output).await,
        CliCommand::Tools(tools) => tools::run(&tools, &load()?, output).await,
        CliCommand::Call(call) => call::run(&call, &load()?, output).await,
        CliCommand::Code(args) => code::run(&args, &load()?, output).await,
        CliCommand::Chat(args) => chat::run(&args, &load()?, output).await,
        CliCommand::Result(page) => result::run(&page, &load()?, output).await,
        CliCommand::Tier(said) => tier::run(&said, &load()?, output).await,
        CliCommand::Calibrate(calibrate) => calibrate::run(&calibrate, &load()?, output).await,
        CliCommand::Telemetry(TelemetryCommand::Export(written)) => {
            telemetry::export(&written, &load()?, output).await
        }
        CliCommand::Telemetry(TelemetryCommand::Merge { files, written }) => {
            telemetry::merge(&files, &written, output)
        }
        CliCommand::Servers(ServersCommand::Change(change)) => {
            servers::change::run(change, options.request(), output, environment).await
        }
        CliCommand::Import(args) => {
            import::run(&args, options.request(), output, environment).await
        }
        CliCommand::Doctor(args) => {
            doctor::run(&args, options.request(), output, environment).await
        }
        CliCommand::Bench(args) => bench::run(&args, &load()?, output).await,
        CliCommand::Connect(args) => {
            connect::run(&args, &load()?, &options.request(), output, environment).await
        }
        CliCommand::Servers(ServersCommand::Look(servers)) => {
            servers::run(&servers, &load()?, output).await
        }
        CliCommand::Approvals(args) => approvals::run(&args, &load()?, output).await,
        CliCommand::Sessions(args) => sessions::run(&args, &load()?, output).await,
        CliCommand::Audit(args) => audit::run(&args, &load()?, output).await,
        CliCommand::Usage(args) => usage::run(&args, &load()?, output).await,
        CliCommand::Keys(args) => keys::run(&args, &load()?, output).await,
        CliCommand::Memory(args) => memory::run(&args, &load()?, output).await,
        CliCommand::Mcp(mcp) => mcp::run(&mcp, &load()?).await,
        CliCommand::ConformanceClient { url } => {
            conformance_client::run(&url, output, environment).await
        }
        CliCommand::Check(_)
        | CliCommand::Completions { .. }
        | CliCommand::Convert(_)
        | CliCommand::Man(_)
        | CliCommand::Manual { .. } => unreachable!("run before"),
    }
}

/// Loads the config. Warnings go to standard error.
fn load(
    options: &GlobalArgs,
    output: Output,
    environment: &dyn Environment,
) -> Result<Config, CommandError> {
    let loaded = config::load(&options.request(), environment)?;
    output.report(&loaded.report);
    Ok(loaded.config)
}
