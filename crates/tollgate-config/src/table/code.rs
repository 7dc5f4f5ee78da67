//! Config keys of code mode.

use super::{KeyKind, KeySpec, PLAIN, SectionSpec, TIERS, key, whole};

pub(super) const CODE: SectionSpec = SectionSpec {
    title: "code",
    keys: &[
        key(
            "binding_level",
            KeyKind::Choice(&["server", "tool"]),
            "server",
            "One `.pyi` file per server or per tool; per tool is better for many large tools",
        ),
        TIER,
        key(
            "timeout_ms",
            whole(1, 600_000, "milliseconds"),
            "30000",
            "Timeout of a program, including its time in the queue; it also ends with its turn. \
             Waiting for approval does not count",
        ),
        key("max_calls", whole(1, 10_000, "calls"), "50", "Maximum tool calls of one program"),
        key(
            "max_steps",
            whole(1_000, 1_000_000_000_000, "steps"),
            "10000000",
            "Maximum steps of the interpreter, which stops endless loops",
        ),
        key(
            "max_memory_mb",
            whole(64, 16_384, "megabytes"),
            "256",
            "Memory of the process of one program. A quarter of it is for the program's values",
        ),
        key(
            "max_output_kb",
            whole(1, 2_048, "kilobytes"),
            "64",
            "Maximum output of one program, printed and returned",
        ),
        key(
            "max_programs",
            whole(1, 1_000, "programs"),
            "16",
            "Concurrent programs; four times as many can be queued, and as many can await \
             approval. One key gets half of them. Under a memory limit (`limits.memory_mb`) as \
             many run as fit into half of it",
        ),
        key(
            "spare_workers",
            whole(0, 64, "processes"),
            "1",
            "Idle processes kept ready for the next program; 0: each is started on demand",
        ),
        key(
            "approval",
            KeyKind::Choice(&["wait", "refuse"]),
            "wait",
            "A call in a program that requires approval: the program waits, or the call fails",
        ),
        key(
            "worker",
            PLAIN,
            "`tollgate-worker` next to `tollgate`",
            "Path of the worker executable",
        ),
    ],
    elsewhere: &[
        (
            "enabled",
            "write `code_mode: true` for servers or agents whose tools are called from code",
        ),
        ("code_mode", "write it for servers or agents whose tools are called from code"),
        ("timeout", "write `timeout_ms:`"),
        ("memory_mb", "write `max_memory_mb:`"),
    ],
};

const TIER: KeySpec = key(
    "tier",
    TIERS,
    "fast: every turn",
    "The lowest tier with code mode; in lower tiers all tools are listed. With `engine: s2s` only \
     deep turns have it",
);
