//! Arguments that a server wants repeated in HTTP headers, so that proxies can route on them.

use serde_json::Value;
use tollgate_core::policy::Permitted;

/// Header suffix and value for each argument that is there. Built from the server's own schema.
pub(crate) fn headers(request: &Permitted<'_>) -> Vec<(String, String)> {
    let (Some(tool), Some(arguments)) = (request.tool(), request.arguments()) else {
        return Vec::new();
    };
    let value = |pointer: &str| match arguments.pointer(pointer)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let parameters = tool.definition.headers.iter();
    parameters.filter_map(|it| Some((it.header.clone(), value(&it.pointer)?))).collect()
}
