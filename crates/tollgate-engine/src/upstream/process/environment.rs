//! The environment of a child: a few harmless variables of ours, and what the config declares.
//! Nothing else of ours gets in: our own environment holds secrets.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::SpawnError;
use crate::settings::Command;

/// What a program needs to find its files and speak its language.
const INHERITED: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TERM",
    "TZ",
];

pub(super) type Environment = BTreeMap<OsString, OsString>;

pub(super) fn of(command: &Command) -> Result<Environment, SpawnError> {
    let inherited =
        INHERITED.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    let mut all: Environment = inherited.collect();
    for (name, value) in &command.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.reveal().contains('\0') {
            return Err(SpawnError::Variable { name: name.clone() });
        }
        all.insert(name.into(), value.reveal().into());
    }
    Ok(all)
}
