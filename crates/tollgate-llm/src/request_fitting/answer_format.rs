//! The required format of the answer.

use serde_json::Value;

use super::{RequestFitting, schema};
use crate::conversation::ResponseFormat;
use crate::dialect::Dialect;
use crate::model_capabilities::Feature;

const ANSWER_IN_JSON: &str = "Answer with one JSON object and nothing else.";

impl RequestFitting<'_> {
    pub(super) fn fit_answer_format(&mut self) {
        let Some(output) = &self.request.options.output else { return };
        match self.dialect {
            Dialect::OpenAiChat | Dialect::OpenAiResponses => {
                // OpenAI refuses `json_object` where the messages do not speak of it.
                if *output == ResponseFormat::Json && !self.mentions("json") {
                    self.instruct(ANSWER_IN_JSON);
                }
            }
            Dialect::Anthropic => {
                let output = output.clone();
                let fitted = self.fit_for_claude(output);
                self.edit().options.output = fitted;
            }
            Dialect::Gemini => {
                if let ResponseFormat::Schema { schema, .. } = output
                    && let Some(bare) = schema::bare_references(schema)
                    && let Some(ResponseFormat::Schema { schema, .. }) =
                        &mut self.edit().options.output
                {
                    *schema = bare;
                }
            }
        }
    }

    /// Anthropic has no JSON without a schema, and no recursive schemas: both become words.
    fn fit_for_claude(&mut self, output: ResponseFormat) -> Option<ResponseFormat> {
        match output {
            ResponseFormat::Schema { name, schema, strict }
                if schema.is_object()
                    && self.takes.takes(Feature::OutputSchema)
                    && !schema::is_recursive(&schema) =>
            {
                let closed = schema::close(&schema);
                if closed != schema {
                    self.report("keywords of the answer's schema: sent as its description");
                }
                Some(ResponseFormat::Schema { name, schema: closed, strict })
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
