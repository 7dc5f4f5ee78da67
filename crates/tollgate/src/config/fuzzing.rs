//! Private readers of config text, for the fuzz targets of `tollgate-fuzz` and for nobody else.

use super::expand::{self, Environment};

/// The text with its variables put in; `Err`: what the operator is told.
pub fn expand(text: &str, environment: &dyn Environment) -> Result<String, String> {
    expand::expand(text, environment).map_err(|bad| format!("{bad}: {}", bad.help()))
}
