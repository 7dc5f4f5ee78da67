//! Config keys of code mode.

use super::{KeyKind, KeySpec, PLAIN, SectionSpec, TIERS, key, whole};

pub(super) const CODE: SectionSpec = SectionSpec {
    title: "code",
    keys: &[
        key(
            "binding_level",
            KeyKind::Choice(&["server", "tool"]),
            "server",
            "Whether there is a `.pyi` file for each server or for each tool; many large tools are better read one by one",
        ),
        TIER,
        key(
            "timeout_ms",
            whole(1, 600_000, "milliseconds"),
            "30000",
            "No program takes longer, from when it is handed in; it also ends with its turn. Waiting for a person does not count",
        ),
        key(
            "max_calls",
            whole(1, 10_000, "calls"),
            "50",
            "Tools that one program calls, side by side or one after the other",
        ),
        key(
            "max_steps",
            whole(1_000, 1_000_000_000_000, "steps"),
            "10000000",
            "Of the interpreter: a loop that does not end is ended there",
        ),
        key(
            "max_memory_mb",
            whole(64, 16_384, "megabytes"),
            "256",
            "Of the process that runs one program. A quarter of it is for the program's values",
        ),
        key(
            "max_output_kb",
            whole(1, 2_048, "kilobytes"),
            "64",
            "What one program prints and returns, together",
        ),
        key(
            "max_programs",
            whole(1, 1_000, "programs"),
            "16",
            "Run at the same time; four times as many wait, and as many may stand aside while a person decides. Each that has begun may use `max_memory_mb`",
        ),
        key(
            "spare_workers",
            whole(0, 64, "processes"),
            "1",
            "Processes that stand ready for the next program; 0: each is started when it is needed",
        ),
        key(
            "approval",
            KeyKind::Choice(&["wait", "refuse"]),
            "wait",
            "A call in a program that needs a person's leave: the program waits for it, or the call fails",
        ),
        key(
            "worker",
            PLAIN,
            "`tollgate-worker` beside `tollgate`",
            "The program that runs programs",
        ),
    ],
    elsewhere: &[
        ("enabled", "write `code_mode: true` for servers or agents whose tools are called in code"),
        ("code_mode", "write it for servers or agents whose tools are called in code"),
        ("timeout", "write `timeout_ms:`"),
        ("memory_mb", "write `max_memory_mb:`"),
    ],
};

const TIER: KeySpec = key(
    "tier",
    TIERS,
    "fast: every turn",
    "The least tier in which there is code mode; in turns with less time all tools are listed. With `engine: s2s` only deep turns have it",
);
