//! OpenAPI: the memory of agents.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    body, extend, flag, free, list, number, object, one_of, or_null, schema_ref, text, time, whole,
    with_description,
};
use super::servers::tag;

pub(super) fn area() -> OpenApiSection {
    OpenApiSection {
        tag: "memory",
        about: "What agents remember: to look at, to correct, to carry elsewhere, and to forget.",
        operations: [all(), entities(), facts_and_relations(), sessions()].concat(),
        schemas: schemas(),
    }
}

/// An operation with the parameters for namespace and agent.
fn scoped_operation(
    (method, path): (&'static str, &'static str),
    id: &'static str,
    summary: &'static str,
) -> Operation {
    let name = json!({"type": "string", "minLength": 1});
    Operation::new((method, path), id, summary)
        .query("namespace", name.clone(), "`CAMPAIGN` or `TENANT/CAMPAIGN`")
        .query("agent", name, "through the eyes of this agent, or for it alone")
        .refuses(&[(503, "`memory_unavailable`")])
}

fn with_paging(operation: Operation) -> Operation {
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 1000});
    operation.query("limit", limit, "how many at once").query(
        "skip",
        whole(),
        "the `next` of the page before",
    )
}

fn forgotten() -> Value {
    object(&[("forgotten", schema_ref("Counts"))], &[])
}

fn all() -> Vec<Operation> {
    let namespace = extend(&counts(), object(&[("namespace", text())], &[]));
    let imported = object(
        &[
            ("lines", whole()),
            ("read", schema_ref("Counts")),
            ("kept", schema_ref("Counts")),
            ("dry_run", flag()),
        ],
        &[],
    );
    let lines = || with_description(text(), "JSON Lines");
    vec![
        scoped_operation(
            ("get", "/api/memory"),
            "memoryOverview",
            "The namespaces, and how much there is in each",
        )
        .gives(200, "all namespaces", object(&[("namespaces", list(namespace))], &[]))
        .refuses(&[(404, "`no_memory`")]),
        scoped_operation(
            ("delete", "/api/memory"),
            "forgetMemory",
            "Forgets all of an author, transcripts before a moment, or a namespace",
        )
        .query("author", text(), "all of this author")
        .query("before", text(), "transcripts from before")
        .query("confirm", text(), "the namespace once more: everything of it")
        .gives(200, "what is gone", forgotten()),
        scoped_operation(
            ("get", "/api/memory/export"),
            "exportMemory",
            "Everything, as JSON Lines",
        )
        .gives_media((200, "application/x-ndjson"), "a line for each thing", lines()),
        scoped_operation(
            ("post", "/api/memory/import"),
            "importMemory",
            "Takes in what an export wrote",
        )
        .query("dry_run", flag(), "only reads it and says what is wrong")
        .takes_media("application/x-ndjson", lines())
        .gives(200, "what was kept", imported),
    ]
}

fn entities() -> Vec<Operation> {
    let unknown = [(404, "`unknown_entity`")];
    let kept = || object(&[("entity", schema_ref("Entity"))], &[]);
    let wanted = || {
        let id = with_description(text(), "made of type and name where it is missing");
        body(&[("type", text()), ("name", text())], &[("id", id), ("attributes", free())])
    };
    let whole_entity = object(
        &[
            ("entity", schema_ref("Entity")),
            ("relations", list(schema_ref("Link"))),
            ("left_out", whole()),
        ],
        &[],
    );
    let listed =
        object(&[("entities", list(schema_ref("Entity"))), ("next", or_null(whole()))], &[]);
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 1000});
    vec![
        with_paging(scoped_operation(
            ("get", "/api/memory/entities"),
            "listEntities",
            "Who and what there is",
        ))
        .query("name", text(), "names that begin or sound so")
        .query("type", text(), "of this type")
        .gives(200, "by name", listed),
        scoped_operation(
            ("post", "/api/memory/entities"),
            "addEntity",
            "An entity that is not there yet",
        )
        .takes(wanted())
        .gives(201, "it is there", kept())
        .with_etag(201)
        .refuses(&[(409, "`entity_exists`, or `conflict`: somebody changes it just now")]),
        scoped_operation(
            ("get", "/api/memory/entities/{id}"),
            "showEntity",
            "An entity, and all it has to do with",
        )
        .query("limit", limit, "relations that are shown")
        .gives(200, "the entity", whole_entity)
        .with_etag(200)
        .refuses(&unknown),
        scoped_operation(
            ("put", "/api/memory/entities/{id}"),
            "putEntity",
            "The whole of an entity",
        )
        .header("if-match", tag(), "the version that the change is made for")
        .takes(wanted())
        .gives(200, "it was changed", kept())
        .with_etag(200)
        .gives(201, "it is there", kept())
        .with_etag(201)
        .refuses(&[(409, "`conflict`: somebody changes it just now"), (412, "`other_version`")]),
        scoped_operation(
            ("delete", "/api/memory/entities/{id}"),
            "forgetEntity",
            "Forgets it, with its relations",
        )
        .header("if-match", tag(), "the version that is meant")
        .gives(200, "what is gone", forgotten())
        .refuses(&unknown)
        .refuses(&[(409, "`conflict`: somebody changes it just now"), (412, "`other_version`")]),
    ]
}

fn facts_and_relations() -> Vec<Operation> {
    let either = |rows: Value, name: &str| {
        let listed = object(&[(name, rows), ("next", or_null(whole()))], &[]);
        json!({"anyOf": [listed, object(&[("results", list(free()))], &[])]})
    };
    let told_hits = with_description(
        either(list(schema_ref("Fact")), "facts"),
        "a page, or with `q` what fits best",
    );
    let relation = body(
        &[("source", text()), ("type", text()), ("target", text())],
        &[("attributes", free()), ("session", text()), ("confidence", number())],
    );
    let told_relation = object(&[("source", text()), ("type", text()), ("target", text())], &[]);
    let relations =
        object(&[("relations", list(schema_ref("Relation"))), ("next", or_null(whole()))], &[]);
    vec![
        with_paging(scoped_operation(
            ("get", "/api/memory/facts"),
            "listFacts",
            "What is known, the newest first",
        ))
        .query("q", text(), "what has to do with this, the best fit first")
        .gives(200, "facts, or results", told_hits),
        scoped_operation(("post", "/api/memory/facts"), "addFact", "One more fact")
            .takes(body(
                &[("text", text())],
                &[("about", text()), ("topic", text()), ("session", text()), ("at", text())],
            ))
            .gives(201, "it is kept", object(&[("id", or_null(whole()))], &[]))
            .refuses(&[(404, "`unknown_entity`: what it is about")]),
        scoped_operation(("delete", "/api/memory/facts/{id}"), "forgetFact", "Forgets a fact")
            .gives(200, "what is gone", forgotten())
            .refuses(&[(404, "`unknown_fact`")]),
        with_paging(scoped_operation(
            ("get", "/api/memory/relations"),
            "listRelations",
            "What entities have to do with each other",
        ))
        .query("of", text(), "those of one entity")
        .gives(200, "relations", relations),
        scoped_operation(
            ("post", "/api/memory/relations"),
            "addRelation",
            "A relation, in the place of one of the same type between the same two",
        )
        .takes(relation)
        .gives(201, "it is kept", told_relation)
        .refuses(&[(404, "`unknown_entity`: one of its ends")]),
        scoped_operation(
            ("delete", "/api/memory/relations"),
            "forgetRelation",
            "Forgets a relation",
        )
        .query("source", text(), "from this entity")
        .require("source")
        .query("type", text(), "of this type")
        .require("type")
        .query("target", text(), "to this entity")
        .require("target")
        .gives(200, "what is gone", forgotten())
        .refuses(&[(404, "`unknown_relation`")]),
    ]
}

fn sessions() -> Vec<Operation> {
    let unknown = [(404, "`unknown_session`")];
    let entry = body(&[("speaker", text()), ("text", text())], &[("at", text())]);
    let entries = json!({"type": "array", "items": entry, "minItems": 1});
    let listed =
        object(&[("sessions", list(schema_ref("Transcript"))), ("next", or_null(whole()))], &[]);
    let found = object(&[("results", list(free()))], &[]);
    let page = object(
        &[
            ("session", schema_ref("Transcript")),
            ("entries", list(schema_ref("Entry"))),
            ("next", or_null(whole())),
        ],
        &[],
    );
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 1000});
    vec![
        with_paging(scoped_operation(
            ("get", "/api/memory/sessions"),
            "listTranscripts",
            "Conversations, those that spoke last first",
        ))
        .query("q", text(), "what was said that has to do with this")
        .query("session", text(), "with `q`: only in this one")
        .gives(200, "sessions, or results", json!({"anyOf": [listed, found]})),
        scoped_operation(
            ("post", "/api/memory/sessions"),
            "appendTranscript",
            "More of what was said",
        )
        .takes(body(&[("session", text()), ("entries", entries)], &[]))
        .gives(
            201,
            "it is kept",
            object(&[("session", text()), ("ids", list(whole()))], &[]),
        ),
        scoped_operation(
            ("get", "/api/memory/sessions/{id}"),
            "showTranscript",
            "What was said in it",
        )
        .query("after", whole(), "the `next` of the page before")
        .query("limit", limit, "how many at once")
        .gives(200, "a page, from the beginning", page)
        .refuses(&unknown),
        scoped_operation(
            ("put", "/api/memory/sessions/{id}"),
            "summariseTranscript",
            "A summary in somebody's words",
        )
        .takes(body(&[("summary", text())], &[("id", text())]))
        .gives(200, "the session", schema_ref("Transcript"))
        .refuses(&unknown),
        scoped_operation(
            ("delete", "/api/memory/sessions/{id}"),
            "forgetTranscript",
            "Forgets it, with all that was said",
        )
        .gives(200, "what is gone", forgotten())
        .refuses(&unknown),
    ]
}

fn counts() -> Value {
    let names = ["sessions", "entries", "facts", "entities", "relations"];
    object(&names.map(|name| (name, whole())), &[])
}

fn author() -> Value {
    let trust = one_of(&["agent", "heard", "operator"]);
    object(&[("name", text()), ("via", text()), ("trust", trust)], &[])
}

fn agent() -> Value {
    with_description(or_null(text()), "whose alone it is")
}

fn schemas() -> Vec<(&'static str, Value)> {
    [entity_schemas(), transcript_schemas()].concat()
}

/// Entities and their relations.
fn entity_schemas() -> Vec<(&'static str, Value)> {
    let relation = object(
        &[
            ("source", text()),
            ("type", text()),
            ("target", text()),
            ("attributes", free()),
            ("session", or_null(text())),
            ("confidence", number()),
            ("agent", agent()),
            ("author", author()),
            ("changed", time()),
        ],
        &[],
    );
    let neighbour = object(&[("id", text()), ("type", text()), ("name", text())], &[]);
    vec![
        ("Counts", counts()),
        (
            "Entity",
            object(
                &[
                    ("id", text()),
                    ("type", text()),
                    ("name", text()),
                    ("attributes", free()),
                    ("agent", agent()),
                    ("author", author()),
                    ("changed", time()),
                ],
                &[],
            ),
        ),
        ("Link", extend(&relation, object(&[("neighbour", neighbour)], &[]))),
        ("Relation", relation),
    ]
}

/// Transcripts and facts.
fn transcript_schemas() -> Vec<(&'static str, Value)> {
    vec![
        (
            "Fact",
            object(
                &[
                    ("id", whole()),
                    ("text", text()),
                    ("at", time()),
                    ("source", one_of(&["stated", "heard"])),
                    ("session", or_null(text())),
                    ("about", or_null(text())),
                    ("topic", or_null(text())),
                    ("agent", agent()),
                    ("author", author()),
                ],
                &[],
            ),
        ),
        (
            "Entry",
            object(
                &[
                    ("id", whole()),
                    ("session", text()),
                    ("speaker", text()),
                    ("text", text()),
                    ("at", time()),
                    ("author", author()),
                ],
                &[],
            ),
        ),
        (
            "Transcript",
            object(
                &[
                    ("id", text()),
                    ("agent", agent()),
                    ("entries", whole()),
                    ("began", time()),
                    ("last", time()),
                    ("summary", or_null(text())),
                ],
                &[],
            ),
        ),
    ]
}
