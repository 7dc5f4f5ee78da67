//! The immutable set of things that one agent may see and call, at one tier of one catalogue.
//! Listing and calling both read it, so that what is not listed cannot be called.

use std::sync::Arc;

use crate::agent::Agent;
use crate::budget::Tier;
use crate::catalog::{Catalog, Prompt, Resource, Template};
use crate::id::{AgentId, ServerId};
use crate::tool::Tool;

#[derive(Debug)]
pub struct View {
    pub agent: AgentId,
    pub tier: Tier,
    /// Of the catalogue.
    pub version: u64,
    tools: Vec<Arc<Tool>>,
    prompts: Vec<Arc<Prompt>>,
    resources: Vec<Arc<Resource>>,
    templates: Vec<Arc<Template>>,
}

/// The four lists of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// Which protocol era the items are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    Modern,
    Legacy,
}

/// One page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// A JSON array.
    pub items: &'a str,
    /// The cursor of the page after this one.
    pub next: Option<&'a str>,
}

/// The cursor is not one of this list as it stands now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this list, or the list has changed; start again without it")]
pub struct BadCursor;

impl View {
    pub fn build(catalog: &Arc<Catalog>, agent: &Agent, tier: Tier) -> Self {
        Self {
            agent: agent.id.clone(),
            tier,
            version: catalog.version,
            tools: catalog.tools.clone(),
            prompts: catalog.prompts.clone(),
            resources: catalog.resources.clone(),
            templates: catalog.templates.clone(),
        }
    }

    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    pub fn tool(&self, exposed: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|tool| tool.exposed.as_str() == exposed)
    }

    pub fn prompts(&self) -> &[Arc<Prompt>] {
        &self.prompts
    }

    pub fn prompt(&self, exposed: &str) -> Option<&Arc<Prompt>> {
        self.prompts.iter().find(|prompt| prompt.exposed.as_str() == exposed)
    }

    pub fn resources(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    pub fn templates(&self) -> &[Arc<Template>] {
        &self.templates
    }

    pub fn resource_route(&self, _uri: &str) -> Option<&ServerId> {
        None
    }

    pub fn nearest(&self, _name: &str) -> Vec<&str> {
        Vec::new()
    }

    pub fn page(
        &self,
        _list: List,
        _form: Form,
        cursor: Option<&str>,
    ) -> Result<Page<'_>, BadCursor> {
        match cursor {
            None => Ok(Page { items: "[]", next: None }),
            Some(_) => Err(BadCursor),
        }
    }

    pub fn digest(&self, _list: List) -> [u8; 16] {
        [0; 16]
    }
}
