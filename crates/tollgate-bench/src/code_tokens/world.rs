//! The world of the benchmark: what its tools answer, and what was changed in it. Results are made
//! up by rule (`answers.tsv`: what each tool gives, and how much of it); what was written can be read
//! again. Asked by the tools in process, and by the truth.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::inventory::{self, ToolRef};
use super::plan::Arguments;
use super::text::{self, Prose, Seed};

/// What a tool answers.
struct Shape {
    /// `None`: one object.
    list: Option<&'static str>,
    count: usize,
    fields: Vec<Made>,
}

/// One field of an answer.
enum Made {
    Value(&'static str),
    Prose { name: &'static str, bytes: usize, kind: Prose },
}

static SHAPES: LazyLock<HashMap<ToolRef, Shape>> = LazyLock::new(|| {
    let lines = include_str!("answers.tsv").lines();
    lines.map(shape).collect()
});

fn shape(line: &'static str) -> (ToolRef, Shape) {
    let columns: Vec<&'static str> = line.split('\t').collect();
    let [tool, list, count, fields] = columns[..] else { panic!("four columns: {line}") };
    let made = |word: &'static str| {
        let prose = word.split_once('!').map(|it| (it, Prose::Page));
        match prose.or_else(|| word.split_once('*').map(|it| (it, Prose::Snippet))) {
            Some(((name, bytes), kind)) => {
                Made::Prose { name, bytes: bytes.parse().expect("a number"), kind }
            }
            None => Made::Value(word),
        }
    };
    let fields = fields.split(' ').map(made).collect();
    let list = (list != ".").then_some(list);
    (inventory::tool(tool), Shape { list, count: count.parse().expect("a number"), fields })
}

/// One change.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) tool: ToolRef,
    pub(super) arguments: Arguments,
}

#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) changes: Vec<Change>,
}

impl World {
    /// What the tool says; an error in its own words.
    pub(super) fn call(&mut self, tool: &ToolRef, arguments: &Arguments) -> Result<Value, String> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        match tool.name.as_str() {
            "query" => {
                let sql = text("sql");
                if sql.starts_with("SELECT") {
                    return Ok(selected(sql));
                }
                self.change(tool, arguments);
                Ok(json!({ "changes": sql.matches("),").count() + 1 }))
            }
            "read_text_file" if text("path").starts_with("nonexistent") => {
                let path = text("path");
                Err(format!("ENOENT: no such file or directory, open '{path}'"))
            }
            "read_text_file" => {
                Ok(self.file(text("path")).unwrap_or_else(|| made(tool, arguments)))
            }
            "list_directory" if text("path") != "." => Ok(self.directory(text("path"))),
            "list_tables" => Ok(self.with_made(tool, arguments, "sql")),
            "notion_search" | "GOOGLECALENDAR_EVENTS_LIST" => {
                Ok(self.with_made(tool, arguments, "title"))
            }
            "notion_fetch" => Ok(self.page()),
            "notion_get_comments" => Ok(json!({ "text": self.last("text") })),
            _ if SHAPES.contains_key(tool) => Ok(made(tool, arguments)),
            _ => {
                self.change(tool, arguments);
                Ok(done(tool, arguments))
            }
        }
    }

    fn change(&mut self, tool: &ToolRef, arguments: &Arguments) {
        self.changes.push(Change { tool: tool.clone(), arguments: arguments.clone() });
    }

    /// A file that was written, as it is after all edits.
    fn file(&self, path: &str) -> Option<Value> {
        let mut content: Option<String> = None;
        for Change { tool, arguments } in &self.changes {
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
    fn with_made(&self, tool: &ToolRef, arguments: &Arguments, by: &str) -> Value {
        let mut answer = made(tool, arguments);
        let Some(list) = answer.as_object_mut().and_then(|it| it.values_mut().next()) else {
            return answer;
        };
        let Value::Array(items) = list else { return answer };
        for change in &self.changes {
            let fresh = match (by, change.tool.name.as_str()) {
                ("sql", "query") => table(&change.arguments).map(|name| json!({ "name": name })),
                ("title", "notion_create_pages") => titled(&change.arguments),
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
        let said = |change: &Change| {
            let page = change.arguments.get("pages").and_then(|it| it.get(0)?.get(name).cloned());
            page.or_else(|| change.arguments.get(name).cloned())
        };
        self.changes.iter().rev().find_map(said).unwrap_or(Value::Null)
    }
}

fn table(arguments: &Arguments) -> Option<String> {
    let rest = arguments.get("sql")?.as_str()?.strip_prefix("CREATE TABLE ")?;
    let name = rest.strip_prefix("IF NOT EXISTS ").unwrap_or(rest);
    name.split([' ', '(']).next().map(str::to_owned)
}

fn titled(arguments: &Arguments) -> Option<Value> {
    let title = arguments.get("pages")?.get(0)?.get("title")?;
    Some(json!({ "id": "page1", "title": title, "url": "https://notion.example/page1" }))
}

/// An answer by its shape.
fn made(tool: &ToolRef, arguments: &Arguments) -> Value {
    let Some(Shape { list, count, fields }) = SHAPES.get(tool) else { return json!({}) };
    let words = Value::Object(arguments.clone()).to_string();
    let seed = Seed::of(&tool.name).with(&words);
    match list {
        Some(list) => {
            let items: Vec<Value> =
                (0..*count).map(|at| item(fields, &Arguments::new(), seed.at(at))).collect();
            json!({ *list: items })
        }
        None => item(fields, arguments, seed),
    }
}

fn item(fields: &[Made], arguments: &Arguments, seed: Seed) -> Value {
    if let [Made::Value("@")] = fields {
        return text::value("@", seed);
    }
    let each = fields.iter().map(|field| match field {
        Made::Value(name) => {
            // What was asked for by name comes back under it.
            let echoed = arguments.get(*name).cloned();
            ((*name).to_owned(), echoed.unwrap_or_else(|| text::value(name, seed)))
        }
        Made::Prose { name, bytes, kind } => {
            ((*name).to_owned(), json!(text::prose(seed.with(name), *bytes, *kind)))
        }
    });
    Value::Object(each.collect::<Map<_, _>>())
}

/// Rows with a value for each name that the query gives.
fn selected(sql: &str) -> Value {
    let names = sql.split(" AS ").skip(1);
    let names: Vec<&str> = names.filter_map(|it| it.split([',', ' ', ')']).next()).collect();
    let seed = Seed::of(sql);
    let row = |at: usize| {
        let each = names.iter().map(|name| ((*name).to_owned(), text::value(name, seed.at(at))));
        Value::Object(each.collect())
    };
    let count = if sql.contains("LIMIT 1") { 1 } else { 5 };
    json!({ "rows": (0..count).map(row).collect::<Vec<_>>() })
}

/// What a tool says that changed something. Its id follows from the name of the thing.
fn done(tool: &ToolRef, arguments: &Arguments) -> Value {
    let named = ["title", "name", "path", "file_name", "text"];
    let named = named.iter().find_map(|it| arguments.get(*it)?.as_str());
    let id = text::value("id", Seed::of(&tool.name).with(named.unwrap_or_default()));
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
