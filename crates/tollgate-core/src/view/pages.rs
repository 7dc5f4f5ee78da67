//! The lists of a view, rendered into pages. Rendered on first use, then cached.

use std::sync::OnceLock;

use crate::digest::{DigestBuilder, hex};

/// Items per page.
const PAGE: usize = 1_000;

/// The four lists of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// The protocol era that the items are rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListEra {
    Modern,
    Legacy,
}

/// One page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// A JSON array.
    pub items: &'a str,
    /// The cursor of the next page.
    pub next: Option<&'a str>,
}

/// The cursor is not valid for the current list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this list, or the list has changed; start again without it")]
pub struct InvalidCursorError;

#[derive(Debug, Default)]
pub(super) struct ListPages {
    written: [[OnceLock<Vec<RenderedPage>>; 2]; 4],
    digests: [OnceLock<[u8; 16]>; 4],
}

#[derive(Debug)]
pub(super) struct RenderedPage {
    items: Box<str>,
    /// Position and a digest of all items, so that cursors of another list or version are rejected.
    next: Option<Box<str>>,
}

impl ListPages {
    /// `items` is called at most once per list and form.
    pub(super) fn of<'i>(
        &self,
        list: ListKind,
        form: ListEra,
        items: impl FnOnce() -> Vec<&'i str>,
    ) -> &[RenderedPage] {
        let written = &self.written[list as usize][form as usize];
        written.get_or_init(|| write(list, form, &items()))
    }

    pub(super) fn digest<'i>(
        &self,
        list: ListKind,
        items: impl FnOnce() -> Vec<&'i str>,
    ) -> [u8; 16] {
        *self.digests[list as usize].get_or_init(|| digest(list, ListEra::Modern, &items()))
    }
}

/// The page of `cursor`; without one, the first.
pub(super) fn select<'p>(
    pages: &'p [RenderedPage],
    cursor: Option<&str>,
) -> Result<Page<'p>, InvalidCursorError> {
    let at = match cursor {
        None => 0,
        Some(cursor) => {
            1 + pages
                .iter()
                .position(|it| it.next.as_deref() == Some(cursor))
                .ok_or(InvalidCursorError)?
        }
    };
    let page = pages.get(at).ok_or(InvalidCursorError)?;
    Ok(Page { items: &page.items, next: page.next.as_deref() })
}

fn write(list: ListKind, form: ListEra, items: &[&str]) -> Vec<RenderedPage> {
    if items.len() <= PAGE {
        return vec![RenderedPage { items: array(items), next: None }];
    }
    let digest = hex(&digest(list, form, items)[..8]);
    let last = items.chunks(PAGE).count() - 1;
    items
        .chunks(PAGE)
        .enumerate()
        .map(|(at, chunk)| {
            let next = (at < last).then(|| format!("{}-{digest}", (at + 1) * PAGE).into());
            RenderedPage { items: array(chunk), next }
        })
        .collect()
}

fn array(items: &[&str]) -> Box<str> {
    format!("[{}]", items.join(",")).into_boxed_str()
}

fn digest(list: ListKind, form: ListEra, items: &[&str]) -> [u8; 16] {
    let start = DigestBuilder::default().with([list as u8, form as u8]);
    let add = |sum: DigestBuilder, item: &&str| sum.with(item.len().to_le_bytes()).with(item);
    let whole = items.iter().fold(start, add).finish();
    std::array::from_fn(|at| whole[at])
}
