//! One OpenAPI operation: method, path, parameters, body and responses.
#![expect(clippy::needless_pass_by_value, reason = "schemas are handed over to be put in")]

use serde_json::{Map, Value, json};

use super::problems;

#[derive(Clone)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    id: &'static str,
    summary: &'static str,
    /// Required right of the key. `None`: public.
    right: Option<&'static str>,
    parameters: Vec<Value>,
    body: Option<Value>,
    answers: Map<String, Value>,
}

impl Operation {
    pub(super) fn new(
        method: &'static str,
        path: &'static str,
        id: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            id,
            summary,
            right: Some("admin"),
            parameters: path_parameters(path),
            body: None,
            answers: Map::new(),
        }
    }

    /// Requires another right than `admin`.
    pub(super) fn needs(self, right: &'static str) -> Self {
        Self { right: Some(right), ..self }
    }

    pub(super) fn open(self) -> Self {
        Self { right: None, ..self }
    }

    pub(super) fn query(mut self, name: &str, schema: Value, about: &str) -> Self {
        let parameter =
            json!({"name": name, "in": "query", "schema": schema, "description": about});
        self.parameters.push(parameter);
        self
    }

    pub(super) fn header(mut self, name: &str, schema: Value, about: &str) -> Self {
        let parameter =
            json!({"name": name, "in": "header", "schema": schema, "description": about});
        self.parameters.push(parameter);
        self
    }

    /// Marks a parameter as required.
    pub(super) fn require(mut self, name: &str) -> Self {
        let found = self.parameters.iter_mut().find(|it| it["name"] == name);
        if let Some(parameter) = found {
            parameter["required"] = json!(true);
        }
        self
    }

    pub(super) fn takes(self, schema: Value) -> Self {
        self.takes_media("application/json", schema)
    }

    pub(super) fn takes_media(self, media: &str, schema: Value) -> Self {
        let content = Map::from_iter([(media.to_owned(), json!({ "schema": schema }))]);
        Self { body: Some(json!({"required": true, "content": content})), ..self }
    }

    pub(super) fn gives(self, status: u16, about: &str, schema: Value) -> Self {
        self.gives_media(status, "application/json", about, schema)
    }

    /// Adds another media type for the response with this status.
    pub(super) fn gives_media(
        mut self,
        status: u16,
        media: &str,
        about: &str,
        schema: Value,
    ) -> Self {
        let answer = self.answers.entry(status.to_string());
        let answer = answer.or_insert_with(|| json!({"description": about, "content": {}}));
        answer["content"][media] = json!({ "schema": schema });
        self
    }

    pub(super) fn gives_nothing(mut self, status: u16, about: &str) -> Self {
        self.answers.insert(status.to_string(), json!({ "description": about }));
        self
    }

    /// Adds an `ETag` header to the response.
    pub(super) fn with_etag(mut self, status: u16) -> Self {
        let schema = json!({"type": "string", "pattern": "^\"[^\"]+\"$"});
        let header = json!({"schema": schema, "description": "the version, for `if-match`"});
        if let Some(answer) = self.answers.get_mut(&status.to_string()) {
            answer["headers"] = json!({ "etag": header });
        }
        self
    }

    /// Server-sent events: their names, and the data of each.
    pub(super) fn streams(self, about: &str, events: &[(&str, Value)]) -> Self {
        let events: Map<String, Value> =
            events.iter().map(|(name, data)| ((*name).to_owned(), data.clone())).collect();
        let names: Vec<&String> = events.keys().collect();
        let mut schema = json!({
            "type": "object",
            "description": about,
            "properties": {
                "event": {"type": "string", "enum": names},
                "data": {"type": "string", "contentMediaType": "application/json"},
            },
            "required": ["event", "data"],
            "additionalProperties": true,
        });
        schema["x-events"] = Value::Object(events);
        self.gives_media(200, "text/event-stream", about, schema)
    }

    /// Errors specific to this operation, by code.
    pub(super) fn refuses(mut self, refusals: &[(u16, &str)]) -> Self {
        for (status, about) in refusals {
            let answer = problems::answer(self.path, about);
            self.answers.insert(status.to_string(), answer);
        }
        self
    }

    pub(super) fn into_json(self, tag: &str) -> Value {
        let mut answers = self.answers;
        for (status, about) in
            [("4XX", "the request is rejected"), ("5XX", "the gateway is unavailable or failed")]
        {
            answers.insert(status.to_owned(), problems::answer(self.path, about));
        }
        let mut operation = json!({
            "operationId": self.id,
            "tags": [tag],
            "summary": self.summary,
            "responses": answers,
            "security": problems::security_for(self.path, self.right),
        });
        if let Some(right) = self.right {
            operation["description"] = json!(format!("Needs the right `{right}`."));
        }
        if !self.parameters.is_empty() {
            operation["parameters"] = Value::Array(self.parameters);
        }
        if let Some(body) = self.body {
            operation["requestBody"] = body;
        }
        operation
    }
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let parameter = |name: &str| {
        json!({"name": name, "in": "path", "required": true,
            "schema": {"type": "string", "minLength": 1}})
    };
    names.map(parameter).collect()
}
