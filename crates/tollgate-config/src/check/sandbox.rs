//! Sandbox of a stdio server's process. Whether the kernel supports it is checked at the start.

use std::path::PathBuf;

use tollgate_engine::settings::{
    GatewayFiles, NetworkAccess, Privileges, ProcessLimits, ServerSandbox,
};

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;
use super::absolute;

pub(super) fn sandbox(server: &SectionFields, problems: &mut Problems) -> ServerSandbox {
    if server.is_word("sandbox") {
        let path = server.path("sandbox");
        problems
            .warning(
                server.place("sandbox"),
                &path,
                "`sandbox: none` gives the server access to the gateway's files",
            )
            .help(
                "it can read the config, its secrets and the token in `admin.token`; remove it if \
                 possible",
            );
        return ServerSandbox::none();
    }
    let Some(fields) = server.section("sandbox") else { return ServerSandbox::default() };
    let sandbox = ServerSandbox {
        limits: limits(fields),
        read: paths(fields, "read", problems),
        write: paths(fields, "write", problems),
        network: match fields.text("network").map(|text| text.value) {
            Some("deny") => NetworkAccess::Deny,
            _ => NetworkAccess::Allow,
        },
        privileges: match fields.flag("no_new_privileges") {
            Some(false) => Privileges::AsFound,
            Some(true) | None => Privileges::Frozen,
        },
        gateway_files: GatewayFiles::Closed,
    };
    let closes = sandbox.has_file_rules() || sandbox.network == NetworkAccess::Deny;
    if closes && sandbox.privileges == Privileges::AsFound {
        let key = "no_new_privileges";
        problems
            .error(
                fields.place(key),
                &fields.path(key),
                "`read`, `write` and `network: deny` need `no_new_privileges`",
            )
            .help("a program that gains privileges could bypass them; remove it");
    }
    sandbox
}

fn limits(fields: &SectionFields) -> ProcessLimits {
    let usual = ProcessLimits::default();
    let limit = |key: &str, unit: u64, usual: Option<u64>| match fields.whole(key) {
        None => usual,
        Some(number) => (number.value > 0).then(|| number.value.saturating_mul(unit)),
    };
    ProcessLimits {
        memory_bytes: limit("memory_mb", 1 << 20, usual.memory_bytes),
        cpu_seconds: limit("cpu_s", 1, usual.cpu_seconds),
        open_files: limit("open_files", 1, usual.open_files),
        processes: limit("processes", 1, usual.processes),
        file_bytes: limit("file_size_mb", 1 << 20, usual.file_bytes),
    }
}

fn paths(fields: &SectionFields, key: &str, problems: &mut Problems) -> Vec<PathBuf> {
    let path = fields.path(key);
    let typed = fields.texts(key).into_iter();
    typed.filter_map(|text| absolute(text, &path, problems)).collect()
}
