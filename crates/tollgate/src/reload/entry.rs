//! One server of the config: as in the file, and as it would run. No side effects. Blocks.

use tollgate_config::edit;
use tollgate_config::file::ConfigVersion;
use tollgate_config::secret_masking::SecretMasks;
use tollgate_config::{ConfigReport, DEFAULT};
use tollgate_engine::settings::Server;
use tollgate_server::config_service::{ProposedServer, ServerConfigEntry};

use super::change::{self, ConfigChangeError};
use super::file_source::ConfigFileSource;

/// `None`: the config has no server of this name.
pub(super) fn show(
    origin: &ConfigFileSource,
    masks: &SecretMasks,
    name: &str,
) -> Result<Option<ServerConfigEntry>, ConfigChangeError> {
    let shown = change::show(origin, masks)?;
    let entry = edit::entry(&shown.values, name).map(|keys| ServerConfigEntry {
        yaml: edit::entry_source(&shown.text, name, &keys),
        keys,
        version: shown.version,
        writable: shown.writable,
    });
    Ok(entry)
}

/// The server as if it were in the config.
pub(super) fn prove(
    origin: &ConfigFileSource,
    masks: &SecretMasks,
    proposed: ProposedServer,
) -> Result<Server, ConfigChangeError> {
    let ProposedServer { name, mut server } = proposed;
    let old = origin.snapshot()?.map_or_else(|| DEFAULT.to_owned(), |it| it.text);
    masks.uncover_keys(origin.path(), &mut server, &old)?;
    let text = edit::document(&name, server);
    let candidate = origin.candidate(&text, ConfigVersion::of(text.as_bytes()))?;
    let found = candidate.config.settings.servers.into_iter().find(|it| it.id.as_str() == name);
    found.ok_or_else(|| ConfigReport::about("server", format!("`{name}` is not a server")).into())
}
