//! JSON answers of the offline model: the smallest value that the schema accepts.

use serde_json::json;
use tollgate_core::probe;
use tollgate_core::schema::Schema;

use crate::conversation::ResponseFormat;

/// The text in the requested format, or an error message.
pub(super) fn format_output(text: String, form: Option<&ResponseFormat>) -> Result<String, String> {
    match form {
        None => Ok(text),
        Some(ResponseFormat::Json) => Ok(json!({ "answer": text }).to_string()),
        Some(ResponseFormat::Schema { schema, .. }) => {
            let refused = |why: String| {
                format!("I am Tollgate's offline model, and cannot generate JSON for this: {why}")
            };
            let compiled = Schema::compile(schema).map_err(|error| refused(error.to_string()))?;
            let made = probe::arguments(schema, &compiled);
            made.map(|value| value.to_string()).map_err(|error| refused(error.to_string()))
        }
    }
}
