//! The world of the benchmark: what its tools answer, and what was changed in it.
//!
//! Results are made up by rule (`answers.tsv`: what each tool gives, and how much of it); what was
//! written can be read again. Asked by the tools in process, and by the truth.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::inventory::{self, ToolRef};
use super::plan::PlanArguments;
use super::text::{self, ProseKind, TextSeed};

/// What a tool answers.
struct AnswerShape {
    /// `None`: one object.
    list: Option<&'static str>,
    count: usize,
    fields: Vec<AnswerField>,
}

/// One field of an answer.
enum AnswerField {
    Value(&'static str),
    Prose { name: &'static str, bytes: usize, kind: ProseKind },
}

static SHAPES: LazyLock<HashMap<ToolRef, AnswerShape>> = LazyLock::new(|| {
    let lines = include_str!("answers.tsv").lines();
    lines.map(shape).collect()
});

fn shape(line: &'static str) -> (ToolRef, AnswerShape) {
    let columns: Vec<&'static str> = line.split('\t').collect();
    let [tool, list, count, fields] = columns[..] else { panic!("four columns: {line}") };
    let made = |word: &'static str| {
        let prose = word.split_once('!').map(|it| (it, ProseKind::Page));
        match prose.or_else(|| word.split_once('*').map(|it| (it, ProseKind::Snippet))) {
            Some(((name, bytes), kind)) => {
                AnswerField::Prose { name, bytes: bytes.parse().expect("a number"), kind }
            }
            None => AnswerField::Value(word),
        }
    };
    let fields = fields.split(' ').map(made).collect();
    let list = (list != ".").then_some(list);
    (inventory::tool(tool), AnswerShape { list, count: count.parse().expect("a number"), fields })
}

/// One change.
#[derive(Debug, Clone)]
pub(super) struct WorldChange {
    pub(super) tool: ToolRef,
    pub(super) arguments: PlanArguments,
}

#[derive(Debug, Default)]
pub(super) struct SimulatedWorld {
    pub(super) changes: Vec<WorldChange>,
}

/// What a tool says when it fails.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct SimulatedToolError(String);

impl SimulatedWorld {
    /// What the tool says.
    pub(super) fn call(
        &mut self,
        tool: &ToolRef,
        arguments: &PlanArguments,
    ) -> Result<Value, SimulatedToolError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        match tool.name.as_str() {
            "query" => {
                let sql = text("sql");
                if sql.starts_with("SELECT") {
                    return Ok(select_rows(sql));
                }
                self.change(tool, arguments);
                Ok(json!({ "changes": sql.matches("),").count() + 1 }))
            }
            "read_text_file" if text("path").starts_with("nonexistent") => {
                let path = text("path");
                let message = format!("ENOENT: no such file or directory, open '{path}'");
                Err(SimulatedToolError(message))
            }
            "read_text_file" => {
                Ok(self.file(text("path")).unwrap_or_else(|| answer_by_shape(tool, arguments)))
            }
            "list_directory" if text("path") != "." => Ok(self.directory(text("path"))),
            "list_tables" => Ok(self.with_made(tool, arguments, "sql")),
            "notion_search" | "GOOGLECALENDAR_EVENTS_LIST" => {
                Ok(self.with_made(tool, arguments, "title"))
            }
            "notion_fetch" => Ok(self.page()),
            "notion_get_comments" => Ok(json!({ "text": self.last("text") })),
            _ if SHAPES.contains_key(tool) => Ok(answer_by_shape(tool, arguments)),
            _ => {
                self.change(tool, arguments);
                Ok(change_receipt(tool, arguments))
            }
        }
    }

    fn change(&mut self, tool: &ToolRef, arguments: &PlanArguments) {
        self.changes.push(WorldChange { tool: tool.clone(), arguments: arguments.clone() });
    }

    /// A file that was written, as it is after all edits.
    fn file(&self, path: &str) -> Option<Value> {
        let mut content: Option<String> = None;
        for WorldChange { tool, arguments } in &self.changes {
            if arguments.get("path").and_then(Value::as_str) != Some(path) {
                continue;
            }
            match (tool.name.as_str(), &mut content) {
                ("write_file", _) => content = arguments["content"].as_str().map(str::to_owned),
                ("edit_file", Some(content)) => {
                    for edit in arguments["edits"].as_array().into_iter().flatten() {
                        let word = |name: &str| edit[name].as_str().unwrap_or_default().to_owned();
                        *content = content.replace(&word("oldText"), &word("newText"));
                    }
                }
                _ => {}
            }
        }
        content.map(|content| json!({ "path": path, "content": content }))
    }

    fn directory(&self, path: &str) -> Value {
        let paths = self.changes.iter().filter_map(|it| it.arguments.get("path")?.as_str());
        let names = paths.filter_map(|it| it.strip_prefix(path)?.strip_prefix('/'));
        let entries: Vec<Value> =
            names.map(|name| json!({ "type": "FILE", "name": name })).collect();
        json!({ "entries": entries })
    }

    /// What there always was, behind what was made with a name or title since.
    fn with_made(&self, tool: &ToolRef, arguments: &PlanArguments, by: &str) -> Value {
        let mut answer = answer_by_shape(tool, arguments);
        let Some(list) = answer.as_object_mut().and_then(|it| it.values_mut().next()) else {
            return answer;
        };
        let Value::Array(items) = list else { return answer };
        for change in &self.changes {
            let fresh = match (by, change.tool.name.as_str()) {
                ("sql", "query") => table(&change.arguments).map(|name| json!({ "name": name })),
                ("title", "notion_create_pages") => created_page(&change.arguments),
                ("title", "GOOGLECALENDAR_QUICK_ADD") => Some(
                    json!({ "id": "quick1", "summary": change.arguments["text"], "start": "2026-03-02T10:00:00Z", "end": "2026-03-02T11:00:00Z" }),
                ),
                _ => None,
            };
            if let Some(fresh) = fresh
                && !items.contains(&fresh)
            {
                items.insert(0, fresh);
            }
        }
        answer
    }

    fn page(&self) -> Value {
        json!({ "title": "Page", "content": self.last("content") })
    }

    /// What was said last under this name, in a page or beside it.
    fn last(&self, name: &str) -> Value {
        let render = |change: &WorldChange| {
            let page = change.arguments.get("pages").and_then(|it| it.get(0)?.get(name).cloned());
            page.or_else(|| change.arguments.get(name).cloned())
        };
        self.changes.iter().rev().find_map(render).unwrap_or(Value::Null)
    }
}

fn table(arguments: &PlanArguments) -> Option<String> {
    let rest = arguments.get("sql")?.as_str()?.strip_prefix("CREATE TABLE ")?;
    let name = rest.strip_prefix("IF NOT EXISTS ").unwrap_or(rest);
    name.split([' ', '(']).next().map(str::to_owned)
}

fn created_page(arguments: &PlanArguments) -> Option<Value> {
    let title = arguments.get("pages")?.get(0)?.get("title")?;
    Some(json!({ "id": "page1", "title": title, "url": "https://notion.example/page1" }))
}

/// An answer by its shape.
fn answer_by_shape(tool: &ToolRef, arguments: &PlanArguments) -> Value {
    let Some(AnswerShape { list, count, fields }) = SHAPES.get(tool) else { return json!({}) };
    let words = Value::Object(arguments.clone()).to_string();
    let seed = TextSeed::of(&tool.name).with(&words);
    match list {
        Some(list) => {
            let items: Vec<Value> =
                (0..*count).map(|at| item(fields, &PlanArguments::new(), seed.at(at))).collect();
            json!({ *list: items })
        }
        None => item(fields, arguments, seed),
    }
}

fn item(fields: &[AnswerField], arguments: &PlanArguments, seed: TextSeed) -> Value {
    if let [AnswerField::Value("@")] = fields {
        return text::value("@", seed);
    }
    let each = fields.iter().map(|field| match field {
        AnswerField::Value(name) => {
            // What was asked for by name comes back under it.
            let echoed = arguments.get(*name).cloned();
            ((*name).to_owned(), echoed.unwrap_or_else(|| text::value(name, seed)))
        }
        AnswerField::Prose { name, bytes, kind } => {
            ((*name).to_owned(), json!(text::prose(seed.with(name), *bytes, *kind)))
        }
    });
    Value::Object(each.collect::<Map<_, _>>())
}

/// Rows with a value for each name that the query gives.
fn select_rows(sql: &str) -> Value {
    let names = sql.split(" AS ").skip(1);
    let names: Vec<&str> = names.filter_map(|it| it.split([',', ' ', ')']).next()).collect();
    let seed = TextSeed::of(sql);
    let row = |at: usize| {
        let each = names.iter().map(|name| ((*name).to_owned(), text::value(name, seed.at(at))));
        Value::Object(each.collect())
    };
    let count = if sql.contains("LIMIT 1") { 1 } else { 5 };
    json!({ "rows": (0..count).map(row).collect::<Vec<_>>() })
}

/// What a tool says that changed something. Its id follows from the name of the thing.
fn change_receipt(tool: &ToolRef, arguments: &PlanArguments) -> Value {
    let named = ["title", "name", "path", "file_name", "text"];
    let named = named.iter().find_map(|it| arguments.get(*it)?.as_str());
    let id = text::value("id", TextSeed::of(&tool.name).with(named.unwrap_or_default()));
    let key = match tool.name.as_str() {
        "create_spreadsheet" => "spreadsheet_id",
        name if name.starts_with("GOOGLEDOCS_CREATE_DOCUMENT") => "document_id",
        _ => "id",
    };
    let mut answer = json!({ "ok": true, key: id });
    if let Some(path) = arguments.get("path") {
        answer["path"] = path.clone();
    }
    answer
}
