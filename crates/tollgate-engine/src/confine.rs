//! The launcher: a process that confines itself (Landlock, seccomp, rlimits) and then executes the
//! server's program.
//!
//! Between fork and exec nothing can be done without unsafe code, so a child process begins as the
//! gateway's own binary. Runs before anything else in `main`; independent of the runtime, the
//! config and MCP.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;

use crate::settings::{self, GatewayFiles, NetworkAccess, Privileges};

pub(crate) mod limits;
pub(crate) mod orphan_reaper;
pub(crate) mod orphans;

mod closed_files;
mod files;
mod format;
mod launch_spec;
mod network;
mod privileges;

pub(crate) use files::always_open;
pub(crate) use launch_spec::LaunchSpec;
pub use orphans::sweep_orphans;

/// The argument that makes the program a launcher.
const CONFINE_COMMAND: &str = "confine";
/// Exit code of a launcher that could not execute the program.
pub(crate) const LAUNCH_FAILED_EXIT_CODE: i32 = 125;
/// Prefix of the launcher's last line in that case.
pub(crate) const ERROR_PREFIX: &str = "tollgate confine: ";
/// Prefix of an informational line.
pub(crate) const NOTE_PREFIX: &str = "tollgate notes: ";

/// Whether `main` of this program called [`run_if_launcher`].
static IS_LAUNCHER: AtomicBool = AtomicBool::new(false);

/// The launcher's command line: its own arguments come first, then a `LaunchSpec`, the file to
/// execute, and the arguments of that.
#[derive(Debug, Clone)]
pub struct Launcher {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Closed to every server except those with `GatewayFiles::Open`.
    pub private: PrivateFiles,
}

impl Launcher {
    /// This program itself, if its `main` called [`run_if_launcher`]; otherwise the child would run
    /// the program again.
    pub fn own(private: PrivateFiles) -> Option<Self> {
        let arguments = vec![CONFINE_COMMAND.to_owned()];
        // The running executable, even if another was installed in its place.
        let program = "/proc/self/exe".into();
        IS_LAUNCHER.load(Ordering::Relaxed).then_some(Self { program, arguments, private })
    }
}

/// The gateway's own files and directories: they contain secrets and the calls of all clients.
/// Clones share the same set. Paths are absolute: a server may have another working directory.
#[derive(Debug, Clone, Default)]
pub struct PrivateFiles(Arc<ArcSwap<BTreeSet<PathBuf>>>);

impl PrivateFiles {
    /// Paths are never removed: they may contain secrets that are still in use.
    pub fn add(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let mut all = BTreeSet::clone(&self.0.load());
        all.extend(paths.into_iter().map(absolute));
        self.0.store(Arc::new(all));
    }

    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.0.load().iter().cloned().collect()
    }
}

/// A working directory in which a server cannot create files, because files of the gateway are in
/// it or below it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "it cannot create, remove or rename files directly in its working directory `{}`, because that \
     directory contains the gateway's `{}`, which no server may access",
    .directory.display(), .private.display()
)]
pub struct SealedDirectoryError {
    pub directory: PathBuf,
    /// One of the gateway's files.
    pub private: PathBuf,
}

impl SealedDirectoryError {
    /// Advice for the operator.
    pub const ADVICE: &'static str = "if the server needs this, set another `cwd` for it, give the \
                                      gateway a directory of its own (`--config` and `--data`), or \
                                      set `sandbox: none`, which lets the server access the \
                                      gateway's files";

    /// Checks the directory in which the server would run if it were started now.
    pub fn check(command: &settings::StdioCommand, private: &PrivateFiles) -> Result<(), Self> {
        let sandbox = &command.sandbox;
        // With file rules it can create files where the rules allow it, and they cannot open this
        // directory.
        if sandbox.gateway_files == GatewayFiles::Open || sandbox.has_file_rules() {
            return Ok(());
        }
        let here = std::env::current_dir().unwrap_or_default();
        let directory = command.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
        let found = private.paths().into_iter().find(|path| {
            let closed = closed_files::ClosedFiles::locate(std::slice::from_ref(path));
            closed.is_sealed(&directory)
        });
        found.map_or(Ok(()), |private| Err(Self { directory, private }))
    }
}

/// Must come first in `main`, before threads and argument parsing: if this process was started as a
/// launcher it executes the server's program here, and returns only on failure.
pub fn run_if_launcher() -> Option<ExitCode> {
    IS_LAUNCHER.store(true, Ordering::Relaxed);
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(CONFINE_COMMAND)) {
        return None;
    }
    let arguments: Vec<OsString> = arguments.collect();
    if let [word, gateway] = arguments.as_slice()
        && word == orphan_reaper::REAPER_COMMAND
    {
        orphan_reaper::watch(&gateway.to_string_lossy());
        return Some(ExitCode::SUCCESS);
    }
    let failure = match confine_and_exec(arguments) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    say(ERROR_PREFIX, &failure.to_string());
    Some(ExitCode::from(u8::try_from(LAUNCH_FAILED_EXIT_CODE).expect("it is small")))
}

/// Why a launcher could not execute the program.
#[derive(Debug, thiserror::Error)]
enum ConfineError {
    #[error("only the gateway starts this program; do not run it by hand")]
    Usage,
    #[error("the limit of {0} could not be set: {1}")]
    Limit(&'static str, rustix::io::Errno),
    #[error("its privileges could not be dropped: {0}")]
    Privileges(rustix::io::Errno),
    #[error(
        "`sandbox.read` and `sandbox.write` need Landlock, which this kernel lacks or has \
         disabled; remove them, or boot with `lsm=landlock,…`"
    )]
    NoLandlock,
    #[error(
        "the server cannot be denied access to the gateway's files: that needs Landlock, which \
         this kernel lacks or has disabled; boot with `lsm=landlock,…`, or set `sandbox: none` to \
         run it unconfined"
    )]
    NotClosed,
    #[error(
        "the server cannot be denied access to the gateway's files with `no_new_privileges: \
         false`, unless the gateway has CAP_SYS_ADMIN; remove that setting, or set `sandbox: none` \
         to run it unconfined"
    )]
    MayGainPrivileges,
    #[error("its file rules allow `{path}`, which contains files of the gateway")]
    Exposed { path: PathBuf },
    #[error("its file rules could not be set: {0}")]
    Rules(#[from] landlock::RulesetError),
    #[error("`{path}` of its file rules cannot be opened: {cause}")]
    Path { path: PathBuf, cause: std::io::Error },
    #[error("`sandbox.network: deny` could not be set: {0}")]
    Network(String),
    /// The gateway words the message: it knows the command.
    #[error("os error {0}")]
    Exec(i32),
}

/// The order matters: steps that need files come before files are closed, and limits come last.
fn confine_and_exec(arguments: Vec<OsString>) -> Result<Infallible, ConfineError> {
    let mut arguments = arguments.into_iter();
    let order = arguments.next().and_then(|text| LaunchSpec::read(text.to_str()?));
    let (Some(order), Some(file), Some(name)) = (order, arguments.next(), arguments.next()) else {
        return Err(ConfineError::Usage);
    };
    format::check(file.as_ref()).map_err(ConfineError::Exec)?;
    privileges::keep_to_ourselves();
    close_fds::set_fds_cloexec(3, &[]);
    if order.privileges == Privileges::Frozen {
        privileges::give_up().map_err(ConfineError::Privileges)?;
    }
    let temporary = files::close(&order)?;
    if order.network == NetworkAccess::Deny {
        network::close()?;
    }
    if order.limits.processes.is_some() && rustix::process::getuid().is_root() {
        note(
            "the kernel does not enforce `sandbox.processes` for root; run the gateway as another \
             user",
        );
    }
    for limits::KernelLimit { name, resource, limit } in limits::of(&order.limits) {
        limits::lower(resource, limit).map_err(|error| ConfineError::Limit(name, error))?;
    }
    let mut program = Command::new(file);
    program.arg0(name).args(arguments);
    if let Some(temporary) = temporary {
        program.env("TMPDIR", temporary);
    }
    let error = program.exec();
    Err(ConfineError::Exec(error.raw_os_error().unwrap_or_default()))
}

fn note(text: &str) {
    say(NOTE_PREFIX, text);
}

/// Writes one line to stderr, which is the server's log. Errors are ignored.
fn say(who: &str, text: &str) {
    let _ = std::io::stderr().write_all(format!("{who}{text}\n").as_bytes());
}
