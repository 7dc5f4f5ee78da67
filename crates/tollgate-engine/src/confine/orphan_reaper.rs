//! The orphan reaper: a process beside the gateway that outlives it. When the gateway was killed
//! and could not stop its servers, it kills them.
//!
//! It notices by EOF on its stdin, which only the gateway holds open.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tracing::warn;

use super::{Launcher, orphans};

/// The argument that makes a launcher a reaper.
pub(super) const REAPER_COMMAND: &str = "keep";
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The gateway exits soon after its files were closed, and forking orphans must not keep the reaper
/// busy forever.
const MAX_POLLS: usize = 250;

/// The gateway's handle. Marks belong to a process, and so does the reaper. It is never waited for.
static ORPHAN_REAPER: OnceLock<Option<Child>> = OnceLock::new();

/// Starts the reaper with the first child. If that fails, the next gateway sweeps the orphans.
pub(crate) fn ensure(launcher: &Launcher) {
    ORPHAN_REAPER.get_or_init(|| match start(launcher) {
        Ok(child) => Some(child),
        Err(error) => {
            warn!(%error, "no orphan reaper: servers may keep running if the gateway is killed");
            None
        }
    });
}

/// In its own process group, so that Ctrl-C in the gateway's terminal does not kill it first.
fn start(launcher: &Launcher) -> std::io::Result<Child> {
    Command::new(&launcher.program)
        .arg0("tollgate")
        .args(&launcher.arguments)
        .args([REAPER_COMMAND, &orphans::own_mark_prefix()])
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// The main loop of the reaper. `gateway` is the prefix of the gateway's marks.
pub(super) fn watch(gateway: &str) {
    let mut rest = [0; 64];
    while let Ok(1..) = std::io::stdin().read(&mut rest) {}
    for _ in 0..MAX_POLLS {
        if !orphans::gateway_lives(gateway) && orphans::sweep_orphans() == 0 {
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
