//! Token counts of both protocols.

use serde_json::{Map, Value, json};

const MODALITIES: [(&str, &str); 3] =
    [("TEXT", "text_tokens"), ("AUDIO", "audio_tokens"), ("IMAGE", "image_tokens")];

/// Token counts since the last response, in OpenAI's terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TokenCounts {
    input: u64,
    output: u64,
    cached: u64,
    /// In the order of [`MODALITIES`].
    input_details: [u64; 3],
    output_details: [u64; 3],
}

impl TokenCounts {
    /// Adds a `usageMetadata`.
    pub(super) fn add_gemini(&mut self, usage: &Value) {
        let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
        self.input += count("promptTokenCount") + count("toolUsePromptTokenCount");
        self.output += count("responseTokenCount") + count("thoughtsTokenCount");
        self.cached += count("cachedContentTokenCount");
        add_details(&mut self.input_details, usage.get("promptTokensDetails"));
        add_details(&mut self.input_details, usage.get("toolUsePromptTokensDetails"));
        add_details(&mut self.output_details, usage.get("responseTokensDetails"));
        // The details leave thoughts out, which are text.
        self.output_details[0] += count("thoughtsTokenCount");
    }

    /// As `response.usage`; `null` if nothing was counted.
    pub(super) fn to_openai(self) -> Value {
        if self == Self::default() {
            return Value::Null;
        }
        let details = |counts: [u64; 3]| {
            let named = MODALITIES.iter().zip(counts);
            named.map(|((_, key), count)| ((*key).to_owned(), json!(count))).collect::<Map<_, _>>()
        };
        let mut input = details(self.input_details);
        input.insert("cached_tokens".to_owned(), json!(self.cached));
        let mut output = details(self.output_details);
        output.remove("image_tokens");
        json!({
            "total_tokens": self.input + self.output,
            "input_tokens": self.input,
            "output_tokens": self.output,
            "input_token_details": input,
            "output_token_details": output,
        })
    }
}

fn add_details(counts: &mut [u64; 3], details: Option<&Value>) {
    for one in details.and_then(Value::as_array).into_iter().flatten() {
        let modality = one.get("modality").and_then(Value::as_str);
        let at = MODALITIES.iter().position(|(name, _)| Some(*name) == modality);
        if let Some(at) = at {
            counts[at] += one.get("tokenCount").and_then(Value::as_u64).unwrap_or_default();
        }
    }
}

/// The `usageMetadata` of a `response.usage`.
pub(super) fn to_gemini(usage: &Value) -> Option<Value> {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let details = |side: &str| -> Vec<Value> {
        let counted = MODALITIES.iter().filter_map(|(modality, key)| {
            let tokens = count(&format!("/{side}/{key}")).filter(|tokens| *tokens > 0)?;
            Some(json!({"modality": modality, "tokenCount": tokens}))
        });
        counted.collect()
    };
    let mut metadata = json!({
        "promptTokenCount": count("/input_tokens")?,
        "responseTokenCount": count("/output_tokens")?,
        "totalTokenCount": count("/total_tokens")?,
        "promptTokensDetails": details("input_token_details"),
        "responseTokensDetails": details("output_token_details"),
    });
    if let Some(cached) = count("/input_token_details/cached_tokens").filter(|tokens| *tokens > 0) {
        metadata["cachedContentTokenCount"] = cached.into();
    }
    Some(metadata)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{TokenCounts, to_gemini};

    #[test]
    fn usage_keeps_its_counts_in_the_other_protocol() {
        let mut counts = TokenCounts::default();
        assert_eq!(counts.to_openai(), Value::Null);
        counts.add_gemini(&json!({
            "promptTokenCount": 10, "responseTokenCount": 8, "thoughtsTokenCount": 2,
            "cachedContentTokenCount": 4, "totalTokenCount": 18,
            "promptTokensDetails": [
                {"modality": "AUDIO", "tokenCount": 7}, {"modality": "TEXT", "tokenCount": 3},
            ],
            "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": 8}],
        }));
        let usage = counts.to_openai();
        assert_eq!(
            usage,
            json!({
                "total_tokens": 20, "input_tokens": 10, "output_tokens": 10,
                "input_token_details": {
                    "text_tokens": 3, "audio_tokens": 7, "image_tokens": 0, "cached_tokens": 4,
                },
                "output_token_details": {"text_tokens": 2, "audio_tokens": 8},
            })
        );
        assert_eq!(
            to_gemini(&usage),
            Some(json!({
                "promptTokenCount": 10, "responseTokenCount": 10, "totalTokenCount": 20,
                "cachedContentTokenCount": 4,
                "promptTokensDetails": [
                    {"modality": "TEXT", "tokenCount": 3}, {"modality": "AUDIO", "tokenCount": 7},
                ],
                "responseTokensDetails": [
                    {"modality": "TEXT", "tokenCount": 2}, {"modality": "AUDIO", "tokenCount": 8},
                ],
            }))
        );
        assert_eq!(to_gemini(&Value::Null), None);
    }
}
