//! REST API: the view of an agent, the tier of a turn, and single calls.

mod code;
mod code_files;
mod execute;
pub(crate) mod explain;
mod files;
pub(crate) mod leaderboard;
pub(crate) mod rest_json;
pub(crate) mod results;
pub(crate) mod tier;
mod tool_calls;
mod view;

pub(crate) use code::code;
pub(crate) use code_files::code_files;
pub(crate) use execute::{execute, into_outcome};
pub(crate) use files::file;
pub(crate) use results::results;
pub(crate) use tier::tier;
pub(crate) use tool_calls::tool_calls;
pub(crate) use view::tools;
