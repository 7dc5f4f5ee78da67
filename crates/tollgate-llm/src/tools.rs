//! Tools in the words of every API that models are offered tools by: definitions, arguments, results.
//!
//! Pure. Called by the agent loop, by fronts that list or run tools, and by the command line. Knows
//! nothing of turns or providers.

pub mod arguments;
mod form;
mod lost;
mod names;
mod offered;
pub mod results;
mod schema;

pub use form::{Form, UnknownForm};
pub use lost::{Kind, Lost};
pub use offered::{Offered, function};
pub use schema::Unfit;
