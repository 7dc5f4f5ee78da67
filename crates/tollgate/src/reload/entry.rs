//! One server of the config: as it stands in the file, and as it would run. Touches nothing. Blocks.

use tollgate_engine::settings::Server;
use tollgate_server::operator::{Entry, Wanted};

use super::change::{self, Trouble};
use super::origin::Origin;
use crate::config::edit;
use crate::config::file::Version;
use crate::config::masked::Masks;
use crate::config::{DEFAULT, Report};

/// `None`: the config has no server of this name.
pub(super) fn show(origin: &Origin, masks: &Masks, name: &str) -> Result<Option<Entry>, Trouble> {
    let shown = change::show(origin, masks)?;
    let entry = edit::entry(&shown.values, name).map(|keys| Entry {
        yaml: edit::typed(&shown.text, name, &keys),
        keys,
        version: shown.version,
        writable: shown.writable,
    });
    Ok(entry)
}

/// As if it were in the config, and nothing else.
pub(super) fn prove(origin: &Origin, masks: &Masks, wanted: Wanted) -> Result<Server, Trouble> {
    let Wanted { name, mut server } = wanted;
    let old = origin.snapshot()?.map_or_else(|| DEFAULT.to_owned(), |it| it.text);
    masks.uncover_keys(origin.path(), &mut server, &old)?;
    let text = edit::document(&name, server);
    let candidate = origin.candidate(&text, Version::of(text.as_bytes()))?;
    let found = candidate.config.settings.servers.into_iter().find(|it| it.id.as_str() == name);
    found.ok_or_else(|| Report::about("server", format!("`{name}` is no server")).into())
}
