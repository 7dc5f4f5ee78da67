//! Checks of the machine: private data directory, clock, and the worker binary.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tollgate_config::Config;
use tollgate_engine::clock::{Clock as _, SystemClock};

use super::DoctorFinding;
use crate::output::span;

/// Clock difference to the disk from which it is reported.
const DRIFT: Duration = Duration::from_secs(5);
/// An earlier clock is wrong: 2026-01-01, before any build of this program.
const EARLIEST_PLAUSIBLE_TIME: Duration = Duration::from_secs(1_767_225_600);

/// The data directory, and the clock of its file system.
pub(super) fn data(config: &Config) -> Vec<DoctorFinding> {
    let folder = &config.data;
    let name = folder.display().to_string();
    match fs::metadata(folder) {
        Err(why) if why.kind() == ErrorKind::NotFound => {
            vec![DoctorFinding::well("data", format!("{name} will be created")), clock(None)]
        }
        Err(why) => {
            vec![DoctorFinding::bad(
                "data",
                format!("{name}: {why}"),
                "set another directory with `data:`",
            )]
        }
        Ok(about) if !about.is_dir() => {
            vec![DoctorFinding::bad(
                "data",
                format!("{name} is not a directory"),
                "set another directory with `data:`",
            )]
        }
        Ok(about) => match probe_write(folder) {
            Err(why) => {
                let advice = "change its owner to the gateway's user, or set another directory";
                vec![DoctorFinding::bad("data", format!("cannot write to {name}: {why}"), advice)]
            }
            Ok(at) => {
                let is_open = about.permissions().mode() & 0o077 != 0;
                let finding = if is_open {
                    let message = format!("other users of this machine can read {name}");
                    DoctorFinding::odd("data", message, format!("`chmod 700 {name}`"))
                } else {
                    DoctorFinding::well("data", name)
                };
                vec![finding, clock(at)]
            }
        },
    }
}

/// Writes and removes a file. Returns its modification time.
fn probe_write(folder: &Path) -> std::io::Result<Option<SystemTime>> {
    let path = folder.join(format!(".doctor.{}", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let at = file.metadata().and_then(|about| about.modified()).ok();
    fs::remove_file(&path)?;
    Ok(at)
}

fn clock(disk: Option<SystemTime>) -> DoctorFinding {
    let now = SystemClock.wall();
    let advice = "set the clock of this machine; keys, tokens and the audit trail depend on it";
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    if since < EARLIEST_PLAUSIBLE_TIME {
        return DoctorFinding::bad("clock", "it is before the build date of this program", advice);
    }
    let off = disk.map(|disk| {
        now.duration_since(disk).or_else(|_| disk.duration_since(now)).unwrap_or_default()
    });
    match off {
        Some(off) if off > DRIFT => {
            let off = span(off.as_secs_f64() * 1_000.0);
            DoctorFinding::odd(
                "clock",
                format!("it differs from the disk's clock by {off}"),
                advice,
            )
        }
        _ => DoctorFinding::well("clock", tollgate_core::date::format_rfc3339(now)),
    }
}

/// The worker that runs the programs of models.
pub(super) fn worker(config: &Config) -> DoctorFinding {
    let path = &config.settings.code.worker;
    let name = path.display().to_string();
    let advice = "build it with `make build`, or set its path in `code.worker`; only code mode \
                  needs it";
    match fs::metadata(path) {
        Ok(about) if about.is_file() && about.permissions().mode() & 0o111 != 0 => {
            DoctorFinding::well("worker", name)
        }
        Ok(_) => DoctorFinding::odd("worker", format!("{name} is not executable"), advice),
        Err(why) => DoctorFinding::odd("worker", format!("{name}: {why}"), advice),
    }
}
