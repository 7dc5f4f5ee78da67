//! Links to pictures: those of `generate_image`, and those in results of any tool for consumers that
//! cannot show them.

use std::sync::Arc;

use tollgate_core::call::{Outcome, ResultExtent, ResultHandle};
use tollgate_core::shaping::ResultCaps;
use tollgate_core::turn::Turn;
use tollgate_mcp::offload::offload_if_large;

use super::Gate;
use crate::builtin::file_links::LinkedFile;
use crate::builtin::result_pictures::{self, ResultPicture};
use crate::results::{RESULT_LIFE, ResultLookup, StoredResult};

/// Pictures of one result that get a link.
const MAX_PICTURES: usize = 8;

/// Where a picture of a result can be seen without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureLink {
    /// Below the address of the gateway.
    pub path: String,
    pub media_type: &'static str,
    pub bytes: usize,
    /// For how long.
    pub seconds: u64,
}

/// Whether a consumer gets the pictures that are in its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureDelivery {
    Shown,
    LeftOut,
}

/// The result that an outcome is a part of.
enum WholeResult {
    Itself,
    Stored(Arc<StoredResult>),
    Gone,
}

impl Gate {
    /// The file behind a link, for whoever has the link.
    pub async fn open_file(&self, id: &str) -> LinkedFile {
        self.links.open(id, &self.results).await
    }

    /// Links to the pictures of a result that its consumer does not get: the result is stored for
    /// them. None, if it cannot be. Not on a worker, if the result may be large.
    pub fn link_pictures(
        &self,
        turn: &Turn,
        name: &str,
        outcome: &Outcome,
        delivery: PictureDelivery,
    ) -> Vec<PictureLink> {
        if delivery == PictureDelivery::Shown && outcome.extent == ResultExtent::Whole {
            return Vec::new();
        }
        let stored = self.find_whole(turn, outcome);
        let whole = match &stored {
            WholeResult::Itself => outcome,
            WholeResult::Stored(stored) => &stored.outcome,
            WholeResult::Gone => return Vec::new(),
        };
        let mut pictures = result_pictures::find(&whole.result);
        if delivery == PictureDelivery::Shown {
            remove_shown(&mut pictures, &result_pictures::find(&outcome.result));
        }
        self.issue_picture_links(turn, name, whole, pictures)
    }

    /// The same for a consumer that is shown pictures. A large result is looked through on the threads
    /// for large work.
    pub async fn link_left_out_pictures(
        &self,
        turn: &Turn,
        name: &str,
        outcome: &Outcome,
    ) -> Vec<PictureLink> {
        if outcome.extent == ResultExtent::Whole {
            return Vec::new();
        }
        let WholeResult::Stored(stored) = self.find_whole(turn, outcome) else {
            return self.link_pictures(turn, name, outcome, PictureDelivery::Shown);
        };
        let whole = Arc::clone(&stored);
        let size = stored.outcome.result.get().len();
        let found = offload_if_large(size, move || result_pictures::find(&whole.outcome.result));
        let mut pictures = found.await;
        remove_shown(&mut pictures, &result_pictures::find(&outcome.result));
        self.issue_picture_links(turn, name, &stored.outcome, pictures)
    }

    fn find_whole(&self, turn: &Turn, outcome: &Outcome) -> WholeResult {
        let Some(handle) = outcome.handle else { return WholeResult::Itself };
        match self.results.read(&turn.principal, handle) {
            ResultLookup::Ready(stored) => WholeResult::Stored(stored),
            ResultLookup::Pending { .. } | ResultLookup::Unknown => WholeResult::Gone,
        }
    }

    fn issue_picture_links(
        &self,
        turn: &Turn,
        name: &str,
        whole: &Outcome,
        mut pictures: Vec<ResultPicture>,
    ) -> Vec<PictureLink> {
        pictures.truncate(MAX_PICTURES);
        if pictures.is_empty() {
            return Vec::new();
        }
        let Some(handle) = whole.handle.or_else(|| self.store_whole(turn, name, whole)) else {
            return Vec::new();
        };
        let owner = turn.actor();
        let link = |picture: ResultPicture| {
            let link = self.links.issue_for_result(&owner, handle, picture.item)?;
            Some(PictureLink {
                path: link.path(),
                media_type: picture.media_type,
                bytes: picture.bytes,
                seconds: RESULT_LIFE.as_secs(),
            })
        };
        pictures.into_iter().filter_map(link).collect()
    }

    fn store_whole(&self, turn: &Turn, name: &str, whole: &Outcome) -> Option<ResultHandle> {
        let handle = self.results.spare(whole.result.get().len())?;
        let outcome = Outcome { handle: Some(handle), ..whole.clone() };
        let tool = name.to_owned();
        let page_bytes = ResultCaps::mcp().page_bytes;
        self.results.keep(&turn.actor(), StoredResult { tool, outcome, page_bytes, raw: None });
        Some(handle)
    }
}

/// Removes the pictures that a shortened result still has. Their places there are others.
fn remove_shown(pictures: &mut Vec<ResultPicture>, shown: &[ResultPicture]) {
    for shown in shown {
        let is_same =
            |it: &ResultPicture| (it.media_type, it.bytes) == (shown.media_type, shown.bytes);
        if let Some(at) = pictures.iter().position(is_same) {
            pictures.remove(at);
        }
    }
}
