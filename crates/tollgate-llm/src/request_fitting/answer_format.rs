//! The required format of the answer.

use serde_json::Value;

use super::{RequestFitting, schema};
use crate::conversation::ResponseFormat;
use crate::dialect::Dialect;
use crate::model_capabilities::Feature;

const ANSWER_IN_JSON: &str = "Answer with one JSON object and nothing else.";

impl RequestFitting {
    pub(super) fn fit_answer_format(&mut self) {
        let Some(output) = self.request.options.output.take() else { return };
        self.request.options.output = match self.dialect {
            Dialect::OpenAiChat | Dialect::OpenAiResponses => {
                // OpenAI refuses `json_object` where the messages do not speak of it.
                if output == ResponseFormat::Json && !self.mentions("json") {
                    self.instruct(ANSWER_IN_JSON);
                }
                Some(output)
            }
            Dialect::Anthropic => self.fit_for_claude(output),
            Dialect::Gemini => Some(match output {
                ResponseFormat::Schema { name, schema, strict } => {
                    let schema = schema::bare_references(&schema);
                    ResponseFormat::Schema { name, schema, strict }
                }
                ResponseFormat::Json => output,
            }),
        };
    }

    /// Anthropic has no JSON without a schema, and no recursive schemas: both become words.
    fn fit_for_claude(&mut self, output: ResponseFormat) -> Option<ResponseFormat> {
        match output {
            ResponseFormat::Schema { name, schema: Value::Object(given), strict }
                if self.takes.takes(Feature::OutputSchema)
                    && !schema::is_recursive(&Value::Object(given.clone())) =>
            {
                let given = Value::Object(given);
                let schema = schema::close(&given);
                if schema != given {
                    self.report("keywords of the answer's schema: sent as its description");
                }
                Some(ResponseFormat::Schema { name, schema, strict })
            }
            ResponseFormat::Schema { schema: schema @ Value::Object(_), .. } => {
                self.report("the answer's schema: sent as an instruction");
                self.instruct(&format!("{ANSWER_IN_JSON} It matches this JSON schema: {schema}"));
                None
            }
            ResponseFormat::Schema { .. } | ResponseFormat::Json => {
                self.report("JSON as the form of the answer: sent as an instruction");
                self.instruct(ANSWER_IN_JSON);
                None
            }
        }
    }
}
