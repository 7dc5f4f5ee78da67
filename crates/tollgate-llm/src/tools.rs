//! Tools in the words of every API that models are offered tools by: definitions, arguments, results.
//!
//! Pure. Called by the agent loop, by fronts that list or run tools, and by the command line. Knows
//! nothing of turns or providers.

pub mod arguments;
pub mod calls;
mod convert;
mod definition;
mod form;
mod listing;
mod lost;
mod names;
mod offered;
pub mod results;
mod schema;

pub use convert::{Converted, Strict, Unconvertible, convert, convert_strictly};
pub use definition::Unreadable;
pub use form::{Form, UnknownForm};
pub use listing::{Extent, Listing, Unclear, written};
pub use lost::{Kind, Lost};
pub use offered::{Offered, function, named, offered};
pub use schema::Unfit;
