//! Calls that go on when the turn they were made in is over. So many, and no more: a server that
//! hangs must not gather them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_core::id::ServerId;
use tollgate_core::plan::Planned;

use super::Over;
use super::flight::Flight;

/// Of one server, and of all together.
const MOST_OF_ONE: usize = 32;
const MOST: usize = 256;

/// How many there are.
pub(super) struct Slots {
    all: AtomicUsize,
    servers: HashMap<ServerId, AtomicUsize>,
}

/// One of them, for as long as it is held.
pub(super) struct Slot {
    slots: Arc<Slots>,
    server: ServerId,
}

impl Slots {
    pub(super) fn new<'s>(servers: impl Iterator<Item = &'s ServerId>) -> Self {
        let servers = servers.map(|server| (server.clone(), AtomicUsize::new(0))).collect();
        Self { all: AtomicUsize::new(0), servers }
    }

    /// `None` if there are too many already.
    fn take(self: &Arc<Self>, server: &ServerId) -> Option<Slot> {
        let of_server = self.servers.get(server)?;
        take(&self.all, MOST)?;
        if take(of_server, MOST_OF_ONE).is_none() {
            give_back(&self.all);
            return None;
        }
        Some(Slot { slots: Arc::clone(self), server: server.clone() })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        give_back(&self.slots.all);
        if let Some(of_server) = self.slots.servers.get(&self.server) {
            give_back(of_server);
        }
    }
}

fn take(count: &AtomicUsize, most: usize) -> Option<()> {
    let more = |count: usize| (count < most).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(drop)
}

fn give_back(count: &AtomicUsize) {
    count.fetch_sub(1, Ordering::Relaxed);
}

/// A call that outlives the turn of somebody who waited for it. Dropping it cancels the call,
/// unless others wait too.
pub(crate) struct LateCall {
    flight: Arc<Flight>,
}

impl LateCall {
    /// However many wait for it, it takes one slot. `None` if there is none left.
    pub(super) fn of(flight: Arc<Flight>, slots: &Arc<Slots>) -> Option<Self> {
        {
            let mut slot = flight.late.lock();
            if slot.is_none() {
                *slot = Some(slots.take(flight.cargo.planned.permitted().server())?);
            }
        }
        Some(Self { flight })
    }

    /// The call as it runs on, without the turn's wall.
    pub(crate) fn planned(&self) -> &Planned<'static> {
        &self.flight.cargo.planned
    }

    pub(crate) async fn landed(&self) -> Over {
        self.flight.landed().await.over()
    }
}
