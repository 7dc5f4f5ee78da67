//! `tollgate conformance-client`: the client role of the MCP conformance suite.

use crate::config::Environment;
use crate::failure::Failure;

pub(super) async fn run(_url: &str, _environment: &dyn Environment) -> Result<(), Failure> {
    Err(Failure::failed("not here yet"))
}
