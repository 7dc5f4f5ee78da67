//! Links to pictures: each opens one file for a short time, without a key, because an `<img>` sends
//! none. Whoever has the link has the file, so its id cannot be guessed, and nothing lists the ids.
//!
//! A link ends before its time when the credentials of its owner are revoked. Bounded in number,
//! for each owner and in all; the files stay where they are, and pictures of tools in the result
//! store, which is bounded in bytes.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tollgate_core::call::ResultHandle;
use tollgate_core::turn::{Actor, Principal};
use tollgate_mcp::answer_budget;
use tollgate_mcp::offload::offload_if_large;

use super::files::SandboxFolder;
use super::image_format::ImageFormat;
use super::result_pictures;
use crate::clock::{Clock, SystemClock};
use crate::random::{RandomSource, SystemRandom};
use crate::results::{ResultLookup, ResultStore, StoredResult};

/// How long a link opens its file.
pub const LINK_LIFE: Duration = Duration::from_secs(15 * 60);
/// Links of all owners together.
const MAX_LINKS: usize = 4_096;
/// Links of one owner; the oldest gives way to another.
const MAX_LINKS_OF_OWNER: usize = 128;

/// The id of a link: 256 random bits, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileLink(String);

impl FileLink {
    /// Where the gateway serves it.
    pub fn path(&self) -> String {
        format!("/v1/files/{}", self.0)
    }
}

/// The file behind a link.
#[derive(Debug)]
pub enum LinkedFile {
    /// No such link, expired, revoked, or its file is gone or no picture any more.
    Unknown,
    /// The picture is still being made.
    Pending,
    /// Other answers use the memory that there is for answers.
    Busy,
    Ready {
        media_type: &'static str,
        content: Bytes,
    },
}

pub struct FileLinks {
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    links: Mutex<HashMap<FileLink, LinkEntry>>,
}

struct LinkEntry {
    owner: Actor,
    since: Instant,
    target: LinkTarget,
}

#[derive(Clone)]
enum LinkTarget {
    Pending,
    File {
        folder: SandboxFolder,
        path: String,
        bytes: usize,
    },
    /// An item of a stored result of the link's owner.
    Result {
        handle: ResultHandle,
        item: usize,
    },
}

impl Default for FileLinks {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(SystemRandom))
    }
}

impl FileLinks {
    pub(crate) fn new(clock: Arc<dyn Clock>, random: Arc<dyn RandomSource>) -> Self {
        Self { clock, random, links: Mutex::default() }
    }

    /// A link to a picture that is being made. `None`: there are too many links.
    pub(crate) fn issue(&self, owner: &Actor) -> Option<FileLink> {
        self.issue_for(owner, LinkTarget::Pending)
    }

    /// A link to a picture in a stored result of the owner, for as long as the result is stored.
    pub(crate) fn issue_for_result(
        &self,
        owner: &Actor,
        handle: ResultHandle,
        item: usize,
    ) -> Option<FileLink> {
        self.issue_for(owner, LinkTarget::Result { handle, item })
    }

    fn issue_for(&self, owner: &Actor, target: LinkTarget) -> Option<FileLink> {
        let since = self.clock.now();
        let mut links = self.links.lock();
        links.retain(|_, entry| entry.is_open(since));
        make_room_for(&mut links, &owner.principal);
        if links.len() >= MAX_LINKS {
            return None;
        }
        let mut id = String::new();
        for _ in 0..2 {
            // Writing to a string cannot fail.
            let _ = write!(id, "{:032x}", self.random.bits());
        }
        let link = FileLink(id);
        let owner = owner.clone();
        links.insert(link.clone(), LinkEntry { owner, since, target });
        Some(link)
    }

    /// The picture is there: from now on the link opens this file of at most `bytes`.
    pub(crate) fn complete(
        &self,
        link: &FileLink,
        folder: SandboxFolder,
        path: String,
        bytes: usize,
    ) {
        if let Some(entry) = self.links.lock().get_mut(link) {
            entry.target = LinkTarget::File { folder, path, bytes };
            entry.since = self.clock.now();
        }
    }

    /// The picture will not be there.
    pub(crate) fn withdraw(&self, link: &FileLink) {
        self.links.lock().remove(link);
    }

    /// Whatever is not an id of a link is unknown. `results` has the pictures of tools.
    pub(crate) async fn open(&self, id: &str, results: &ResultStore) -> LinkedFile {
        let found = {
            let links = self.links.lock();
            let entry = links.get(&FileLink(id.to_owned()));
            let entry = entry.filter(|entry| entry.is_open(self.clock.now()));
            entry.map(|entry| FoundLink {
                owner: entry.owner.principal.clone(),
                target: entry.target.clone(),
            })
        };
        let Some(FoundLink { owner, target }) = found else { return LinkedFile::Unknown };
        match target {
            LinkTarget::Pending => LinkedFile::Pending,
            LinkTarget::File { folder, path, bytes } => read(&folder, &path, bytes).await,
            LinkTarget::Result { handle, item } => match results.read(&owner, handle) {
                ResultLookup::Ready(stored) => read_item(stored, item).await,
                ResultLookup::Unknown | ResultLookup::Pending { .. } => LinkedFile::Unknown,
            },
        }
    }
}

struct FoundLink {
    owner: Principal,
    target: LinkTarget,
}

impl LinkEntry {
    fn is_open(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < LINK_LIFE
            && self.owner.lease.revocation().is_none()
    }
}

fn make_room_for(links: &mut HashMap<FileLink, LinkEntry>, owner: &Principal) {
    let theirs = || links.iter().filter(|(_, entry)| entry.owner.principal == *owner);
    if theirs().count() >= MAX_LINKS_OF_OWNER {
        let oldest = theirs().min_by_key(|(_, entry)| entry.since).map(|(link, _)| link.clone());
        oldest.map(|link| links.remove(&link));
    }
}

/// The file may have been replaced since: only a picture is served, whatever its name is.
async fn read(folder: &SandboxFolder, path: &str, bytes: usize) -> LinkedFile {
    let Ok(permit) = answer_budget::try_reserve(bytes) else { return LinkedFile::Busy };
    match folder.load(path, bytes).await {
        Ok(content) => match ImageFormat::of(&content) {
            Some(format) => {
                let content = permit.attach_to(Bytes::from(content));
                LinkedFile::Ready { media_type: format.media_type(), content }
            }
            None => LinkedFile::Unknown,
        },
        Err(error) => {
            tracing::debug!(path, reason = error.message, "a linked file cannot be read");
            LinkedFile::Unknown
        }
    }
}

/// The picture among the items of a result.
async fn read_item(stored: Arc<StoredResult>, item: usize) -> LinkedFile {
    let length = stored.outcome.result.get().len();
    let Ok(permit) = answer_budget::try_reserve(length) else { return LinkedFile::Busy };
    let decode = move || result_pictures::decode(&stored.outcome.result, item);
    let content = offload_if_large(length, decode).await;
    match content.as_deref().and_then(ImageFormat::of).zip(content) {
        Some((format, content)) => {
            let content = permit.attach_to(Bytes::from(content));
            LinkedFile::Ready { media_type: format.media_type(), content }
        }
        None => LinkedFile::Unknown,
    }
}

#[cfg(test)]
mod tests;
