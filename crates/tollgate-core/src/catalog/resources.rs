//! Builds the catalogue's resources and resource templates from server lists. They keep their URIs;
//! if two servers offer one URI, the first in the config wins.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::prompts::ListingItem;
use super::{
    CatalogInputs, CatalogProblem, CatalogProblemKind, CatalogResource, ResourceTemplate,
    ServerRules,
};
use crate::id::{ExposedName, ServerId, ToolId, ToolName};
use crate::names::{NamePattern, expose};
use crate::tool::{DefinitionError, hidden_text};

const MAX_URI: usize = 8 * 1024;

pub(super) fn merge(
    inputs: &CatalogInputs<'_>,
    problems: &mut Vec<CatalogProblem>,
) -> (Vec<Arc<CatalogResource>>, Vec<Arc<ResourceTemplate>>) {
    let mut resources =
        ResourceMerger { field: "uri", entries: Vec::new(), owners: HashMap::new() };
    let mut templates =
        ResourceMerger { field: "uriTemplate", entries: Vec::new(), owners: HashMap::new() };
    for offer in inputs.offers.iter().filter(|offer| offer.present) {
        let listing = &offer.listing;
        let rules = &*offer.rules;
        for raw in &listing.resources {
            problems.extend(resources.add(inputs.pattern, rules, raw));
        }
        for raw in &listing.templates {
            problems.extend(templates.add(inputs.pattern, rules, raw));
        }
    }
    let resource = |ResourceEntry { server, uri, exposed, listed }| CatalogResource {
        server,
        uri,
        exposed,
        listed,
    };
    let template = |ResourceEntry { server, uri, exposed, listed }| ResourceTemplate {
        server,
        pattern: uri,
        exposed,
        listed,
    };
    (
        resources.into_sorted().map(|entry| Arc::new(resource(entry))).collect(),
        templates.into_sorted().map(|entry| Arc::new(template(entry))).collect(),
    )
}

struct ResourceMerger {
    field: &'static str,
    entries: Vec<ResourceEntry>,
    owners: HashMap<String, ServerId>,
}

struct ResourceEntry {
    server: ServerId,
    uri: String,
    exposed: ExposedName,
    listed: Box<str>,
}

impl ResourceMerger {
    fn add(
        &mut self,
        pattern: &NamePattern,
        rules: &ServerRules,
        raw: &RawValue,
    ) -> Vec<CatalogProblem> {
        let of = |uri: &str| ToolId { server: rules.server.clone(), tool: ToolName::new(uri) };
        let (uri, item) = match read_with_uri(self.field, raw) {
            Ok(read) => read,
            Err(rejected) => {
                let kind = CatalogProblemKind::Rejected(rejected.to_string());
                return vec![CatalogProblem { tool: of(&format!("(a {})", self.field)), kind }];
            }
        };
        if let Some(owner) = self.owners.get(&uri) {
            let kind = CatalogProblemKind::ListedTwice { owner: owner.clone() };
            return vec![CatalogProblem { tool: of(&uri), kind }];
        }
        let tool = of(&uri);
        let suspicious =
            |it| CatalogProblem { tool: tool.clone(), kind: CatalogProblemKind::Suspicious(it) };
        let problems = item.findings.into_iter().map(suspicious).collect();
        let name = item.fields.string("name").filter(|name| !name.is_empty());
        let name = ToolName::new(name.as_deref().unwrap_or(&uri));
        self.owners.insert(uri.clone(), rules.server.clone());
        self.entries.push(ResourceEntry {
            server: rules.server.clone(),
            exposed: expose(pattern, rules.origin, &rules.server, &name),
            listed: item.fields.to_text().into_boxed_str(),
            uri,
        });
        problems
    }

    fn into_sorted(mut self) -> impl Iterator<Item = ResourceEntry> {
        self.entries.sort_by(|a, b| a.uri.cmp(&b.uri));
        self.entries.into_iter()
    }
}

/// The item and its URI. Hidden text cannot be removed from a URI without changing what it names.
fn read_with_uri(
    field: &'static str,
    raw: &RawValue,
) -> Result<(String, ListingItem), DefinitionError> {
    let item = ListingItem::read(raw)?;
    let uri = item.fields.string(field).ok_or(DefinitionError::Missing(field))?.into_owned();
    if uri.is_empty() || uri.len() > MAX_URI {
        return Err(DefinitionError::TooLong { field, size: uri.len(), limit: MAX_URI });
    }
    let changed = item.findings.iter().any(|finding| finding.at[1..] == *field);
    if changed || !hidden_text::clean(&uri).1.is_empty() {
        Err(DefinitionError::Type { field, expected: "text without hidden characters" })
    } else {
        Ok((uri, item))
    }
}
