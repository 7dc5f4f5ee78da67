//! A request of MCP with parsed params, as both protocol eras answer it.

use tollgate_core::json::Object;
use tollgate_mcp::envelope::JsonRpcId;

pub(super) struct ParsedMcpRequest<'a> {
    pub(super) id: JsonRpcId,
    pub(super) method: &'a str,
    pub(super) params: Object<'a>,
}
