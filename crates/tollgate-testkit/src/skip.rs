//! Tests that cannot run on this machine: counted and named, never passed over in silence.
//!
//! A test that needs more than an ordinary machine has asks first, and returns if that is missing:
//!
//! ```no_run
//! use tollgate_testkit::skip;
//!
//! # fn r_26_a_disk_that_is_really_full_loses_nothing() {
//! if !skip::require_tmpfs() {
//!     return;
//! }
//! # }
//! ```
//!
//! Where the need shows only later, `skip::report(Requirement::Cgroup, "why")` says the same. Each
//! writes a line `skipped: TEST: needs WHAT: WHY` to stderr and, under `make test`, to the file that
//! `scripts/test-report` counts. With `CI=true` that is an error unless `.ci/may-skip` lists WHAT.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::panic::Location;
use std::path::PathBuf;
use std::process::Command;

use crate::cgroup::MemoryCgroup;

/// What a test may need of the machine. The words are those of `.ci/may-skip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// To be the user root.
    Root,
    /// User, network and mount namespaces of one's own.
    Namespaces,
    /// To mount a small file system.
    Tmpfs,
    /// To mount a file as a disk with ext4.
    LoopDevice,
    /// A memory control group that can be made and limited, of version 1 or 2.
    Cgroup,
    /// A limit on open files that is high enough.
    OpenFiles,
    /// A program in the path.
    Program(&'static str),
}

impl fmt::Display for Requirement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Root => "root",
            Self::Namespaces => "namespaces",
            Self::Tmpfs => "tmpfs",
            Self::LoopDevice => "loop-device",
            Self::Cgroup => "cgroup",
            Self::OpenFiles => "open-files",
            Self::Program(name) => name,
        })
    }
}

/// Why this machine does not have what a test needs.
struct UnmetRequirementError(String);

impl UnmetRequirementError {
    fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

#[must_use]
#[track_caller]
pub fn require_root() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let reason =
        if is_root { Ok(()) } else { Err(UnmetRequirementError::new("this user is not root")) };
    report_unless_met(Requirement::Root, reason)
}

#[must_use]
#[track_caller]
pub fn require_namespaces() -> bool {
    let tried = try_command("unshare", &["--map-root-user", "--net", "--mount", "true"]);
    report_unless_met(Requirement::Namespaces, tried)
}

#[must_use]
#[track_caller]
pub fn require_tmpfs() -> bool {
    let script = "mount -t tmpfs -o size=1m none \"$(mktemp -d)\"";
    let words = ["--map-root-user", "--mount", "sh", "-c", script];
    report_unless_met(Requirement::Tmpfs, try_command("unshare", &words))
}

#[must_use]
#[track_caller]
pub fn require_loop_device() -> bool {
    report_unless_met(Requirement::LoopDevice, try_loop_device())
}

fn try_loop_device() -> Result<(), UnmetRequirementError> {
    let folder = tempfile::tempdir().map_err(UnmetRequirementError::new)?;
    let script = "cd \"$0\" && mkdir mounted && truncate -s 2m disk && mkfs.ext4 -q -F disk && \
                  mount -o loop disk mounted && umount mounted";
    let folder = folder.path().to_str();
    let folder = folder.ok_or_else(|| UnmetRequirementError::new("its name is not valid UTF-8"))?;
    try_command("unshare", &["--mount", "sh", "-c", script, folder])
}

#[must_use]
#[track_caller]
pub fn require_cgroup() -> bool {
    let tried = MemoryCgroup::new("tollgate-probe", 64 << 20);
    report_unless_met(Requirement::Cgroup, tried.map(drop).map_err(UnmetRequirementError::new))
}

#[must_use]
#[track_caller]
pub fn require_program(name: &'static str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|folder| folder.join(name).is_file());
    let reason =
        if found { Ok(()) } else { Err(UnmetRequirementError::new("it is not in the path")) };
    report_unless_met(Requirement::Program(name), reason)
}

/// Counts the running test as skipped.
#[track_caller]
pub fn report(requirement: Requirement, reason: &str) {
    let reason = reason.trim().replace('\n', " | ");
    let line = format!("skipped: {}: needs {requirement}: {reason}\n", test_name());
    let _ = std::io::stderr().write_all(line.as_bytes());
    // Fails here as well, for a runner that does not count: it hides what a passing test says.
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!is_ci || may_skip(requirement), "{line}.ci/may-skip does not list it");
    let Some(folder) = std::env::var_os("TOLLGATE_TEST_REPORT").map(PathBuf::from) else { return };
    let written = fs::create_dir_all(&folder).and_then(|()| {
        let mut file = OpenOptions::new().create(true).append(true).open(folder.join("skipped"))?;
        file.write_all(line.as_bytes())
    });
    written.unwrap_or_else(|error| panic!("a skipped test cannot be counted: {error}"));
}

fn may_skip(requirement: Requirement) -> bool {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let listed = fs::read_to_string(format!("{root}/.ci/may-skip")).unwrap_or_default();
    listed.lines().any(|line| line.trim() == requirement.to_string())
}

#[track_caller]
fn report_unless_met(requirement: Requirement, tried: Result<(), UnmetRequirementError>) -> bool {
    tried.map_err(|unmet| report(requirement, &unmet.0)).is_ok()
}

fn try_command(program: &str, words: &[&str]) -> Result<(), UnmetRequirementError> {
    let run = Command::new(program).args(words).output();
    let run = run.map_err(|error| UnmetRequirementError(format!("{program}: {error}")))?;
    if run.status.success() {
        Ok(())
    } else {
        Err(UnmetRequirementError::new(String::from_utf8_lossy(&run.stderr)))
    }
}

/// As the runner calls it: libtest names the thread, unless there is only one.
#[track_caller]
fn test_name() -> String {
    let by_nextest = std::env::var_os("NEXTEST_TEST_NAME").and_then(|it| it.into_string().ok());
    let thread = std::thread::current();
    let by_thread = thread.name().filter(|name| *name != "main").map(str::to_owned);
    let caller = Location::caller();
    by_nextest.or(by_thread).unwrap_or_else(|| format!("{}:{}", caller.file(), caller.line()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Requirement, report, require_program};

    const INSIDE: &str = "TOLLGATE_SKIP_INSIDE";

    /// In a child this is a test that cannot run; elsewhere it does nothing.
    #[test]
    fn inside() {
        if std::env::var_os(INSIDE).is_some() {
            assert!(require_program("sh"), "which is there");
            assert!(!require_program("no-such-program"));
            report(Requirement::Cgroup, "there is none\nat all\n");
        }
    }

    fn run_inside() -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "skip::tests::inside", "--nocapture"])
            .env_remove("CI")
            .env_remove("TOLLGATE_TEST_REPORT")
            .env(INSIDE, "yes")
            .env("NEXTEST_TEST_NAME", "a::test");
        command
    }

    /// Also where nobody counts, as under a bare `cargo nextest run`.
    #[test]
    fn what_may_not_be_skipped_fails_in_ci() {
        let run = run_inside().env("CI", "true").output().unwrap();
        assert!(!run.status.success());
        let text = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(text.contains(".ci/may-skip does not list it"), "{text}");
        assert!(super::may_skip(Requirement::Cgroup));
        assert!(!super::may_skip(Requirement::Program("no-such-program")));
    }

    #[test]
    fn what_cannot_run_is_named_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let run = run_inside().env("TOLLGATE_TEST_REPORT", folder.path()).output().unwrap();
        let expected = "skipped: a::test: needs no-such-program: it is not in the path\n\
             skipped: a::test: needs cgroup: there is none | at all\n";
        assert!(run.status.success());
        assert_eq!(std::fs::read_to_string(folder.path().join("skipped")).unwrap(), expected);
        assert!(String::from_utf8_lossy(&run.stderr).contains(expected));
    }
}
