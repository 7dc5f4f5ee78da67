//! A catalogue tool in the format in which a model is offered it. Needed for every tool of every
//! turn, so each is built once per format and cached.

use std::sync::{Arc, LazyLock, OnceLock};

use quick_cache::sync::Cache;
use serde_json::{Map, Value, json};
use tollgate_core::id::ExposedName;
use tollgate_core::tool::{ContentHash, Tool};
use tollgate_core::view::View;

use super::conversion_loss::{ConversionLoss, ConversionLossKind};
use super::definition;
use super::schema::{self, ArgumentRenames, limits};
use super::tool_format::ToolFormat;
use crate::conversation::Function;
use crate::dialect::Dialect;
use crate::extra::Extra;

/// Cached tools, of all catalogues and dialects.
const MAX_CACHED_TOOLS: usize = 16_384;

/// A tool in one format.
#[derive(Debug)]
pub struct FormattedTool {
    /// Its name may differ from the tool's exposed one.
    pub function: Function,
    /// What the format cannot express of its arguments.
    pub lost: Vec<ConversionLoss>,
    renames: ArgumentRenames,
    /// The description that it was built from.
    description: Option<String>,
    shared: OnceLock<Arc<Value>>,
}

impl FormattedTool {
    /// The definition for requests and listings; `form` must be the one that it was built for.
    pub fn definition(&self, form: ToolFormat) -> Value {
        definition::write(&self.function, form, Map::new())
    }

    /// The same, built once and shared.
    pub fn shared_definition(&self, form: ToolFormat) -> Arc<Value> {
        Arc::clone(self.shared.get_or_init(|| Arc::new(self.definition(form))))
    }

    /// Maps arguments sent by a model back to the tool's own names.
    #[must_use]
    pub fn arguments(&self, sent: Map<String, Value>) -> Map<String, Value> {
        self.renames.arguments(sent)
    }
}

#[derive(PartialEq, Eq, Hash)]
struct FormattedToolKey {
    name: ExposedName,
    hash: ContentHash,
    form: ToolFormat,
}

/// The tool in the format of this dialect.
pub fn format_for_dialect(tool: &Tool, dialect: Dialect) -> Arc<FormattedTool> {
    format_tool(tool, dialect.into())
}

/// The tool in any format.
pub fn format_tool(tool: &Tool, form: ToolFormat) -> Arc<FormattedTool> {
    static TOOL_CACHE: LazyLock<Cache<FormattedToolKey, Arc<FormattedTool>>> =
        LazyLock::new(|| Cache::new(MAX_CACHED_TOOLS));
    let key = FormattedToolKey { name: tool.exposed.clone(), hash: tool.hash, form };
    if let Some(kept) = TOOL_CACHE.get(&key)
        && kept.description == tool.description
    {
        return kept;
    }
    let made = Arc::new(build_formatted_tool(tool, form));
    TOOL_CACHE.insert(key, Arc::clone(&made));
    made
}

/// Finds the tool of the view by the name that a model used: names that a format does not accept
/// are replaced in it.
pub fn find_by_model_name<'v>(
    view: &'v View,
    name: &str,
    form: ToolFormat,
) -> Option<&'v Arc<Tool>> {
    let is_meant = |tool: &&Arc<Tool>| format_tool(tool, form).function.name == name;
    view.tool(name).or_else(|| view.tools().iter().find(is_meant))
}

fn build_formatted_tool(tool: &Tool, form: ToolFormat) -> FormattedTool {
    let exposed = tool.exposed.as_str();
    let name = form.names().fit(exposed);
    let mut lost = Vec::new();
    if name != exposed {
        lost.push(ConversionLoss::new(
            ConversionLossKind::Renamed,
            "/name",
            format!("is renamed to `{name}`"),
        ));
    }
    let at = "/inputSchema";
    let own_description = tool.description.as_deref().or(tool.definition.title.as_deref());
    let (parameters, told, renames) = match schema::fit(&tool.definition.input_schema, form, at) {
        Ok(fitted) => {
            lost.extend(fitted.lost);
            (fitted.schema, fitted.notes, fitted.renames)
        }
        Err(unfit) => {
            lost.push(ConversionLoss::new(
                ConversionLossKind::Limit,
                at,
                format!("the schema is omitted: {unfit}"),
            ));
            (Some(json!({"type": "object"})), Vec::new(), ArgumentRenames::default())
        }
    };
    let description = limits::beside(own_description, &told);
    let name = name.into_owned();
    FormattedTool {
        function: Function { name, description, parameters, extra: Extra::none() },
        lost,
        renames,
        description: tool.description.clone(),
        shared: OnceLock::new(),
    }
}

#[cfg(test)]
mod tests;
