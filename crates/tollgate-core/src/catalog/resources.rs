//! From listings to the resources and templates of the catalogue. They keep their URIs; of two
//! servers that offer one URI, the first in the config has it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::prompts::Item;
use super::{Inputs, Problem, ProblemKind, Resource, Rules, Template};
use crate::id::{ExposedName, ServerId, ToolId, ToolName};
use crate::names::{NamePattern, expose};
use crate::tool::{Rejected, hidden};

const MAX_URI: usize = 8 * 1024;

pub(super) fn merge(
    inputs: &Inputs<'_>,
    problems: &mut Vec<Problem>,
) -> (Vec<Arc<Resource>>, Vec<Arc<Template>>) {
    let mut resources = Merged { field: "uri", entries: Vec::new(), owners: HashMap::new() };
    let mut templates =
        Merged { field: "uriTemplate", entries: Vec::new(), owners: HashMap::new() };
    for offer in inputs.offers.iter().filter(|offer| offer.present) {
        let (listing, rules) = (&offer.listing, &*offer.rules);
        for raw in &listing.resources {
            problems.extend(resources.add(inputs.pattern, rules, raw));
        }
        for raw in &listing.templates {
            problems.extend(templates.add(inputs.pattern, rules, raw));
        }
    }
    let resource =
        |Entry { server, uri, exposed, listed }| Resource { server, uri, exposed, listed };
    let template =
        |Entry { server, uri, exposed, listed }| Template { server, pattern: uri, exposed, listed };
    (
        resources.sorted().map(|entry| Arc::new(resource(entry))).collect(),
        templates.sorted().map(|entry| Arc::new(template(entry))).collect(),
    )
}

struct Merged {
    field: &'static str,
    entries: Vec<Entry>,
    owners: HashMap<String, ServerId>,
}

struct Entry {
    server: ServerId,
    uri: String,
    exposed: ExposedName,
    listed: Box<str>,
}

impl Merged {
    fn add(&mut self, pattern: &NamePattern, rules: &Rules, raw: &RawValue) -> Vec<Problem> {
        let of = |uri: &str| ToolId { server: rules.server.clone(), tool: ToolName::new(uri) };
        let (uri, item) = match located(self.field, raw) {
            Ok(read) => read,
            Err(rejected) => {
                let kind = ProblemKind::Rejected(rejected.to_string());
                return vec![Problem { tool: of(&format!("(a {})", self.field)), kind }];
            }
        };
        if let Some(owner) = self.owners.get(&uri) {
            let kind = ProblemKind::ListedTwice { owner: owner.clone() };
            return vec![Problem { tool: of(&uri), kind }];
        }
        let tool = of(&uri);
        let suspicious = |it| Problem { tool: tool.clone(), kind: ProblemKind::Suspicious(it) };
        let problems = item.findings.into_iter().map(suspicious).collect();
        let name = item.fields.string("name").filter(|name| !name.is_empty());
        let name = ToolName::new(name.as_deref().unwrap_or(&uri));
        self.owners.insert(uri.clone(), rules.server.clone());
        self.entries.push(Entry {
            server: rules.server.clone(),
            exposed: expose(pattern, rules.origin, &rules.server, &name),
            listed: item.fields.to_text().into_boxed_str(),
            uri,
        });
        problems
    }

    fn sorted(mut self) -> impl Iterator<Item = Entry> {
        self.entries.sort_by(|a, b| a.uri.cmp(&b.uri));
        self.entries.into_iter()
    }
}

/// The item and its URI. What hides in a URI cannot be taken out, or it would be another one.
fn located(field: &'static str, raw: &RawValue) -> Result<(String, Item), Rejected> {
    let item = Item::read(raw)?;
    let uri = item.fields.string(field).ok_or(Rejected::Missing(field))?.into_owned();
    if uri.is_empty() || uri.len() > MAX_URI {
        return Err(Rejected::TooLong { field, size: uri.len(), limit: MAX_URI });
    }
    let changed = item.findings.iter().any(|finding| finding.at[1..] == *field);
    match changed || !hidden::clean(&uri).1.is_empty() {
        true => Err(Rejected::Type { field, expected: "text without hidden characters" }),
        false => Ok((uri, item)),
    }
}
