//! OpenAPI: usage of models.

use serde_json::json;

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use crate::admin::usage::UsageReport;

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let one_of = |words: &[&str]| json!({"type": "string", "enum": words});
    let day = || json!({"type": "string", "format": "date"});
    OpenApiSection {
        tag: "usage",
        about: "Requests, tokens and cost of models, by day (UTC). Kept for 400 days.",
        operations: vec![
            Operation::new("get", "/api/usage", "getUsage", "Usage of models")
                .needs("observe")
                .query("by", one_of(&["key", "agent", "model"]), "default `key`")
                .query("from", day(), "the first day; default 29 days before `to`")
                .query("to", day(), "the last day; default today")
                .query("format", one_of(&["json", "csv"]), "`csv`: the days, for spreadsheets")
                .gives(200, "usage by day, and its sum", responses.of::<UsageReport>())
                .gives_media(200, "text/csv", "the days", json!({"type": "string"}))
                .refuses(&[(503, "`usage_unreadable`")]),
        ],
        schemas: Vec::new(),
    }
}
