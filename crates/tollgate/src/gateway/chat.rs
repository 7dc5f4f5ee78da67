//! Gateway requests of a chat.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};

use bytes::Bytes;
use serde_json::{Value, json};
use tollgate_core::text::percent_encoded;

use super::{Gateway, GatewayEvent, GatewayEventListener, decode_response, events, request};
use crate::command_error::CommandError;

type HeaderPairs = [(String, String)];

impl Gateway {
    /// The default agent.
    pub async fn usual_agent(&self) -> Result<String, CommandError> {
        let view = self.get("/v1/tools").await?;
        let name = view["agent"].as_str().map(str::to_owned);
        name.ok_or_else(|| CommandError::new("the gateway did not report its agent"))
    }

    /// The agent's greeting, if it has one.
    pub async fn greeting(
        &self,
        agent: &str,
        headers: &HeaderPairs,
    ) -> Result<Option<String>, CommandError> {
        let path = format!("/api/agents/{}/render", percent_encoded(agent));
        let request = with_headers(request(Method::POST, &path, Some(&json!({})))?, headers)?;
        let rendered = self.ask(request).await?;
        Ok(rendered["greeting"].as_str().map(str::to_owned))
    }

    /// `POST /v1/chat/completions`, streamed: reports each event, and returns the headers.
    pub async fn chat(
        &self,
        body: &Value,
        headers: &HeaderPairs,
        mut each: impl FnMut(GatewayEvent) + Send,
    ) -> Result<HeaderMap, CommandError> {
        let request = request(Method::POST, "/v1/chat/completions", Some(body))?;
        let request = with_headers(request, headers)?;
        let mut listener = GatewayEventListener::new(&mut each);
        let mut on_event = |chunk: &[u8]| listener.hear(chunk);
        let response = match self {
            Self::Remote(remote) => remote.follow(request, &mut on_event).await?,
            Self::Local(local) => local.follow(request, &mut on_event).await?,
        };
        if events::is_stream(response.headers()) {
            return Ok(response.headers().clone());
        }
        decode_response(&response)?;
        Err(CommandError::new("the gateway did not stream its response"))
    }

    /// `POST /v1/mcp/tool/execute`: runs calls of a model, and returns messages.
    pub async fn run_calls(
        &self,
        calls: &Value,
        agent: &str,
        headers: &HeaderPairs,
    ) -> Result<Value, CommandError> {
        let path = "/v1/mcp/tool/execute?format=chat";
        let mut request = with_headers(request(Method::POST, path, Some(calls))?, headers)?;
        let agent = value("the agent", agent)?;
        request.headers_mut().insert("x-tollgate-agent", agent);
        self.ask(request).await
    }
}

fn with_headers(
    mut request: Request<Bytes>,
    headers: &HeaderPairs,
) -> Result<Request<Bytes>, CommandError> {
    for (name, text) in headers {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| CommandError::Usage(format!("`{name}` is not a valid header name")))?;
        request.headers_mut().insert(header, value(name, text)?);
    }
    Ok(request)
}

fn value(name: &str, text: &str) -> Result<HeaderValue, CommandError> {
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| CommandError::Usage(format!("{name} cannot be `{text}`")))
}
