//! One process beside the gateway that outlives it: when the gateway was killed and could not stop
//! its servers, the keeper ends them.
//!
//! It hears of that by the end of its input, which only the gateway holds open.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tracing::warn;

use super::{Launcher, orphans};

/// The word that makes a launcher a keeper.
pub(super) const REAPER_COMMAND: &str = "keep";
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// A gateway is gone soon after its files were closed; who forks cannot do so for ever.
const MAX_POLLS: usize = 250;

/// The gateway's end: marks are of a process, and so is the keeper. Never waited for.
static ORPHAN_REAPER: OnceLock<Option<Child>> = OnceLock::new();

/// Starts it with the first child. Without one, the next gateway sweeps.
pub(crate) fn ensure(launcher: &Launcher) {
    ORPHAN_REAPER.get_or_init(|| match start(launcher) {
        Ok(child) => Some(child),
        Err(error) => {
            warn!(%error, "no orphan reaper: servers may keep running if the gateway is killed");
            None
        }
    });
}

/// In a group of its own, so that what stops the gateway at a terminal does not stop it first.
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

/// The keeper's whole life. `gateway` is what its marks begin with.
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
