//! By what a client's lists are compared with those that it saw last.

use tollgate_core::view::{ListKind, View};

/// What the lists of a view looked like: tools, prompts, resources with their templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListDigests {
    pub(crate) tools: [u8; 16],
    pub(crate) prompts: [u8; 16],
    pub(crate) resources: [[u8; 16]; 2],
}

impl ListDigests {
    pub(crate) fn of(view: &View) -> Self {
        Self {
            tools: view.digest(ListKind::Tools),
            prompts: view.digest(ListKind::Prompts),
            resources: [view.digest(ListKind::Resources), view.digest(ListKind::Templates)],
        }
    }
}
