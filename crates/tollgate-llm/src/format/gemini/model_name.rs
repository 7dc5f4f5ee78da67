//! The name of the model inside of bodies: `embedContent`, `batchEmbedContents` and `countTokens`
//! repeat it there, and refuse one that differs from the URL's.

use serde_json::Value;

/// Writes the provider's name of the model wherever a body has, or needs, one.
pub(crate) fn name_model(body: &mut Value, id: &str) {
    let name = if id.contains('/') { id.to_owned() } else { format!("models/{id}") };
    if let Some(requests) = body.get_mut("requests").and_then(Value::as_array_mut) {
        for request in requests.iter_mut().filter(|request| request.is_object()) {
            request["model"] = name.clone().into();
        }
    }
    for key in ["generateContentRequest", "generate_content_request"] {
        if let Some(request) = body.get_mut(key).filter(|request| request.is_object()) {
            request["model"] = name.clone().into();
        }
    }
    if let Some(model) = body.get_mut("model") {
        *model = name.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::name_model;

    #[test]
    fn the_model_is_named_wherever_a_body_repeats_it() {
        let mut batch = json!({"requests": [{"model": "models/mine", "content": {}}, {}]});
        name_model(&mut batch, "real");
        assert_eq!(batch["requests"][0]["model"], "models/real");
        assert_eq!(batch["requests"][1]["model"], "models/real");
        let mut count = json!({"generateContentRequest": {"model": "models/mine"}});
        name_model(&mut count, "tunedModels/own");
        assert_eq!(count["generateContentRequest"]["model"], "tunedModels/own");
        let mut single = json!({"content": {}});
        name_model(&mut single, "real");
        assert_eq!(single, json!({"content": {}}));
    }
}
