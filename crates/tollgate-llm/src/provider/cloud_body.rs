//! Fits the body of a request to a cloud, where that differs from the vendor's own API.

use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};

use crate::conversation::ResponseDelivery;
use crate::dialect::Dialect;
use crate::settings::CloudSettings;

const VERTEX_VERSION: &str = "vertex-2023-10-16";
const BEDROCK_VERSION: &str = "bedrock-2023-05-31";
const BETA_HEADER: HeaderName = HeaderName::from_static("anthropic-beta");
const CALL_PARTS: [&str; 2] = ["functionCall", "functionResponse"];

/// `headers`: those of this request, some of which become fields of the body.
pub(super) fn fit(
    cloud: &CloudSettings,
    dialect: Dialect,
    delivery: ResponseDelivery,
    body: &mut Value,
    headers: &mut HeaderMap,
) {
    let Some(body) = body.as_object_mut() else { return };
    match (cloud, dialect) {
        (CloudSettings::Vertex(_), Dialect::Anthropic) => {
            body.shift_remove("model");
            body.insert("anthropic_version".to_owned(), VERTEX_VERSION.into());
            body.insert("stream".to_owned(), (delivery == ResponseDelivery::Streamed).into());
        }
        (CloudSettings::Vertex(_), Dialect::Gemini) => remove_call_ids(body),
        (CloudSettings::Bedrock(_), Dialect::Anthropic) => {
            body.shift_remove("model");
            body.shift_remove("stream");
            body.insert("anthropic_version".to_owned(), BEDROCK_VERSION.into());
            if let Some(features) = headers.remove(BETA_HEADER) {
                let features = features.to_str().unwrap_or_default().split(',').map(str::trim);
                let features = features.filter(|it| !it.is_empty()).collect::<Vec<_>>();
                body.insert("anthropic_beta".to_owned(), features.into());
            }
        }
        (CloudSettings::Azure(_) | CloudSettings::Vertex(_) | CloudSettings::Bedrock(_), _) => {}
    }
}

/// Vertex AI refuses them: it matches calls and results by their order.
fn remove_call_ids(body: &mut Map<String, Value>) {
    let contents = body.get_mut("contents").and_then(Value::as_array_mut).into_iter().flatten();
    let parts = contents.filter_map(|content| content.get_mut("parts")?.as_array_mut()).flatten();
    for part in parts {
        for kind in CALL_PARTS {
            if let Some(call) = part.get_mut(kind).and_then(Value::as_object_mut) {
                call.shift_remove("id");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use serde_json::json;
    use tollgate_core::secret::Secret;

    use super::{BETA_HEADER, fit};
    use crate::conversation::ResponseDelivery;
    use crate::dialect::Dialect;
    use crate::settings::{
        AwsCredentials, BedrockSettings, CloudSettings, GoogleCredentials, VertexSettings,
    };

    fn vertex() -> CloudSettings {
        CloudSettings::Vertex(VertexSettings {
            project: "p".to_owned(),
            location: "global".to_owned(),
            credentials: GoogleCredentials::AccessToken(Secret::new("t")),
        })
    }

    fn bedrock() -> CloudSettings {
        CloudSettings::Bedrock(BedrockSettings {
            region: "eu-west-1".to_owned(),
            credentials: AwsCredentials::ApiKey(Secret::new("k")),
        })
    }

    #[test]
    fn claude_has_a_version_in_the_body_and_no_model() {
        let streamed = ResponseDelivery::Streamed;
        let request = || json!({"model": "m", "stream": true, "max_tokens": 5});
        let mut headers = HeaderMap::new();
        headers.insert(BETA_HEADER, HeaderValue::from_static("a-1, b-2"));
        let mut body = request();
        fit(&vertex(), Dialect::Anthropic, streamed, &mut body, &mut headers);
        let expected =
            json!({"stream": true, "max_tokens": 5, "anthropic_version": "vertex-2023-10-16"});
        assert_eq!(body, expected);
        assert!(headers.contains_key(BETA_HEADER));
        let mut body = request();
        fit(&bedrock(), Dialect::Anthropic, streamed, &mut body, &mut headers);
        let expected = json!({
            "max_tokens": 5,
            "anthropic_version": "bedrock-2023-05-31",
            "anthropic_beta": ["a-1", "b-2"],
        });
        assert_eq!(body, expected);
        assert!(headers.is_empty());
    }

    #[test]
    fn calls_of_gemini_have_no_ids_on_vertex() {
        let mut body = json!({"contents": [
            {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "f", "args": {"id": 2}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "1", "name": "f", "response": {}}}]},
        ]});
        let whole = ResponseDelivery::Whole;
        fit(&vertex(), Dialect::Gemini, whole, &mut body, &mut HeaderMap::new());
        let expected = json!({"contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"id": 2}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        ]});
        assert_eq!(body, expected);
    }
}
