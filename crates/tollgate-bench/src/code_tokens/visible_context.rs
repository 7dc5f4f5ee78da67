//! What a model has seen of a conversation: the tools that it was offered, and their results.

use tollgate_llm::conversation::{CallResult, ChatRequest, ChatTool, PartContent};

/// One request, as far as a model reads it.
pub(super) struct VisibleContext {
    /// Names of the tools.
    pub(super) offered: Vec<String>,
    /// Everything that tools answered so far, in order.
    pub(super) results: Vec<String>,
}

impl VisibleContext {
    pub(super) fn of(request: &ChatRequest) -> Self {
        let offered = request.tools.iter().filter_map(|tool| match tool {
            ChatTool::Function(function) => Some(function.name.clone()),
            ChatTool::Hosted { .. } => None,
        });
        let parts = request.messages.iter().flat_map(|message| &message.parts);
        let results = parts.filter_map(|part| match &part.content {
            PartContent::Result(result) => Some(result_text(result)),
            _ => None,
        });
        Self { offered: offered.collect(), results: results.collect() }
    }

    /// By the name that the gateway gave it: long ones are cut.
    pub(super) fn tool(&self, name: &str) -> Option<&str> {
        let exact = self.offered.iter().find(|it| *it == name);
        let start = &name[..name.len().min(48)];
        let found = exact.or_else(|| self.offered.iter().find(|it| it.starts_with(start)));
        found.map(String::as_str)
    }

    /// Whether it was ever shown.
    pub(super) fn has(&self, fact: &str) -> bool {
        self.results.iter().any(|result| result.contains(fact))
    }

    /// What came last.
    pub(super) fn last(&self) -> &str {
        self.results.last().map_or("", String::as_str)
    }
}

fn result_text(result: &CallResult) -> String {
    let texts = result.parts.iter().filter_map(|part| match &part.content {
        PartContent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
