//! REST API: the view of an agent, the tier of a turn, and single calls.

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
pub(crate) use tier::tier;
pub(crate) use tool_calls::tool_calls;
pub(crate) use view::tools;
