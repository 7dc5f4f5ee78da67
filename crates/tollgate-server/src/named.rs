//! The tier that a request names. Up to the agent's ceiling it only narrows, and anybody may do
//! that; above it is an override, which is a right.

use std::sync::Arc;

use tollgate_core::agent::Wish;
use tollgate_core::budget::Tier;
use tollgate_core::turn::{Grant, Principal, Turn};
use tollgate_engine::gate::{Asked, Gate, UnknownAgent};

use crate::auth::{Right, Rights};
use crate::problem::Problem;

/// What was named, and by someone with which rights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) tier: Option<Tier>,
    pub(crate) rights: Rights,
    pub(crate) grant: Option<&'a Arc<Grant>>,
}

impl Named<'_> {
    /// Opens a turn of exactly the tier that was named.
    pub(crate) fn turn<E>(
        self,
        gate: &Gate,
        principal: Principal,
        agent: Option<&str>,
    ) -> Result<Turn, E>
    where
        E: From<UnknownAgent> + From<Problem>,
    {
        let grant = self.grant.cloned();
        let asked = Asked { grant, agent, budget: self.wish(), ..Asked::by(principal) };
        let turn = gate.turn(asked)?;
        let given = turn.view.tier;
        match self.tier {
            Some(tier) if given < tier => {
                let why = format!("`{tier}` is above the agent's ceiling, `{given}`");
                Err(Right::OverrideTier.lacking(&why).into())
            }
            Some(_) | None => Ok(turn),
        }
    }

    fn wish(self) -> Wish {
        match self.tier {
            None => Wish::Ceiling,
            Some(tier) if self.rights.has(Right::OverrideTier) => Wish::Override(tier),
            Some(tier) => Wish::Selected(tier),
        }
    }
}
