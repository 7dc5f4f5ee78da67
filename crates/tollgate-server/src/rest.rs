//! The plain HTTP API: what an agent sees, the tier of a turn, and one call at a time.

use http::StatusCode;
use tollgate_engine::gate::UnknownAgent;

use crate::problem::Problem;

mod code;
mod code_files;
mod execute;
mod explained;
mod leaderboard;
mod results;
mod shown;
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

impl From<UnknownAgent> for Problem {
    fn from(unknown: UnknownAgent) -> Self {
        Self::told(StatusCode::NOT_FOUND, "unknown_agent", unknown.to_string())
    }
}
