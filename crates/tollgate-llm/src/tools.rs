//! Tool conversion for every API through which models are offered tools: definitions, arguments,
//! results.
//!
//! Pure. Called by the agent loop, by fronts that list or run tools, and by the command line.
//! Independent of turns and providers.

pub mod arguments;
pub mod calls;
mod conversion_loss;
mod convert;
mod definition;
mod formatted_tool;
mod listing;
mod names;
pub mod results;
pub(crate) mod schema;
mod tool_format;

pub use conversion_loss::{ConversionLoss, ConversionLossKind};
pub use convert::{
    ConvertedDefinition, DefinitionConversionError, StrictToolFormat, convert, convert_strictly,
};
pub use definition::ToolDefinitionError;
pub use formatted_tool::{FormattedTool, find_by_model_name, format_for_dialect, format_tool};
pub use listing::{DefinitionListing, DefinitionListingError, DocumentExtent, wrap_definitions};
pub use schema::SchemaFitError;
pub use tool_format::{ToolFormat, UnknownToolFormatError};
