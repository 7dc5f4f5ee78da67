//! The first stage of a call: its arguments are read and checked. Large ones leave the thread that
//! serves others for that.

use tollgate_core::call::GateRequest;
use tollgate_core::failpoint;
use tollgate_core::policy::{self, Permitted, Refusal};
use tollgate_core::turn::Turn;
use tollgate_mcp::offload::{is_too_large_here, offload_if_large};

use super::Gate;

impl Gate {
    pub(super) async fn permit<'a>(
        &self,
        turn: &Turn,
        request: GateRequest<'a>,
    ) -> Result<Permitted<'a>, Refusal> {
        failpoint::hit("permit");
        let limit = self.registry.current().charter.limits.argument_values;
        let size = request.params.get("arguments").map_or(0, |raw| raw.get().len());
        if !is_too_large_here(size) {
            return policy::permit_within(turn, request, limit);
        }
        let (turn, request) = (turn.clone(), request.into_owned());
        offload_if_large(size, move || policy::permit_within(&turn, request, limit)).await
    }
}
