//! A catalogue as large gateways have it: many servers with the same verbs, each tool with a page of
//! description and parameters. Made by rule, without chance.

use serde_json::{Map, Value, json};
use tollgate_llm::conversation::Function;
use tollgate_llm::extra::Extra;
use tollgate_llm::window::OfferCandidate;

/// Servers and what each has.
const SERVERS: &[(&str, &[&str])] = &[
    ("calendar", &["event", "attendee", "room", "reminder"]),
    ("files", &["document", "folder", "share", "version"]),
    ("billing", &["invoice", "payment", "refund", "subscription"]),
    ("crm", &["customer", "lead", "deal", "contact"]),
    ("tracker", &["issue", "sprint", "board", "comment"]),
    ("chat", &["message", "channel", "thread", "reaction"]),
    ("mail", &["letter", "draft", "label", "attachment"]),
    ("database", &["table", "row", "index", "backup"]),
    ("cloud", &["instance", "bucket", "network", "secret"]),
    ("deploy", &["release", "pipeline", "environment", "rollback"]),
    ("metrics", &["dashboard", "alert", "query", "incident"]),
    ("shop", &["product", "order", "cart", "coupon"]),
    ("people", &["employee", "team", "leave", "review"]),
];

const VERBS: &[(&str, &str)] = &[
    ("create", "Creates a new"),
    ("delete", "Deletes an existing"),
    ("get", "Fetches a single"),
    ("list", "Lists every"),
    ("update", "Changes the fields of one"),
    ("search", "Searches by words for any"),
    ("export", "Writes to a file each"),
    ("archive", "Puts away without deleting one"),
    ("read", "Reads the whole content of one"),
    ("restore", "Brings back an archived"),
];

/// Of each tool, as many as its place asks for.
const PARAMETERS: &[(&str, &str, &str)] = &[
    (
        "id",
        "string",
        "Identifier as the other tools of this server return it; never a name or a URL",
    ),
    ("status", "string", "Only those in this state; left out, every state is taken into account"),
    ("created_after", "string", "Only what was made after this moment, as RFC 3339 with a zone"),
    (
        "limit",
        "integer",
        "How many at most are returned; the server itself never gives more than 200",
    ),
    (
        "cursor",
        "string",
        "Where the last page ended, exactly as it was returned; left out at first",
    ),
    (
        "fields",
        "array",
        "Which fields are wanted in the answer; left out, those that are used most",
    ),
    ("notify", "boolean", "Whether the people concerned are told of it by mail at the same time"),
    (
        "reason",
        "string",
        "Why it is done, in a sentence that will stand in the journal for auditors",
    ),
    ("overdue", "boolean", "Only those whose time has passed without anything having been done"),
    ("owner", "string", "Identifier of the person or team that is answerable, or `me` for oneself"),
];

const ADVICE: &[&str] = &[
    "Use it when the user asks for exactly this and the identifier is known; otherwise search first.",
    "The answer holds at most one page; go on with the cursor until there is none, and say so if \
     you stop before the end.",
    "It fails with `not_found` if the thing is gone and with `forbidden` if the account may not see \
     it; neither gets better by trying again.",
    "Times are in UTC. Money is in the smallest unit of its currency, together with the code of \
     that currency.",
    "Do not make up identifiers, and do not repeat the call with the same arguments: the result \
     will be the same for a minute.",
];

/// As many tools, all with different names, of 400 to 540 tokens each.
pub(super) fn catalogue(tools: usize) -> Vec<OfferCandidate> {
    let things = SERVERS
        .iter()
        .flat_map(|(server, things)| things.iter().map(move |thing| (*server, *thing)));
    let all = things.flat_map(|(server, thing)| {
        VERBS.iter().map(move |(verb, does)| ToolSubject { server, thing, verb, does })
    });
    all.take(tools).enumerate().map(|(at, about)| tool(at, &about)).collect()
}

/// What one generated tool does, to what, and where.
struct ToolSubject {
    server: &'static str,
    thing: &'static str,
    verb: &'static str,
    does: &'static str,
}

fn tool(at: usize, subject: &ToolSubject) -> OfferCandidate {
    let ToolSubject { server, thing, verb, does } = subject;
    let advice = ADVICE.iter().cycle().skip(at).take(4 + at % 2);
    let advice: Vec<&str> = advice.copied().collect();
    let description = format!(
        "{does} {thing} in the {server} system, with everything that belongs to it. {}",
        advice.join(" ")
    );
    let parameters = PARAMETERS.iter().cycle().skip(at).take(9 + at % 2);
    let properties: Map<String, Value> = parameters
        .map(|(name, kind, says)| {
            let schema = match *kind {
                "array" => json!({"type": kind, "items": {"type": "string"}, "description": says}),
                _ => json!({"type": kind, "description": format!("{says} ({thing})")}),
            };
            ((*name).to_owned(), schema)
        })
        .collect();
    let required: Vec<String> = properties.keys().take(2).cloned().collect();
    OfferCandidate {
        function: Function {
            name: format!("{server}_{verb}_{thing}"),
            description: Some(description),
            parameters: Some(json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })),
            extra: Extra::none(),
        },
        title: None,
    }
}
