//! File rules by Landlock, and with them the wall between a server and the processes beside it:
//! who is in a Landlock domain cannot look into a process outside, nor send it signals. Used by
//! the launcher only.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use super::order::{Files, Order};
use super::{Failure, note};
use crate::settings::Network;

/// The version of the interface that the rules are written for; older kernels keep fewer of them.
const FILES: ABI = ABI::V5;
const NETWORK: ABI = ABI::V4;
const NEIGHBOURS: ABI = ABI::V6;

/// What programs are made of.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/// What programs look up: names, certificates, the time, and how much machine there is. Of other
/// processes `/proc` tells a member of a Landlock domain only what `ps` shows.
const LOOKED_UP: &[&str] = &[
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

/// What file rules leave open in any case.
pub(crate) fn always_open() -> Vec<&'static Path> {
    SYSTEM.iter().chain(LOOKED_UP).map(Path::new).collect()
}

pub(super) fn close(order: &Order) -> Result<(), Failure> {
    let mut ruleset = Ruleset::default().scope(Scope::Signal)?;
    if order.network == Network::Deny {
        ruleset = ruleset
            .scope(Scope::AbstractUnixSocket)?
            .handle_access(AccessNet::from_all(NETWORK))?;
    }
    if order.files.is_some() {
        ruleset = ruleset.handle_access(AccessFs::from_all(FILES))?;
    }
    let mut ruleset = ruleset.create()?;
    if let Some(files) = &order.files {
        ruleset = opened(ruleset, files)?;
    }
    let done = ruleset.restrict_self()?;
    match (done.ruleset, &order.files) {
        (RulesetStatus::FullyEnforced, _) => Ok(()),
        (RulesetStatus::NotEnforced, Some(_)) => Err(Failure::NoLandlock),
        (RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced, files) => {
            let missing = missing(done.landlock, files.as_ref());
            note(&format!("this kernel cannot keep the server from {}", missing.join(" and ")));
            Ok(())
        }
    }
}

/// What an older kernel leaves open, in words.
fn missing(status: LandlockStatus, files: Option<&Files>) -> Vec<&'static str> {
    let version = ABI::from(status);
    let mut missing = Vec::new();
    if version == ABI::Unsupported {
        missing.push("looking into other processes of this user (Linux 6.12)");
    }
    if version < NEIGHBOURS {
        missing.push("sending signals to other processes of this user (Linux 6.12)");
    }
    if files.is_some() && version < FILES {
        missing.push("controlling devices it can open (Linux 6.10)");
    }
    if files.is_some() && version < ABI::V3 {
        missing.push("emptying files it cannot write (Linux 6.2)");
    }
    missing
}

fn opened(ruleset: RulesetCreated, files: &Files) -> Result<RulesetCreated, Failure> {
    let look: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = look | AccessFs::Execute;
    let device = look | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let unwritten = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = look | (AccessFs::from_write(FILES) & !unwritten);
    let mut ruleset = ruleset;
    for (paths, access) in [(SYSTEM, run), (LOOKED_UP, look), (DEVICES, device)] {
        for path in paths.iter().map(Path::new).filter(|path| path.exists()) {
            ruleset = allowed(ruleset, path, access)?;
        }
    }
    for (paths, access) in [(&files.run, run), (&files.read, run), (&files.write, write)] {
        for path in paths {
            ruleset = allowed(ruleset, path, access)?;
        }
    }
    Ok(ruleset)
}

fn allowed(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Failure> {
    let unopened = |cause| Failure::Path { path: path.to_owned(), cause };
    let access = match path.metadata().map_err(unopened)?.is_dir() {
        true => access,
        false => access & AccessFs::from_file(FILES),
    };
    let opened = PathFd::new(path).map_err(|error| unopened(std::io::Error::other(error)))?;
    Ok(ruleset.add_rule(PathBeneath::new(opened, access))?)
}
