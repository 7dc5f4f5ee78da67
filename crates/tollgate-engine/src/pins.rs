//! Pin store of tool definitions: in memory for every new catalogue, on disk for the next start.
//! The registry actor adds first uses, the gate adds decisions of people. Independent of policy.

use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use tollgate_core::id::ToolId;
use tollgate_core::tool::Tool;
use tollgate_core::trust::{Pin, ToolPins};
use tollgate_store::pins::{Decision, FirstUsePin, StoredPin, StoredPinState};
use tollgate_store::{Error, Store};

pub(crate) struct PinStore {
    /// In memory if there is no file.
    store: Arc<Store>,
    known: Mutex<Arc<ToolPins>>,
    /// Pins that could not be saved. Locked while saving, one save at a time.
    unsaved: Mutex<UnsavedPins>,
}

#[derive(Default)]
struct UnsavedPins {
    seen: Vec<FirstUsePin>,
    trouble: Option<Error>,
}

impl PinStore {
    /// Without a store the pins live as long as the process. Unreadable pins are an error: without
    /// them a changed or rejected definition would be trusted as new. May block.
    pub(crate) fn open(store: Option<Arc<Store>>) -> Result<Self, Error> {
        let store = match store {
            Some(store) => store,
            None => Arc::new(Store::in_memory()?),
        };
        let known = store.pins().load()?;
        Ok(Self { store, known: Mutex::new(Arc::new(known)), unsaved: Mutex::default() })
    }

    pub(crate) fn pins(&self) -> Arc<ToolPins> {
        Arc::clone(&self.known.lock())
    }

    /// Trusts these definitions from now on (trust on first use). Pins that cannot be saved still
    /// apply, and are saved with the next. May block.
    pub(crate) fn first_uses(&self, tools: &[Arc<Tool>], at: SystemTime) {
        let mut known = self.known.lock();
        let pins = Arc::make_mut(&mut known);
        for tool in tools {
            *pins.of(&tool.id) = Pin::first_use(tool.hash);
        }
        drop(known);
        let mut unsaved = self.unsaved.lock();
        unsaved.seen.extend(tools.iter().map(|tool| FirstUsePin {
            tool: tool.id.clone(),
            hash: tool.hash,
            definition: tool.definition.source_text().into_owned(),
        }));
        let saved = self.store.pins().first_uses(&unsaved.seen, at);
        unsaved.record_save(saved);
    }

    /// A person's decision applies once it is on disk. May block.
    pub(crate) fn decide(&self, decision: &Decision) -> Result<(), Error> {
        self.store.pins().decide(decision)?;
        let mut known = self.known.lock();
        let pin = Arc::make_mut(&mut known).of(&decision.tool);
        match decision.state {
            StoredPinState::Accepted => pin.accept(decision.hash),
            StoredPinState::Rejected => pin.reject(decision.hash),
        }
        Ok(())
    }

    /// All stored pins of a tool, the newest last. May block.
    pub(crate) fn stored_definitions(&self, tool: &ToolId) -> Result<Vec<StoredPin>, Error> {
        self.store.pins().of(tool)
    }
}

impl UnsavedPins {
    /// Logs each failure once.
    fn record_save(&mut self, saved: Result<(), Error>) {
        match saved {
            Ok(()) => {
                self.seen.clear();
                self.trouble = None;
            }
            Err(error) if self.trouble.as_ref() == Some(&error) => {}
            Err(error) => {
                let remedy = error.remedy();
                tracing::error!(%error, remedy, "cannot save pins; they are kept in memory until \
                                                 restart");
                self.trouble = Some(error);
            }
        }
    }
}

#[cfg(test)]
mod tests;
