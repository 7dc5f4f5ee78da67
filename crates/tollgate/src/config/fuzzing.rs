//! Exposes private parsers of config text to the fuzz targets of `tollgate-fuzz`.

use super::expand::{self, Environment};

/// The text with its variables expanded. `Err`: the message for the operator.
pub fn expand(text: &str, environment: &dyn Environment) -> Result<String, String> {
    expand::expand(text, environment).map_err(|bad| format!("{bad}: {}", bad.help()))
}
