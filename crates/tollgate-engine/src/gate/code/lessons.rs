//! What the results of tools looked like, for those who write the next program. Only of tools that
//! do not say themselves what they return. A name in a result may be somebody's data: what one
//! principal's results taught, no other is shown.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tollgate_core::code::{Learned, Shape};
use tollgate_core::id::ToolId;
use tollgate_core::json;
use tollgate_core::tool::{ContentHash, Tool};
use tollgate_core::turn::Principal;

/// Further tools, and further principals, teach nothing.
const MOST: usize = 4_096;
/// A larger result teaches no more than a small one, and takes longer to read.
const LARGEST: usize = 64 << 10;

#[derive(Default)]
pub(crate) struct Lessons(Mutex<HashMap<(Principal, ToolId), (ContentHash, Learned)>>);

impl Lessons {
    /// A tool that changed has everything to teach again.
    pub(super) fn take(&self, principal: &Principal, tool: &Tool, result: &RawValue) {
        if tool.output.is_some() || result.get().len() > LARGEST {
            return;
        }
        let Ok(value) = json::value(result.get()) else { return };
        let mut all = self.0.lock();
        let key = (principal.clone(), tool.id.clone());
        if all.len() >= MOST && !all.contains_key(&key) {
            return;
        }
        let of = all.entry(key).or_insert_with(|| (tool.hash, Learned::default()));
        if of.0 != tool.hash {
            *of = (tool.hash, Learned::default());
        }
        of.1.learn(&value);
    }

    pub(super) fn shape(&self, principal: &Principal, tool: &ToolId) -> Option<Arc<Shape>> {
        let key = (principal.clone(), tool.clone());
        self.0.lock().get(&key)?.1.shape().map(Arc::clone)
    }
}
