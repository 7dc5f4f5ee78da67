//! Pins of tools: at hand for every new catalogue, and on disk for the next start. The registry's
//! keeper adds what is seen first, the gate what people decide. Knows no policy.

use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use tollgate_core::id::ToolId;
use tollgate_core::tool::Tool;
use tollgate_core::trust::{Pin, ToolPins};
use tollgate_store::pins::{Decision, FirstUsePin, StoredPin, StoredPinState};
use tollgate_store::{Error, Store};

pub(crate) struct PinStore {
    /// One in memory where there is no file.
    store: Arc<Store>,
    known: Mutex<Arc<ToolPins>>,
    /// What could not be saved. Held while saving: one at a time.
    unsaved: Mutex<UnsavedPins>,
}

#[derive(Default)]
struct UnsavedPins {
    seen: Vec<FirstUsePin>,
    trouble: Option<Error>,
}

impl PinStore {
    /// Without a store the pins live as long as the process. Pins that cannot be read are an error:
    /// without them what was changed or rejected would be trusted as if new. May block.
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

    /// Trusts these from now on. What cannot be saved is known all the same, and tried again with
    /// the next. May block.
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
            definition: tool.definition.said().into_owned(),
        }));
        let saved = self.store.pins().first_uses(&unsaved.seen, at);
        unsaved.record_save(saved);
    }

    /// What a person decided counts once it is written down. May block.
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

    /// All that is kept of a tool, the newest last. May block.
    pub(crate) fn kept_definitions(&self, tool: &ToolId) -> Result<Vec<StoredPin>, Error> {
        self.store.pins().of(tool)
    }
}

impl UnsavedPins {
    /// The same trouble is told once.
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
