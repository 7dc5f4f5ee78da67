//! Tools and the choice among them, both ways, and the calls of tools as they are read. Called by
//! the readers and writers of requests and answers.

use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::conversation::{Call, Content, Function, Part, Tool, ToolChoice};
use crate::failure::Failure;
use crate::format::fields::{Fields, unknown, wrong};
use crate::format::openai_common::{Allowed, strict_of};

pub(super) fn read_all(list: Vec<Value>) -> Result<Vec<Tool>, Failure> {
    list.into_iter()
        .enumerate()
        .map(|(index, tool)| read(tool, format!("tools[{index}]")))
        .collect()
}

fn read(value: Value, at: String) -> Result<Tool, Failure> {
    let mut fields = Fields::new(value, at)?;
    if fields.peek("type").is_some_and(|kind| kind != "function") {
        let kind = fields.needed_text("type")?;
        fields.put("type", kind);
        return Ok(Tool::Hosted { dialect: DIALECT, value: fields.into_value() });
    }
    fields.take("type");
    let function = fields.object("function")?.ok_or_else(|| fields.missing("function"))?;
    let (function, rest) = read_function(function)?;
    fields.put_back("function", rest);
    Ok(Tool::Function(Function { extra: fields.rest(DIALECT), ..function }))
}

/// The old `functions`, which are tools without a wrapping.
pub(super) fn read_legacy(list: Vec<Value>) -> Result<Vec<Tool>, Failure> {
    let read = |(index, function)| {
        let fields = Fields::new(function, format!("functions[{index}]"))?;
        Ok(Tool::Function(read_function(fields)?.0))
    };
    list.into_iter().enumerate().map(read).collect()
}

fn read_function(mut fields: Fields) -> Result<(Function, Fields), Failure> {
    let name = fields.needed_text("name")?;
    let description = fields.text("description")?;
    let parameters = fields.object("parameters")?.map(Fields::into_value);
    let extra = crate::extra::Extra::none();
    Ok((Function { name, description, parameters, extra }, fields))
}

/// `Err`: a tool that another dialect's provider runs.
pub(super) fn write(tool: &Tool) -> Result<Value, Failure> {
    let function = match tool {
        Tool::Function(function) => function,
        Tool::Hosted { dialect: DIALECT, value } => return Ok(value.clone()),
        Tool::Hosted { dialect, value } => {
            return Err(crate::format::openai_common::hosted(*dialect, value));
        }
    };
    let mut body = Map::from_iter([("name".to_owned(), function.name.clone().into())]);
    if let Some(description) = &function.description {
        body.insert("description".to_owned(), description.clone().into());
    }
    if let Some(parameters) = &function.parameters {
        body.insert("parameters".to_owned(), parameters.clone());
    }
    if let Some(strict) = strict_of(function) {
        body.insert("strict".to_owned(), strict.into());
    }
    let mut tool = Map::from_iter([
        ("type".to_owned(), "function".into()),
        ("function".to_owned(), Value::Object(body)),
    ]);
    function.extra.write_into(DIALECT, &mut tool);
    Ok(Value::Object(tool))
}

pub(super) fn read_choice(fields: &mut Fields) -> Result<ToolChoice, Failure> {
    let at = fields.place("tool_choice");
    match fields.take("tool_choice") {
        None => Ok(ToolChoice::Unsaid),
        Some(Value::String(word)) => choice_word(&word, &at),
        Some(value @ Value::Object(_)) if value["type"] == "function" => {
            let mut choice = Fields::new(value, at)?;
            let mut function =
                choice.object("function")?.ok_or_else(|| choice.missing("function"))?;
            Ok(ToolChoice::Named(function.needed_text("name")?))
        }
        Some(value @ Value::Object(_)) if value["type"].is_string() => {
            Ok(ToolChoice::Opaque { dialect: DIALECT, value })
        }
        Some(Value::Object(_)) => Err(Failure::invalid(&at, format!("`{at}.type` is missing"))),
        Some(other) => Err(wrong(&at, "a string or an object", &other)),
    }
}

fn choice_word(word: &str, at: &str) -> Result<ToolChoice, Failure> {
    match word {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "required" => Ok(ToolChoice::Required),
        _ => Err(unknown(at, word, &["auto", "none", "required"])),
    }
}

/// The old `function_call`: what a client says, and what it is now.
pub(super) fn read_legacy_choice(fields: &mut Fields) -> Result<ToolChoice, Failure> {
    let at = fields.place("function_call");
    match fields.take("function_call") {
        None => Ok(ToolChoice::Unsaid),
        Some(Value::String(word)) => choice_word(&word, &at),
        Some(value) => Ok(ToolChoice::Named(Fields::new(value, at)?.needed_text("name")?)),
    }
}

/// `Err` has what the dialect cannot say.
pub(super) fn write_choice(choice: &ToolChoice) -> Result<Option<Value>, String> {
    Ok(Some(match choice {
        ToolChoice::Unsaid => return Ok(None),
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
        ToolChoice::Opaque { dialect: DIALECT, value } => value.clone(),
        ToolChoice::Opaque { dialect, value } => match Allowed::read(*dialect, value) {
            Some(allowed) => allowed.chat(),
            None => return Err("field `tool_choice`".to_owned()),
        },
    }))
}

/// One of an assistant's `tool_calls`.
pub(super) fn read_call(value: Value, at: String) -> Result<Part, Failure> {
    let mut fields = Fields::new(value, at)?;
    if fields.peek("type").is_some_and(|kind| kind != "function") {
        let content = Content::Opaque { dialect: DIALECT, value: fields.into_value() };
        return Ok(Part::new(content));
    }
    fields.take("type");
    fields.take("index");
    let id = fields.needed_text("id")?;
    let mut function = fields.object("function")?.ok_or_else(|| fields.missing("function"))?;
    let name = function.needed_text("name")?;
    let arguments = read_arguments(&mut function)?;
    fields.put_back("function", function);
    Ok(Part { content: Content::Call(Call { id, name, arguments }), extra: fields.rest(DIALECT) })
}

/// Text as a rule; some send the object that it should contain.
pub(super) fn read_arguments(function: &mut Fields) -> Result<String, Failure> {
    match function.take("arguments") {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(object @ Value::Object(_)) => Ok(object.to_string()),
        Some(other) => Err(wrong(&function.place("arguments"), "a string", &other)),
    }
}

pub(super) fn write_call(call: &Call, part: &Part) -> Value {
    let mut object = Map::from_iter([
        ("id".to_owned(), call.id.clone().into()),
        ("type".to_owned(), "function".into()),
        ("function".to_owned(), json!({"name": call.name, "arguments": call.arguments})),
    ]);
    part.extra.write_into(DIALECT, &mut object);
    Value::Object(object)
}

/// Whether an opaque part is a call of a tool of some other kind, such as `custom`.
pub(super) fn is_call(value: &Value) -> bool {
    value["id"].is_string()
}
