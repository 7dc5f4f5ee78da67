//! Exposes private parsers of config text to the fuzz targets of `tollgate-fuzz`.

use super::expand::{self, Environment};

/// The message for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnexpandableTextError(String);

/// The text with its variables expanded.
pub fn expand(text: &str, environment: &dyn Environment) -> Result<String, UnexpandableTextError> {
    expand::expand(text, environment)
        .map_err(|bad| UnexpandableTextError(format!("{bad}: {}", bad.help())))
}
