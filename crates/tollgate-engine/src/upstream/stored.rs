//! The last listing of a lazy server, on disk: so that its tools show before it runs.
//! A file that does not fit the config any more, or cannot be read, counts as none.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use tollgate_core::catalog::Listing;
use tollgate_core::id::ServerId;
use tollgate_core::json::{self, Object};

use super::listing::{PARTS, items, items_mut};
use crate::settings::Transport;

const LARGEST_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone)]
pub(super) struct Stored {
    path: PathBuf,
    /// Of how the server is reached: another command or URL may offer other tools.
    fingerprint: String,
}

impl Stored {
    pub(super) fn new(data: &Path, server: &ServerId, transport: &Transport) -> Self {
        Self { path: path(data, server), fingerprint: fingerprint(transport) }
    }

    pub(super) fn load(&self) -> Option<Listing> {
        if fs::metadata(&self.path).ok()?.len() > LARGEST_BYTES {
            return None;
        }
        let text = fs::read_to_string(&self.path).ok()?;
        let object = Object::parse(&text).ok()?;
        if object.string("server")? != self.fingerprint {
            return None;
        }
        let mut listing = Listing::default();
        for part in PARTS {
            let items: Vec<Box<RawValue>> =
                serde_json::from_str(object.get(part.method())?.get()).ok()?;
            *items_mut(&mut listing, part) = items;
        }
        Some(listing)
    }

    /// Whole or not at all.
    pub(super) fn save(&self, listing: &Listing) -> io::Result<()> {
        let mut object = Object::new();
        object.set_string("server", &self.fingerprint);
        for part in PARTS {
            let items = serde_json::to_string(items(listing, part))?;
            object.set(part.method(), json::raw(items));
        }
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let unfinished = self.path.with_extension("json.new");
        let mut options = fs::OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(object.to_text().as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, &self.path)
    }
}

fn path(data: &Path, server: &ServerId) -> PathBuf {
    data.join("listings").join(format!("{server}.json"))
}

/// Only ever compared with itself; what it is made of may hold secrets, so it is hashed.
fn fingerprint(transport: &Transport) -> String {
    let mut hasher = DefaultHasher::new();
    match transport {
        Transport::Stdio(command) => {
            ("stdio", &command.words, &command.cwd).hash(&mut hasher);
            for (name, value) in &command.env {
                (name, value.reveal()).hash(&mut hasher);
            }
        }
        Transport::StreamableHttp(endpoint) => ("http", &endpoint.url).hash(&mut hasher),
        Transport::Sse(endpoint) => ("sse", &endpoint.url).hash(&mut hasher),
    }
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests;
