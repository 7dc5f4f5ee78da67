//! Edit locks on entities. Reading an entity and replacing it are two steps. A concurrent change
//! between them is refused.

use std::collections::HashSet;

use http::StatusCode;
use parking_lot::Mutex;
use tollgate_core::id::AgentId;
use tollgate_core::memory::{EntityId, Namespace};

use crate::api_error::ApiError;

#[derive(Default)]
pub(crate) struct EntityEditLocks(Mutex<HashSet<EntityEditKey>>);

pub(crate) type EntityEditKey = (Namespace, Option<AgentId>, EntityId);

/// For as long as it is held nobody else changes the entity.
pub(crate) struct EntityEditGuard<'e> {
    edits: &'e EntityEditLocks,
    subject: EntityEditKey,
}

impl EntityEditLocks {
    pub(crate) fn begin(&self, subject: EntityEditKey) -> Result<EntityEditGuard<'_>, ApiError> {
        if !self.0.lock().insert(subject.clone()) {
            let detail =
                format!("`{}` is being changed by another request; read it again", subject.2);
            return Err(ApiError::with_detail(StatusCode::CONFLICT, "conflict", detail));
        }
        Ok(EntityEditGuard { edits: self, subject })
    }
}

impl Drop for EntityEditGuard<'_> {
    fn drop(&mut self) {
        self.edits.0.lock().remove(&self.subject);
    }
}
