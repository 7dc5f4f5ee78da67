//! Config keys of the memory: embedding model, retention of transcripts, namespace of an agent.

use super::{KeyKind, KeySpec, PLAIN, PROSE, SectionSpec, key, whole};

pub(super) const MEMORY: SectionSpec = SectionSpec {
    title: "memory",
    keys: &[
        key(
            "embedding",
            KeyKind::Section(&EMBEDDING),
            "none: things are found by their words",
            "The model that says what texts mean, so that they are found in other words, too",
        ),
        key(
            "keep_days",
            whole(0, 36_500, "days"),
            "0: for ever",
            "Transcripts that are older are forgotten, with the passages made of them. What was stated stays",
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
        key("model", PLAIN, "none: needed with `provider`", "What the provider calls the model"),
        key(
            "dimensions",
            whole(1, 16_384, "numbers"),
            "as many as the model makes",
            "How many numbers one text becomes, for models that can be asked for fewer",
        ),
        key(
            "passage_prefix",
            PROSE,
            "none",
            "What the model wants before a text that is to be found, such as `passage: `",
        ),
        key("question_prefix", PROSE, "none", "… and before a question, such as `query: `"),
        key("local", PLAIN, "none: needs `provider`", "A model on this machine: its directory"),
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
            "The campaign. Agents of one namespace share a memory; nothing is seen from another one",
        ),
        key(
            "record",
            KeyKind::Choice(&["off", "own", "shared"]),
            "off",
            "What becomes of what is said in its conversations: kept for this agent, or for all of its namespace",
        ),
        key(
            "recall",
            KeyKind::Flag,
            "false",
            "Look up what has to do with a turn before its model is asked",
        ),
    ],
    elsewhere: &[("campaign", "write `namespace:`"), ("tenant", "write it where the key is")],
};

pub(super) const TENANT: KeySpec = key(
    "tenant",
    PLAIN,
    "none",
    "Whose memory it is in: namespaces of its agents are those of this tenant, and nobody else's",
);
