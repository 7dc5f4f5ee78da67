//! Deadline of a call: the only constructor of [`Planned`], the only input of the executor.

use std::time::{Duration, Instant};

use crate::approval::Cleared;
use crate::budget::Deadline;
use crate::policy::Permitted;
use crate::tool::ToolReach;
use crate::turn::Turn;

/// A cleared request with its deadline. Only [`plan`] makes one.
#[derive(Debug)]
pub struct Planned<'a> {
    permitted: Permitted<'a>,
    deadline: Deadline,
    own: Deadline,
    wall: Option<Deadline>,
    started: Instant,
}

impl<'a> Planned<'a> {
    pub fn permitted_request(&self) -> &Permitted<'a> {
        &self.permitted
    }

    /// When the call is given up, unless it waits for a person's answer.
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// When the call would be given up if its turn had no wall.
    pub fn own(&self) -> Deadline {
        self.own
    }

    /// The turn's own deadline: it passes whatever the call waits for.
    pub fn wall(&self) -> Option<Deadline> {
        self.wall
    }

    pub fn started_at(&self) -> Instant {
        self.started
    }

    /// From the start to the deadline: what a caller is told that was the limit.
    pub fn span(&self) -> Duration {
        self.deadline.remaining(self.started)
    }

    /// The same call, apart from its turn: no wall ends it, and it borrows nothing.
    pub fn on_its_own(&self) -> Planned<'static> {
        Planned {
            permitted: self.permitted.to_owned(),
            deadline: self.own,
            own: self.own,
            wall: None,
            started: self.started,
        }
    }
}

/// The turn's time was over before the call began.
#[derive(Debug, thiserror::Error)]
#[error("the turn's deadline has passed")]
pub struct NoTimeLeftError;

/// The smallest of the tool's own maximum, the server's default, the global limit and what the
/// turn has left.
pub fn plan<'a>(
    turn: &Turn,
    cleared: Cleared<'a>,
    now: Instant,
) -> Result<Planned<'a>, NoTimeLeftError> {
    if turn.deadline.is_some_and(|wall| wall.remaining(now).is_zero()) {
        return Err(NoTimeLeftError);
    }
    let permitted = cleared.into_permitted();
    let limits = turn.policy.limits;
    let span = match permitted.tool().map(|tool| &tool.terms) {
        None => limits.global,
        // A program has a clock of its own, which stands still while a person is waited for.
        Some(terms) if terms.reach == ToolReach::Means => terms.timeout,
        Some(terms) => {
            let span = limits.global.min(terms.timeout);
            terms.max.map_or(span, |max| span.min(max))
        }
    };
    let own = Deadline::after(now, span);
    let deadline = turn.deadline.map_or(own, |wall| wall.cap(now, span));
    Ok(Planned { permitted, deadline, own, wall: turn.deadline, started: now })
}
