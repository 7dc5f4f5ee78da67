//! Gateway requests about realtime sessions.

use http::Method;
use serde_json::{Value, json};
use tollgate_core::text::percent_encoded;

use super::{Gateway, decode_response, request};
use crate::command_error::CommandError;

impl Gateway {
    /// `GET /api/sessions`
    pub async fn sessions(&self) -> Result<Value, CommandError> {
        self.get("/api/sessions").await
    }

    /// `DELETE /api/sessions/{id}`
    pub async fn close_session(&self, id: &str) -> Result<(), CommandError> {
        let request =
            request(Method::DELETE, &format!("/api/sessions/{}", percent_encoded(id)), None)?;
        let response = self.exchange(request).await?;
        if response.status().is_success() { Ok(()) } else { decode_response(&response).map(drop) }
    }

    /// `POST /api/sessions/{id}/tier`. `None`: the tier is chosen automatically again.
    pub async fn session_tier(&self, id: &str, tier: Option<&str>) -> Result<Value, CommandError> {
        let path = format!("/api/sessions/{}/tier", percent_encoded(id));
        self.ask(request(Method::POST, &path, Some(&json!({ "tier": tier })))?).await
    }
}
