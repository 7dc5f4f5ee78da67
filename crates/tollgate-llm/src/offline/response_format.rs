//! JSON answers of the offline model: the smallest value that the schema accepts.

use serde_json::json;
use tollgate_core::probe;
use tollgate_core::schema::Schema;

use crate::conversation::ResponseFormat;

#[derive(Debug, thiserror::Error)]
#[error("I am Tollgate's offline model, and cannot generate JSON for this: {0}")]
pub(super) struct UnfillableSchemaError(String);

/// The text in the requested format.
pub(super) fn format_output(
    text: String,
    form: Option<&ResponseFormat>,
) -> Result<String, UnfillableSchemaError> {
    match form {
        None => Ok(text),
        Some(ResponseFormat::Json) => Ok(json!({ "answer": text }).to_string()),
        Some(ResponseFormat::Schema { schema, .. }) => {
            let compiled = Schema::compile(schema)
                .map_err(|error| UnfillableSchemaError(error.to_string()))?;
            let made = probe::arguments(schema, &compiled);
            made.map(|value| value.to_string())
                .map_err(|error| UnfillableSchemaError(error.to_string()))
        }
    }
}
