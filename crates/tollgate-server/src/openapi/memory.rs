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
        about: "The memory of agents: read, edit, export, import and delete.",
        operations: [all(), entities(), facts_and_relations(), sessions()].concat(),
        schemas: schemas(),
    }
}

/// An operation with the parameters for namespace and agent.
fn scoped_operation(
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
) -> Operation {
    let name = json!({"type": "string", "minLength": 1});
    Operation::new(method, path, id, summary)
        .query("namespace", name.clone(), "`CAMPAIGN` or `TENANT/CAMPAIGN`")
        .query("agent", name, "as seen by this agent, or private to it")
        .refuses(&[(503, "`memory_unavailable`")])
}

fn with_paging(operation: Operation) -> Operation {
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 1000});
    operation.query("limit", limit, "page size").query(
        "skip",
        whole(),
        "the `next` of the previous page",
    )
}

fn deleted_items() -> Value {
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
            "get",
            "/api/memory",
            "memoryOverview",
            "All namespaces with their counts",
        )
        .gives(200, "all namespaces", object(&[("namespaces", list(namespace))], &[]))
        .refuses(&[(404, "`no_memory`")]),
        scoped_operation(
            "delete",
            "/api/memory",
            "forgetMemory",
            "Deletes everything of an author, transcripts before a time, or a namespace",
        )
        .query("author", text(), "everything of this author")
        .query("before", text(), "transcripts before this time")
        .query("confirm", text(), "the name of the namespace again, to delete all of it")
        .gives(200, "the deleted items", deleted_items()),
        scoped_operation(
            "get",
            "/api/memory/export",
            "exportMemory",
            "Exports everything as JSON Lines",
        )
        .gives_media(200, "application/x-ndjson", "one line per item", lines()),
        scoped_operation("post", "/api/memory/import", "importMemory", "Imports an export")
            .query("dry_run", flag(), "only validates")
            .takes_media("application/x-ndjson", lines())
            .gives(200, "the imported items", imported),
    ]
}

fn entities() -> Vec<Operation> {
    let unknown = [(404, "`unknown_entity`")];
    let retain = || object(&[("entity", schema_ref("Entity"))], &[]);
    let expected = || {
        let id = with_description(text(), "derived from type and name if missing");
        body(&[("type", text()), ("name", text())], &[("id", id), ("attributes", free())])
    };
    let whole_entity = object(
        &[
            ("entity", schema_ref("Entity")),
            ("relations", list(schema_ref("Link"))),
            ("left_out", whole()),
            ("facts", list(schema_ref("Fact"))),
        ],
        &[],
    );
    let listed =
        object(&[("entities", list(schema_ref("Entity"))), ("next", or_null(whole()))], &[]);
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 1000});
    vec![
        with_paging(scoped_operation("get", "/api/memory/entities", "listEntities", "Entities"))
            .query("name", text(), "names with this prefix or sound")
            .query("type", text(), "by type")
            .gives(200, "by name", listed),
        scoped_operation("post", "/api/memory/entities", "addEntity", "Creates an entity")
            .takes(expected())
            .gives(201, "created", retain())
            .with_etag(201)
            .refuses(&[(
                409,
                "`entity_exists`, or `conflict`: it is being changed by another request",
            )]),
        scoped_operation(
            "get",
            "/api/memory/entities/{id}",
            "showEntity",
            "An entity and its relations",
        )
        .query("limit", limit, "maximum number of relations")
        .gives(200, "the entity", whole_entity)
        .with_etag(200)
        .refuses(&unknown),
        scoped_operation(
            "put",
            "/api/memory/entities/{id}",
            "putEntity",
            "Creates or replaces an entity",
        )
        .header("if-match", tag(), "the version the change is based on")
        .takes(expected())
        .gives(200, "replaced", retain())
        .with_etag(200)
        .gives(201, "created", retain())
        .with_etag(201)
        .refuses(&[
            (409, "`conflict`: it is being changed by another request"),
            (412, "`other_version`"),
        ]),
        scoped_operation(
            "delete",
            "/api/memory/entities/{id}",
            "forgetEntity",
            "Deletes it and its relations",
        )
        .header("if-match", tag(), "the version to delete")
        .gives(200, "the deleted items", deleted_items())
        .refuses(&unknown)
        .refuses(&[
            (409, "`conflict`: it is being changed by another request"),
            (412, "`other_version`"),
        ]),
    ]
}

fn facts_and_relations() -> Vec<Operation> {
    let either = |rows: Value, name: &str| {
        let listed = object(&[(name, rows), ("next", or_null(whole()))], &[]);
        json!({"anyOf": [listed, object(&[("results", list(free()))], &[])]})
    };
    let told_hits = with_description(
        either(list(schema_ref("Fact")), "facts"),
        "a page, or with `q` the best matches",
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
            "get",
            "/api/memory/facts",
            "listFacts",
            "Facts, newest first",
        ))
        .query("q", text(), "searches for this, best match first")
        .gives(200, "facts, or search results", told_hits),
        scoped_operation("post", "/api/memory/facts", "addFact", "Adds a fact")
            .takes(body(
                &[("text", text())],
                &[("about", text()), ("topic", text()), ("session", text()), ("at", text())],
            ))
            .gives(201, "saved", object(&[("id", or_null(whole()))], &[]))
            .refuses(&[(404, "`unknown_entity`: its subject")]),
        scoped_operation("delete", "/api/memory/facts/{id}", "forgetFact", "Deletes a fact")
            .gives(200, "the deleted items", deleted_items())
            .refuses(&[(404, "`unknown_fact`")]),
        with_paging(scoped_operation(
            "get",
            "/api/memory/relations",
            "listRelations",
            "Relations between entities",
        ))
        .query("of", text(), "of one entity")
        .gives(200, "relations", relations),
        scoped_operation(
            "post",
            "/api/memory/relations",
            "addRelation",
            "Creates a relation, or replaces the one of the same type between the same two \
             entities",
        )
        .takes(relation)
        .gives(201, "saved", told_relation)
        .refuses(&[(404, "`unknown_entity`: one of its ends")]),
        scoped_operation("delete", "/api/memory/relations", "forgetRelation", "Deletes a relation")
            .query("source", text(), "from this entity")
            .require("source")
            .query("type", text(), "by type")
            .require("type")
            .query("target", text(), "to this entity")
            .require("target")
            .gives(200, "the deleted items", deleted_items())
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
            "get",
            "/api/memory/sessions",
            "listTranscripts",
            "Conversations, latest first",
        ))
        .query("q", text(), "searches the transcripts for this")
        .query("session", text(), "with `q`: only in this session")
        .gives(200, "sessions, or search results", json!({"anyOf": [listed, found]})),
        scoped_operation(
            "post",
            "/api/memory/sessions",
            "appendTranscript",
            "Appends to its transcript",
        )
        .takes(body(&[("session", text()), ("entries", entries)], &[]))
        .gives(201, "saved", object(&[("session", text()), ("ids", list(whole()))], &[])),
        scoped_operation("get", "/api/memory/sessions/{id}", "showTranscript", "Its transcript")
            .query("after", whole(), "the `next` of the previous page")
            .query("limit", limit, "page size")
            .gives(200, "a page, oldest first", page)
            .refuses(&unknown),
        scoped_operation(
            "put",
            "/api/memory/sessions/{id}",
            "summariseTranscript",
            "Sets its summary",
        )
        .takes(body(&[("summary", text())], &[("id", text())]))
        .gives(200, "the session", schema_ref("Transcript"))
        .refuses(&unknown),
        scoped_operation(
            "delete",
            "/api/memory/sessions/{id}",
            "forgetTranscript",
            "Deletes it with its transcript",
        )
        .gives(200, "the deleted items", deleted_items())
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
    with_description(or_null(text()), "the agent it is private to")
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
