//! The environment of a child: a few harmless variables of ours, and those that the config
//! declares. Nothing else is inherited: our own environment contains secrets.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::SpawnError;
use crate::settings::StdioCommand;

/// Variables for paths and locale.
const INHERITED_VARIABLES: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TERM",
    "TZ",
];

pub(super) type ChildEnvironment = BTreeMap<OsString, OsString>;

pub(super) fn of(command: &StdioCommand) -> Result<ChildEnvironment, SpawnError> {
    let inherited =
        INHERITED_VARIABLES.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    let mut all: ChildEnvironment = inherited.collect();
    for (name, value) in &command.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.reveal().contains('\0') {
            return Err(SpawnError::Variable { name: name.clone() });
        }
        all.insert(name.into(), value.reveal().into());
    }
    Ok(all)
}
