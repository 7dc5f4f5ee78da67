//! Disk cache of a lazy server's last listing, so that its tools are known before it runs. A file
//! that no longer matches the config, or cannot be read, is ignored.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ring::digest;
use serde_json::value::RawValue;
use tollgate_core::catalog::ServerListing;
use tollgate_core::id::ServerId;
use tollgate_core::json::{self, Object};

use super::listing::{PARTS, items, items_mut};
use crate::disk;
use crate::settings::ServerTransport;

const LARGEST_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone)]
pub(super) struct ListingCache {
    path: PathBuf,
    /// Hash of how the server is reached: another command or URL may offer other tools.
    fingerprint: String,
}

impl ListingCache {
    pub(super) fn new(data: &Path, server: &ServerId, transport: &ServerTransport) -> Self {
        Self { path: path(data, server), fingerprint: fingerprint(transport) }
    }

    pub(super) fn load(&self) -> Option<ServerListing> {
        if fs::metadata(&self.path).ok()?.len() > LARGEST_BYTES {
            return None;
        }
        let text = fs::read_to_string(&self.path).ok()?;
        let object = Object::parse(&text).ok()?;
        if object.string("server")? != self.fingerprint {
            return None;
        }
        let mut listing = ServerListing::default();
        for part in PARTS {
            let items: Vec<Box<RawValue>> =
                serde_json::from_str(object.get(part.method())?.get()).ok()?;
            *items_mut(&mut listing, part) = items;
        }
        Some(listing)
    }

    /// Atomic.
    pub(super) fn save(&self, listing: &ServerListing) -> io::Result<()> {
        let mut object = Object::new();
        object.set_string("server", &self.fingerprint);
        for part in PARTS {
            let items = serde_json::to_string(items(listing, part))?;
            object.set(part.method(), json::raw(items));
        }
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        disk::write_beside(&self.path, &object.to_text())
    }
}

fn path(data: &Path, server: &ServerId) -> PathBuf {
    data.join("listings").join(format!("{server}.json"))
}

/// Only compared for equality; hashed, because its input may contain secrets.
fn fingerprint(transport: &ServerTransport) -> String {
    let mut parts: Vec<&[u8]> = Vec::new();
    match transport {
        ServerTransport::Stdio(command) => {
            parts.push(b"stdio");
            parts.extend(command.words.iter().map(String::as_bytes));
            parts.push(b"in");
            parts.extend(command.cwd.iter().map(|cwd| cwd.as_os_str().as_bytes()));
            parts.push(b"with");
            for (name, value) in &command.env {
                parts.extend([name.as_bytes(), value.reveal().as_bytes()]);
            }
        }
        ServerTransport::StreamableHttp(endpoint) => {
            parts.extend([b"http", endpoint.url.as_bytes()])
        }
        ServerTransport::Sse(endpoint) => parts.extend([b"sse", endpoint.url.as_bytes()]),
    }
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        // With its length, so that different lists of parts never have the same encoding.
        context.update(&part.len().to_le_bytes());
        context.update(part);
    }
    context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
