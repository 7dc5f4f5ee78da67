//! Config keys of the memory: embedding model, retention of transcripts, namespace of an agent.

use super::{KeyKind, KeySpec, PLAIN, PROSE, SectionSpec, key, whole};

pub(super) const MEMORY: SectionSpec = SectionSpec {
    title: "memory",
    keys: &[
        key(
            "embedding",
            KeyKind::Section(&EMBEDDING),
            "none: search by words only",
            "Embedding model for semantic search",
        ),
        key(
            "keep_days",
            whole(0, 36_500, "days"),
            "0: for ever",
            "Older transcripts are deleted, with the passages derived from them. Saved facts \
             remain",
        ),
    ],
    elsewhere: &[
        ("namespace", "write it where the agent is: `agents.NAME.memory.namespace`"),
        ("record", "write it where the agent is: `agents.NAME.memory.record`"),
        ("recall", "write it where the agent is: `agents.NAME.memory.recall`"),
        ("database", "write `database:` at the top level"),
        ("url", "write `database:` at the top level"),
    ],
};

const EMBEDDING: SectionSpec = SectionSpec {
    title: "memory.embedding",
    keys: &[
        key(
            "provider",
            PLAIN,
            "none: needs `local`",
            "One of `providers`, of kind `openai` or `gemini`",
        ),
        key("model", PLAIN, "none: needed with `provider`", "The provider's name of the model"),
        key(
            "dimensions",
            whole(1, 16_384, "numbers"),
            "the model's default",
            "Number of dimensions, for models that support fewer",
        ),
        key(
            "passage_prefix",
            PROSE,
            "none",
            "Prefix of stored texts that the model expects, such as `passage: `",
        ),
        key(
            "question_prefix",
            PROSE,
            "none",
            "Prefix of queries that the model expects, such as `query: `",
        ),
        key("local", PLAIN, "none: needs `provider`", "Directory of a model on this machine"),
    ],
    elsewhere: &[("path", "write `local:`"), ("url", "write it as `base_url:` of a provider")],
};

pub(super) const AGENT_MEMORY: SectionSpec = SectionSpec {
    title: "agents.NAME.memory",
    keys: &[
        key(
            "namespace",
            PLAIN,
            "default",
            "The namespace. Agents of one namespace share a memory; namespaces are isolated from \
             each other",
        ),
        key(
            "record",
            KeyKind::Choice(&["off", "own", "shared"]),
            "off",
            "Recording of its conversations: off, private to this agent, or shared in its \
             namespace",
        ),
        key(
            "recall",
            KeyKind::Flag,
            "false",
            "Search the memory for each turn before the model is called",
        ),
    ],
    elsewhere: &[("campaign", "write `namespace:`"), ("tenant", "write it where the key is")],
};

pub(super) const TENANT: KeySpec =
    key("tenant", PLAIN, "none", "Tenant: its agents use the namespaces of this tenant only");
