//! The lists of a view as text, cut into pages. Written on first use, then kept.

use std::sync::OnceLock;

use crate::digest::{Sum, hex};

/// Items on one page.
const PAGE: usize = 1_000;

/// The four lists of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// Which protocol era the items are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    Modern,
    Legacy,
}

/// One page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// A JSON array.
    pub items: &'a str,
    /// The cursor of the page after this one.
    pub next: Option<&'a str>,
}

/// The cursor is not one of this list as it stands now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this list, or the list has changed; start again without it")]
pub struct BadCursor;

#[derive(Debug, Default)]
pub(super) struct Pages {
    written: [[OnceLock<Vec<Written>>; 2]; 4],
    digests: [OnceLock<[u8; 16]>; 4],
}

#[derive(Debug)]
pub(super) struct Written {
    items: Box<str>,
    /// Position and a digest of all items: one of another list or another day does not fit.
    next: Option<Box<str>>,
}

impl Pages {
    /// `items` is asked for at most once per list and form.
    pub(super) fn of<'i>(
        &self,
        list: List,
        form: Form,
        items: impl FnOnce() -> Vec<&'i str>,
    ) -> &[Written] {
        let written = &self.written[list as usize][form as usize];
        written.get_or_init(|| write(list, form, &items()))
    }

    pub(super) fn digest<'i>(&self, list: List, items: impl FnOnce() -> Vec<&'i str>) -> [u8; 16] {
        *self.digests[list as usize].get_or_init(|| digest(list, Form::Modern, &items()))
    }
}

/// The page that `cursor` stands for; without one, the first.
pub(super) fn select<'p>(
    pages: &'p [Written],
    cursor: Option<&str>,
) -> Result<Page<'p>, BadCursor> {
    let at = match cursor {
        None => 0,
        Some(cursor) => {
            1 + pages.iter().position(|it| it.next.as_deref() == Some(cursor)).ok_or(BadCursor)?
        }
    };
    let page = pages.get(at).ok_or(BadCursor)?;
    Ok(Page { items: &page.items, next: page.next.as_deref() })
}

fn write(list: List, form: Form, items: &[&str]) -> Vec<Written> {
    if items.len() <= PAGE {
        return vec![Written { items: array(items), next: None }];
    }
    let digest = hex(&digest(list, form, items)[..8]);
    let last = items.chunks(PAGE).count() - 1;
    items
        .chunks(PAGE)
        .enumerate()
        .map(|(at, chunk)| {
            let next = (at < last).then(|| format!("{}-{digest}", (at + 1) * PAGE).into());
            Written { items: array(chunk), next }
        })
        .collect()
}

fn array(items: &[&str]) -> Box<str> {
    format!("[{}]", items.join(",")).into_boxed_str()
}

fn digest(list: List, form: Form, items: &[&str]) -> [u8; 16] {
    let start = Sum::default().with([list as u8, form as u8]);
    let add = |sum: Sum, item: &&str| sum.with(item.len().to_le_bytes()).with(item);
    let whole = items.iter().fold(start, add).finish();
    std::array::from_fn(|at| whole[at])
}
