//! The names that present servers request in this build, granted or not.

use std::collections::HashMap;

use crate::id::{ExposedName, ToolId};
use crate::names::NameKind;

#[derive(Debug, Default)]
pub(super) struct RequestedNames {
    names: HashMap<(NameKind, ToolId), ExposedName>,
}

pub(super) struct RequestedName<'n> {
    pub(super) kind: NameKind,
    pub(super) id: &'n ToolId,
    pub(super) exposed: &'n ExposedName,
}

impl RequestedNames {
    /// `false` if this tool has already requested the name.
    pub(super) fn note(&mut self, kind: NameKind, id: &ToolId, exposed: &ExposedName) -> bool {
        self.names.insert((kind, id.clone()), exposed.clone()).is_none()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = RequestedName<'_>> {
        self.names.iter().map(|((kind, id), exposed)| RequestedName { kind: *kind, id, exposed })
    }

    pub(super) fn is(&self, kind: NameKind, id: &ToolId, exposed: &ExposedName) -> bool {
        self.names.get(&(kind, id.clone())) == Some(exposed)
    }
}
