//! The immutable snapshot of everything that all servers offer, built whole and swapped whole.
//! Built by the registry; read by views. Knows nothing of agents.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::glob::Glob;
use crate::id::{ExposedName, ServerId, ToolId, ToolName};
use crate::names::{NamePattern, Owners};
use crate::tool::{Finding, Override, Tool};

/// What one server says it has: the items of its lists, as they came.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub tools: Vec<Box<RawValue>>,
    pub resources: Vec<Box<RawValue>>,
    pub templates: Vec<Box<RawValue>>,
    pub prompts: Vec<Box<RawValue>>,
}

/// What the config says of one server, as far as its tools go.
#[derive(Debug, Clone)]
pub struct Rules {
    pub server: ServerId,
    pub origin: Origin,
    /// May the server's own annotations allow retries, caching, probes?
    pub trusted: bool,
    pub timeout: Duration,
    pub allow: Vec<Glob>,
    pub deny: Vec<Glob>,
    pub tools: BTreeMap<ToolName, Override>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In process; tools keep their bare names and win every collision.
    Builtin,
    Upstream,
}

/// One server's part of the next catalogue, in the order of the config (built-in ones first).
#[derive(Debug, Clone)]
pub struct Offer {
    pub rules: Arc<Rules>,
    pub listing: Arc<Listing>,
    /// An absent server keeps its names, but its tools are left out.
    pub present: bool,
}

/// All that a catalogue is made of, beside the owners of names.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    pub version: u64,
    pub offers: &'a [Offer],
    pub pattern: &'a NamePattern,
    /// Tools that did not change since are taken over from here, not compiled again.
    pub previous: Option<&'a Catalog>,
}

#[derive(Debug, Default)]
pub struct Catalog {
    pub version: u64,
    /// By exposed name.
    pub tools: Vec<Arc<Tool>>,
    pub prompts: Vec<Arc<Prompt>>,
    /// By URI.
    pub resources: Vec<Arc<Resource>>,
    pub templates: Vec<Arc<Template>>,
    /// What was left out or changed on intake, and why; for people to see.
    pub problems: Vec<Problem>,
}

#[derive(Debug)]
pub struct Prompt {
    pub server: ServerId,
    /// As the server says it.
    pub name: ToolName,
    pub exposed: ExposedName,
    /// As listed: under its exposed name.
    pub listed: Box<str>,
}

#[derive(Debug)]
pub struct Resource {
    pub server: ServerId,
    pub uri: String,
    /// What agents' lists of allowed names are matched against.
    pub exposed: ExposedName,
    pub listed: Box<str>,
}

#[derive(Debug)]
pub struct Template {
    pub server: ServerId,
    /// RFC 6570, as the server says it.
    pub pattern: String,
    pub exposed: ExposedName,
    pub listed: Box<str>,
}

/// Something that did not make it into the catalogue, or not unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub tool: ToolId,
    pub kind: ProblemKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// The definition cannot be used; the tool is left out.
    Rejected(String),
    /// The name belongs to another tool; this one is left out until `expose_as` gives it another.
    NameTaken { exposed: String, owner: ToolId },
    /// Text that hides something; it was taken out, the tool is served.
    Suspicious(Finding),
}

impl Catalog {
    /// Merges all offers. `owners` remembers who had which name, so that no name changes hands.
    pub fn build(inputs: &Inputs<'_>, _owners: &mut Owners) -> Self {
        Self { version: inputs.version, ..Self::default() }
    }

    pub fn tool(&self, exposed: &str) -> Option<&Arc<Tool>> {
        let at = self.tools.binary_search_by(|tool| tool.exposed.as_str().cmp(exposed)).ok()?;
        Some(&self.tools[at])
    }
}
