//! Authorization of a request: the only constructor of [`Permitted`], and so the only path to a
//! backend. Hidden and absent items get the same refusal, so that names do not leak.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::{GateRequest, RequestKind, TaskVerb};
use crate::id::ServerId;
use crate::json::{self, MalformedJsonError, Object};
use crate::nearest;
use crate::schema::Violation;
use crate::text::truncate_chars;
use crate::tool::Tool;
use crate::turn::Turn;

/// Characters of a name or URI that a refusal repeats.
const MAX_ECHOED_CHARS: usize = 80;

/// A request that passed the policy. Only [`permit`] makes one.
#[derive(Debug)]
pub struct Permitted<'a> {
    kind: RequestKind,
    server: ServerId,
    params: Object<'a>,
    call: Option<ToolCall>,
}

/// The tool that is called, and its arguments, parsed once and checked.
#[derive(Debug, Clone)]
struct ToolCall {
    tool: Arc<Tool>,
    arguments: Value,
}

impl<'a> Permitted<'a> {
    pub fn kind(&self) -> RequestKind {
        self.kind
    }

    pub fn server(&self) -> &ServerId {
        &self.server
    }

    pub fn tool(&self) -> Option<&Arc<Tool>> {
        self.call.as_ref().map(|call| &call.tool)
    }

    pub fn arguments(&self) -> Option<&Value> {
        self.call.as_ref().map(|call| &call.arguments)
    }

    /// The params in the server's own names.
    pub fn params(&self) -> &Object<'a> {
        &self.params
    }

    /// A copy that outlives the text it was read from.
    pub fn to_owned(&self) -> Permitted<'static> {
        Permitted {
            kind: self.kind,
            server: self.server.clone(),
            params: self.params.clone().into_owned(),
            call: self.call.clone(),
        }
    }
}

/// Why a request goes no further. Nothing was sent anywhere.
#[derive(Debug, thiserror::Error)]
pub enum PermitError {
    #[error("{}", unknown("tool", .name, .nearest))]
    UnknownTool { name: String, nearest: Vec<String> },
    /// Its server is known, and not there.
    #[error("`{name}` is unavailable until its server `{server}` is back online")]
    Away { name: String, server: ServerId },
    /// Its server lists it, and nobody has accepted what it lists.
    #[error("`{name}` is withheld until an operator accepts its definition")]
    Withheld { name: String, server: ServerId },
    /// It is called in code, and not by its name.
    #[error(
        "`{name}` can be called from code only: write a program for `executeToolCode`; \
         `searchTools` shows its signature"
    )]
    OnlyInCode { name: String },
    #[error("{}", unknown("prompt", .name, .nearest))]
    UnknownPrompt { name: String, nearest: Vec<String> },
    #[error("there is no resource `{uri}`")]
    UnknownResource { uri: String },
    #[error("{}", invalid(.tool, .violations))]
    InvalidArguments { tool: Arc<Tool>, violations: Vec<Violation> },
    #[error("there is no such task")]
    UnknownTask,
    /// By the operator's rules for secrets.
    #[error(
        "this was not sent because it contains a secret; remove the secret and refer to it by name"
    )]
    ContainsSecrets,
    #[error("{0}")]
    BadParams(String),
}

/// A task of a server, as the gate gave it to this principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskTicket {
    pub server: ServerId,
    /// The tool that was called, as its caller saw it.
    pub tool: String,
    /// As the server says it.
    pub task: String,
}

/// Lets a request about a task through to its server, if its caller still has the tool.
pub fn permit_task<'a>(
    turn: &Turn,
    verb: TaskVerb,
    ticket: TaskTicket,
    mut params: Object<'a>,
) -> Result<Permitted<'a>, PermitError> {
    let tool = turn.view.in_code().tool(&ticket.tool);
    if tool.is_none_or(|tool| tool.id.server != ticket.server) {
        return Err(PermitError::UnknownTask);
    }
    params.set_string("taskId", &ticket.task);
    Ok(Permitted { kind: RequestKind::Task(verb), server: ticket.server, params, call: None })
}

/// Lets a request through to the server that can answer it, or says why not.
pub fn permit<'a>(turn: &Turn, request: GateRequest<'a>) -> Result<Permitted<'a>, PermitError> {
    let GateRequest { kind, mut params } = request;
    match kind {
        RequestKind::CallTool => permit_tool(turn, params),
        RequestKind::GetPrompt => {
            let name = require_string(&params, "name")?.into_owned();
            let prompt = turn.view.prompt(&name).ok_or_else(|| unknown_prompt(turn, &name))?;
            params.set_string("name", prompt.name.as_str());
            Ok(Permitted { kind, server: prompt.server.clone(), params, call: None })
        }
        RequestKind::ReadResource => {
            let uri = require_string(&params, "uri")?;
            let server = resource_server(turn, &uri)?;
            drop(uri);
            Ok(Permitted { kind, server, params, call: None })
        }
        RequestKind::Complete => permit_completion(turn, params),
        // A task's own id says nothing about whose it is: [`permit_task`] wants its ticket.
        RequestKind::Task(_) => Err(PermitError::UnknownTask),
    }
}

fn permit_tool<'a>(turn: &Turn, mut params: Object<'a>) -> Result<Permitted<'a>, PermitError> {
    if let Some(key) = params.twin_of(&["name", "arguments", "_meta"]) {
        return Err(PermitError::BadParams(format!(
            "a key of `params` imitates `{key}` with look-alike characters"
        )));
    }
    let name = require_string(&params, "name")?;
    let Some(tool) = turn.view.tool(&name).cloned() else {
        if let Some(server) = turn.view.away(&name) {
            return Err(PermitError::Away {
                name: truncate_chars(&name, MAX_ECHOED_CHARS),
                server: server.clone(),
            });
        }
        if let Some(server) = turn.view.untrusted_server(&name) {
            let name = truncate_chars(&name, MAX_ECHOED_CHARS);
            let server = server.clone();
            return Err(PermitError::Withheld { name, server });
        }
        if turn.view.only_in_code(&name).is_some() {
            return Err(PermitError::OnlyInCode { name: truncate_chars(&name, MAX_ECHOED_CHARS) });
        }
        let nearest = turn.view.nearest(&name).into_iter().map(str::to_owned).collect();
        return Err(PermitError::UnknownTool {
            name: truncate_chars(&name, MAX_ECHOED_CHARS),
            nearest,
        });
    };
    drop(name);
    let mut arguments = match params.get("arguments").map(RawValue::get) {
        None | Some("null") => Value::Object(serde_json::Map::new()),
        Some(text) => json::value_within(text, turn.policy.limits.argument_values)
            .map_err(|error| unreadable_arguments(&error))?,
    };
    if let Err(violations) = tool.input.check(&arguments) {
        if !without_nulls(&tool, &mut arguments) || tool.input.check(&arguments).is_err() {
            return Err(PermitError::InvalidArguments { tool, violations });
        }
        params.set("arguments", json::raw_value(&arguments));
    }
    if tool.id.tool.as_str() != tool.exposed.as_str() {
        params.set_string("name", tool.id.tool.as_str());
    }
    let server = tool.id.server.clone();
    Ok(Permitted {
        kind: RequestKind::CallTool,
        server,
        params,
        call: Some(ToolCall { tool, arguments }),
    })
}

fn unreadable_arguments(error: &MalformedJsonError) -> PermitError {
    let hint = match error {
        MalformedJsonError::OutOfBounds(_) => {
            " (`limits.argument_values`); send fewer, or in several calls"
        }
        _ => "",
    };
    PermitError::BadParams(format!("`arguments` cannot be read: {error}{hint}"))
}

/// Takes out optional arguments that must not be `null` and are: many models write that for "not
/// given". One that may be `null` stays. Whether there were any to take out.
fn without_nulls(tool: &Tool, arguments: &mut Value) -> bool {
    let at_fault = tool.input.fields_at_fault(arguments);
    let required = tool.definition.input_schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let Some(fields) = arguments.as_object_mut() else { return false };
    let before = fields.len();
    fields.retain(|name, value| !value.is_null() || is_required(name) || !at_fault.contains(name));
    fields.len() < before
}

/// `ref` names a prompt or a resource template; the request goes to whoever owns it.
fn permit_completion<'a>(
    turn: &Turn,
    mut params: Object<'a>,
) -> Result<Permitted<'a>, PermitError> {
    let kind = RequestKind::Complete;
    let Some(mut reference) = params.object("ref").map(Object::into_owned) else {
        return Err(PermitError::BadParams("`ref` must be an object".to_owned()));
    };
    if reference.string("type").as_deref() == Some("ref/prompt") {
        let name = require_string(&reference, "name")?.into_owned();
        let prompt = turn.view.prompt(&name).ok_or_else(|| unknown_prompt(turn, &name))?;
        reference.set_string("name", prompt.name.as_str());
        params.set("ref", reference.to_raw());
        return Ok(Permitted { kind, server: prompt.server.clone(), params, call: None });
    }
    let uri = require_string(&reference, "uri")?;
    let template = turn.view.templates().iter().find(|template| template.pattern == *uri);
    let server = match template {
        Some(template) => template.server.clone(),
        None => resource_server(turn, &uri)?,
    };
    Ok(Permitted { kind, server, params, call: None })
}

fn resource_server(turn: &Turn, uri: &str) -> Result<ServerId, PermitError> {
    let server = turn.view.resource_route(uri);
    server
        .cloned()
        .ok_or_else(|| PermitError::UnknownResource { uri: truncate_chars(uri, MAX_ECHOED_CHARS) })
}

fn unknown_prompt(turn: &Turn, name: &str) -> PermitError {
    let known = turn.view.prompts().iter().map(|prompt| prompt.exposed.as_str());
    let nearest = nearest::nearest(name, known).into_iter().map(str::to_owned).collect();
    PermitError::UnknownPrompt { name: truncate_chars(name, MAX_ECHOED_CHARS), nearest }
}

fn require_string<'o>(params: &'o Object<'_>, key: &str) -> Result<Cow<'o, str>, PermitError> {
    params.string(key).ok_or_else(|| PermitError::BadParams(format!("`{key}` must be a string")))
}

fn unknown(what: &str, name: &str, nearest: &[String]) -> String {
    match nearest {
        [] => format!("there is no {what} `{name}`"),
        names => format!("there is no {what} `{name}`; did you mean `{}`?", names.join("` or `")),
    }
}

fn invalid(tool: &Tool, violations: &[Violation]) -> String {
    let what: Vec<String> = violations.iter().map(ToString::to_string).collect();
    format!("the arguments for `{}` do not fit its schema: {}", tool.exposed, what.join("; "))
}

#[cfg(test)]
mod tests;
