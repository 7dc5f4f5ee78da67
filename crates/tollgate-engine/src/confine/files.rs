//! File rules (Landlock), which also isolate a server from other processes: a process in a Landlock
//! domain cannot inspect processes outside of it, nor send them signals.
//!
//! Used by the launcher only.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::thread::CapabilitySet;

use super::closed_files::{ClosedFiles, OpenedPath};
use super::launch_spec::{FileRules, LaunchSpec};
use super::{ConfineError, note, privileges};
use crate::settings::{NetworkAccess, Privileges};

/// The Landlock ABI that the rules are written for; older kernels enforce fewer of them.
const FILES: ABI = ABI::V5;
const NETWORK: ABI = ABI::V4;
const NEIGHBOURS: ABI = ABI::V6;

/// Programs and libraries.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/// Common system data: names, certificates, time zones, and the size of the machine. For other
/// processes, `/proc` shows a member of a Landlock domain only what `ps` shows.
const READABLE_PATHS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/proc",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Paths that file rules always leave open.
pub(crate) fn always_open() -> Vec<&'static Path> {
    SYSTEM.iter().chain(READABLE_PATHS).map(Path::new).collect()
}

/// Restricts this process. Returns a directory for temporary files if the usual one cannot be used.
pub(super) fn close(order: &LaunchSpec) -> Result<Option<PathBuf>, ConfineError> {
    let has_rules = order.files.is_some() || !order.closed.is_empty();
    if !has_rules && order.privileges == Privileges::AsFound {
        return Ok(None);
    }
    let mut closed = ClosedFiles::locate(&order.closed);
    if order.files.is_none() {
        closed = closed.and_disks();
    }
    let temporary = match order.files {
        None if has_rules => make_usual_directories(&closed),
        None | Some(_) => None,
    };
    let mut ruleset = Ruleset::default();
    if order.privileges == Privileges::Frozen {
        ruleset = ruleset.scope(Scope::Signal)?;
    }
    if order.network == NetworkAccess::Deny {
        ruleset = ruleset
            .scope(Scope::AbstractUnixSocket)?
            .handle_access(AccessNet::from_all(NETWORK))?;
    }
    if has_rules {
        ruleset = ruleset.handle_access(AccessFs::from_all(FILES))?;
    }
    let mut ruleset = ruleset.create()?;
    match &order.files {
        Some(files) => ruleset = allow_files(ruleset, files, &closed)?,
        None if has_rules => ruleset = all_but(ruleset, &closed)?,
        None => {}
    }
    if order.privileges == Privileges::AsFound {
        require_power_to_confine()?;
        ruleset = ruleset.no_new_privs(false);
    }
    let done = ruleset.restrict_self()?;
    if order.privileges == Privileges::AsFound {
        privileges::give_up_power_over_others().map_err(ConfineError::Privileges)?;
    }
    match (done.ruleset, &order.files) {
        (RulesetStatus::FullyEnforced, _) => {}
        (RulesetStatus::NotEnforced, Some(_)) => return Err(ConfineError::NoLandlock),
        (RulesetStatus::NotEnforced, None) if has_rules => return Err(ConfineError::NotClosed),
        (RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced, _) => {
            let missing = missing(done.landlock, has_rules);
            note(&format!("this kernel cannot prevent the server from {}", missing.join(" and ")));
        }
    }
    Ok(temporary)
}

/// Without `no_new_privs`, only this capability allows a process to confine itself.
fn require_power_to_confine() -> Result<(), ConfineError> {
    let own = rustix::thread::capabilities(None).map_err(ConfineError::Privileges)?;
    if own.effective.contains(CapabilitySet::SYS_ADMIN) {
        Ok(())
    } else {
        Err(ConfineError::MayGainPrivileges)
    }
}

/// Creates directories that programs need and could not create in a directory that leads to the
/// gateway's files. Returns a directory for temporary files if the usual one is affected.
fn make_usual_directories(closed: &ClosedFiles) -> Option<PathBuf> {
    closed.make_home_folders();
    if let Ok(directory) = std::env::current_dir()
        && closed.is_sealed(&directory)
    {
        note(&format!(
            "the server cannot create files directly in `{}`, because it contains files of the \
             gateway",
            directory.display()
        ));
    }
    closed.replace_temporary_directory().unwrap_or_else(|error| {
        note(&format!("the server has no directory for temporary files: {error}"));
        None
    })
}

/// All files except those of the gateway.
fn all_but(ruleset: RulesetCreated, closed: &ClosedFiles) -> Result<RulesetCreated, ConfineError> {
    let everything = AccessFs::from_all(FILES);
    let mut ruleset = Some(ruleset);
    closed.open_all_else(|found| {
        let (file, access) = match found {
            OpenedPath::LeadingDirectory(file) => (file, AccessFs::ReadDir.into()),
            OpenedPath::Directory(file) => (file, everything),
            OpenedPath::File(file) => (file, everything & AccessFs::from_file(FILES)),
        };
        let known = ruleset.take().expect("it is put back");
        ruleset = Some(known.add_rule(PathBeneath::new(file, access))?);
        Ok::<(), ConfineError>(())
    })?;
    Ok(ruleset.expect("it is put back"))
}

/// What an older kernel leaves open, as text.
fn missing(status: LandlockStatus, has_rules: bool) -> Vec<&'static str> {
    let version = ABI::from(status);
    let mut missing = Vec::new();
    if version == ABI::Unsupported {
        missing.push("inspecting other processes of this user (Linux 6.12)");
    }
    if version < NEIGHBOURS {
        missing.push("sending signals to other processes of this user (Linux 6.12)");
    }
    if has_rules && version < FILES {
        missing.push("controlling devices it can open (Linux 6.10)");
    }
    if has_rules && version < ABI::V3 {
        missing.push("truncating files it cannot write (Linux 6.2)");
    }
    missing
}

fn allow_files(
    ruleset: RulesetCreated,
    files: &FileRules,
    closed: &ClosedFiles,
) -> Result<RulesetCreated, ConfineError> {
    let look: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = look | AccessFs::Execute;
    let device = look | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let unwritten = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = look | (AccessFs::from_write(FILES) & !unwritten);
    let mut ruleset = ruleset;
    for (paths, access) in [(SYSTEM, run), (READABLE_PATHS, look), (DEVICES, device)] {
        for path in paths.iter().map(Path::new).filter(|path| path.exists()) {
            ruleset = allow_path(ruleset, path, access, closed)?;
        }
    }
    for (paths, access) in [(&files.run, run), (&files.read, run), (&files.write, write)] {
        for path in paths {
            ruleset = allow_path(ruleset, path, access, closed)?;
        }
    }
    Ok(ruleset)
}

/// Checks the opened file, not its name, which may refer to another file by now.
fn allow_path(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    closed: &ClosedFiles,
) -> Result<RulesetCreated, ConfineError> {
    let unopened = |cause: rustix::io::Errno| ConfineError::Path {
        path: path.to_owned(),
        cause: cause.into(),
    };
    let file = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(unopened)?;
    if closed.covers(&file) {
        return Err(ConfineError::Exposed { path: path.to_owned() });
    }
    let kind = FileType::from_raw_mode(fstat(&file).map_err(unopened)?.st_mode);
    let access = match kind {
        FileType::Directory => access,
        _ => access & AccessFs::from_file(FILES),
    };
    Ok(ruleset.add_rule(PathBeneath::new(file, access))?)
}
