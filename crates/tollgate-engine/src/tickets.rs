//! Task handles for clients: sealed for one principal, so that they cannot be guessed or shared,
//! and the gate needs no table of them.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tollgate_core::id::ServerId;
use tollgate_core::json::Object;
use tollgate_core::policy::TaskTicket;
use tollgate_core::tool::Tool;
use tollgate_core::turn::Principal;

use crate::seal::{Seal, SealPurpose};

pub(crate) struct TaskTickets<'t> {
    pub(crate) seal: &'t Seal,
    pub(crate) principal: &'t Principal,
}

impl TaskTickets<'_> {
    /// The task result with our handle in place of the server's.
    pub(crate) fn close(&self, tool: &Tool, result: &RawValue) -> Option<Box<RawValue>> {
        let result = Object::parse(result.get()).ok()?;
        let content = json!({
            "server": tool.id.server.as_str(),
            "tool": tool.exposed.as_str(),
            "task": result.string("taskId")?,
        });
        let handle =
            self.seal.close(SealPurpose::Ticket, self.principal.as_str(), &content.to_string());
        Some(Self::with_handle(&result.to_raw(), &handle))
    }

    pub(crate) fn open(&self, handle: &str) -> Option<TaskTicket> {
        let content = self.seal.open(SealPurpose::Ticket, self.principal.as_str(), handle)?;
        let content: Value = serde_json::from_str(&content).ok()?;
        let server = ServerId::parse(content["server"].as_str()?).ok()?;
        let text = |key: &str| content[key].as_str().map(str::to_owned);
        Some(TaskTicket { server, tool: text("tool")?, task: text("task")? })
    }

    /// The result with the handle that the client knows.
    pub(crate) fn with_handle(result: &RawValue, handle: &str) -> Box<RawValue> {
        let Ok(mut result) = Object::parse(result.get()) else { return result.to_owned() };
        if result.contains("taskId") {
            result.set_string("taskId", handle);
        }
        result.to_raw()
    }
}
