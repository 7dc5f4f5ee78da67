//! REST API: the view of an agent, the tier of a turn, and single calls.

use http::StatusCode;
use tollgate_engine::gate::UnknownAgentError;

use crate::api_error::ApiError;

mod code;
mod code_files;
mod execute;
mod explain;
mod leaderboard;
mod rest_json;
mod results;
mod tier;
mod tool_calls;
mod view;

pub(crate) use code::code;
pub(crate) use code_files::code_files;
pub(crate) use execute::execute;
pub(crate) use results::results;
pub(crate) use tier::{queue_depth, tier};
pub(crate) use tool_calls::tool_calls;
pub(crate) use view::tools;

impl From<UnknownAgentError> for ApiError {
    fn from(unknown: UnknownAgentError) -> Self {
        Self::with_detail(StatusCode::NOT_FOUND, "unknown_agent", unknown.to_string())
    }
}
