//! Who is changing which entity just now. Reading what is there and writing something else in its
//! place are two steps; whoever comes between them is told.

use std::collections::HashSet;

use http::StatusCode;
use parking_lot::Mutex;
use tollgate_core::id::AgentId;
use tollgate_core::memory::{EntityId, Namespace};

use crate::problem::Problem;

#[derive(Default)]
pub(crate) struct Edits(Mutex<HashSet<Subject>>);

pub(super) type Subject = (Namespace, Option<AgentId>, EntityId);

/// For as long as it is held nobody else changes the entity.
pub(super) struct Edit<'e> {
    edits: &'e Edits,
    subject: Subject,
}

impl Edits {
    pub(super) fn begin(&self, subject: Subject) -> Result<Edit<'_>, Problem> {
        if !self.0.lock().insert(subject.clone()) {
            let detail = format!("`{}` is being changed by somebody else; look again", subject.2);
            return Err(Problem::told(StatusCode::CONFLICT, "conflict", detail));
        }
        Ok(Edit { edits: self, subject })
    }
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        self.edits.0.lock().remove(&self.subject);
    }
}
