//! One gateway to ask, for every command: the one that runs at the configured address, or, if none
//! does, one in this process for as long as the command takes. Both answer the same requests.

use bytes::Bytes;
use http::{Method, Request, Response, header};
use serde_json::{Value, json};

use crate::app;
use crate::config::Config;
use crate::failure::Failure;

mod remote;

pub use remote::Remote;

pub enum Gateway {
    Remote(Box<Remote>),
    Local(Box<app::Local>),
}

/// Which tools, for whom.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub agent: Option<&'a str>,
    pub tier: Option<&'a str>,
}

impl Gateway {
    pub async fn open(config: &Config) -> Result<Self, Failure> {
        match Remote::find(config).await {
            Some(remote) => Ok(Self::Remote(Box::new(remote))),
            None => app::local(config).await.map(|local| Self::Local(Box::new(local))),
        }
    }

    /// `GET /v1/tools`
    pub async fn tools(&self, view: View<'_>) -> Result<Value, Failure> {
        let pairs = [("agent", view.agent), ("tier", view.tier)];
        let query: Vec<String> = pairs
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| format!("{name}={}", escaped(value))))
            .collect();
        self.ask(Method::GET, &format!("/v1/tools?{}", query.join("&")), None).await
    }

    /// `POST /v1/tools/execute`
    pub async fn execute(
        &self,
        name: &str,
        arguments: Value,
        view: View<'_>,
    ) -> Result<Value, Failure> {
        let mut body = json!({ "name": name, "arguments": arguments });
        if let Some(agent) = view.agent {
            body["agent"] = json!(agent);
        }
        if let Some(tier) = view.tier {
            body["tier"] = json!(tier);
        }
        self.ask(Method::POST, "/v1/tools/execute", Some(body)).await
    }

    /// `GET /mcp/status`
    pub async fn status(&self) -> Result<Value, Failure> {
        self.ask(Method::GET, "/mcp/status", None).await
    }

    /// `POST /mcp/test/{server}`
    pub async fn test(&self, server: &str) -> Result<Value, Failure> {
        self.ask(Method::POST, &format!("/mcp/test/{}", escaped(server)), None).await
    }

    /// Ends a gateway of this process, and its servers with it.
    pub async fn close(self) {
        match self {
            Self::Local(local) => local.stop().await,
            Self::Remote(_) => {}
        }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, Failure> {
        let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(bytes)
            .map_err(|error| Failure::Usage(format!("not a request: {error}")))?;
        let response = match self {
            Self::Remote(remote) => remote.send(request).await?,
            Self::Local(local) => local.answer(request).await,
        };
        understood(&response)
    }
}

/// The body of a good answer; what a bad one says.
fn understood(response: &Response<Bytes>) -> Result<Value, Failure> {
    let body: Result<Value, _> = serde_json::from_slice(response.body());
    let status = response.status();
    match body {
        Ok(body) if status.is_success() || body.get("status").is_some_and(Value::is_string) => {
            Ok(body)
        }
        Ok(body) => {
            let said = ["/error/message", "/detail", "/title", "/message", "/error"];
            let said = said.iter().find_map(|at| body.pointer(at).and_then(Value::as_str));
            let said = said.map_or_else(|| format!("the gateway answered {status}"), str::to_owned);
            Err(Failure::Failed(said))
        }
        Err(_) => Err(Failure::Failed(format!("the gateway answered {status} and no JSON"))),
    }
}

/// Percent-encoded, everything but what needs none.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests;
