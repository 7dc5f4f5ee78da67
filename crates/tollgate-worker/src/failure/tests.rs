//! The interpreter tells most of its failures apart by English words only.
//!
//! These are the ones that we go by: an update of it that says something else has to fail here, not
//! turn a limit into a mistake of the program unnoticed.

use std::collections::HashSet;

use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::syntax::AstModule;
use tollgate_sandbox::frames::{InterpreterLimits, ProgramError};

use super::{FILE, ProgramPhase, describe_error};
use crate::hints::{HintContext, SAYINGS};
use crate::program::{self, DIALECT, fence};

const FENCE: InterpreterLimits =
    InterpreterLimits { steps: 100_000, heap_bytes: 1 << 20, depth: 16, calls: 0, output_bytes: 0 };

/// What the interpreter says of a program that fails, and what we make of it.
fn fails(source: &str) -> (String, ProgramError) {
    let globals = program::globals();
    Module::with_temp_heap(|module| {
        let parsed = AstModule::parse(FILE, source.to_owned(), &DIALECT);
        let ended = parsed.map_err(|error| (ProgramPhase::Reading, error)).and_then(|program| {
            let mut eval = Evaluator::new(&module);
            fence(&mut eval, &FENCE);
            eval.eval_module(program, &globals).map_err(|error| (ProgramPhase::Running, error))
        });
        let (phase, error) = ended.map(drop).expect_err(source);
        let known = HintContext { names: &Vec::new(), globals: &[], fence: &FENCE, missed: None };
        let text = format!("{:#}", error.without_diagnostic());
        (text, describe_error(&error, phase, &known))
    })
}

#[test]
fn the_interpreter_is_the_one_whose_words_these_are() {
    let lock = include_str!("../../Cargo.lock");
    assert!(lock.contains("name = \"starlark\"\nversion = \"0.14.2\"\n"), "look at its words");
}

#[test]
fn failures_are_told_apart_by_these_words() {
    for (source, words) in [
        ("for i in range(10000000): pass", "Execution duration limit"),
        ("x = []\nfor i in range(50000):\n    x.append('a' * i)", "Heap memory limit"),
        ("x = [1]\nx.append(x)\ny = [1]\ny.append(y)\nz = x == y", "Too many recursion levels"),
        ("x = 1 +", "Parse error: "),
        ("x = int('a')", "Cannot parse"),
        ("x = [].apend(1)", "Object of type `list` has no attribute `apend`, did you mean `"),
        ("x = [].zzz", "Object of type `list` has no attribute `zzz`"),
        ("x = getattr([], 'zzz')", "Operation `.zzz` not supported on type `list`"),
        ("x = range(10000000000)", "too big to fit in i32: 10000000000"),
        ("x = nope", "Variable `nope` not found"),
        ("import os", "reserved keyword `import`"),
        ("def f(a): pass\nf()", "for call to `program.f`"),
        ("def f(a): pass\nf(1, 2)", "for call to program.f"),
    ] {
        let (text, _) = fails(source);
        assert!(text.contains(words), "{source}\n{text}\n{words}");
    }
    let deep = "[".repeat(500);
    let error = serde_json::from_str::<serde_json::Value>(&deep).expect_err("it is too deep");
    assert!(error.to_string().starts_with("recursion limit exceeded"), "{error}");
}

#[test]
fn every_saying_that_has_a_hint_is_said() {
    const HINTS: &[(&str, &str)] = &[
        ("x = 1\ny = f'{x:.2f}'", "f-string expression end"),
        ("y = '{:.2f}'.format(1.5)", "inside replacement field"),
        ("y = '%.2f' % 1.5", "unsupported format character"),
        ("y = sum(x for x in [1])", "unexpected keyword 'for'"),
        ("y = {1, 2}", "expected symbol ':'"),
        ("y = f('a' 'b')", "unexpected string literal"),
        ("y = 0 < 1 < 2", "comparisons are not associative"),
        ("for c in 'abc': pass", "(iter)` not supported on type `string`"),
        ("y = f'{'", "f-string"),
        ("if 1:\n\tx = 1", "tabs are not allowed"),
        ("if 1:\n    x = 1\n  y = 2", "incorrect indentation"),
        ("x = 'a\n", "unfinished string literal"),
        ("é = 1", "invalid input"),
        ("x = 2 ** 8", "unexpected symbol '**'"),
        ("x = [*[1]]", "unexpected symbol '*'"),
        ("x, *y = [1]", "unparenthesized tuple"),
        ("def f(x: 1 + 1): pass", "type expression"),
        ("x = isinstance(1, 5)", "not a valid type annotation"),
        ("x = [1]\nfor i in x:\n    x.append(i)", "mutates an iterable"),
        ("n = 1\ndef f():\n    n += 1\nf()", "referenced before assignment"),
        ("x = 5\nx()", "`call()` not supported"),
        ("x = '%s %s' % (1,)", "not enough arguments for format"),
        ("x = '{} {}'.format(1)", "not enough parameters in format"),
        ("x = 'a' in 5", "`in` not supported"),
        ("x = 'a' + 1", "not supported for types `string` and `int`"),
        ("x = 1 + 'a'", "not supported for types `int` and `string`"),
        ("x = 'a' + []", "not supported for types `string` and"),
        ("x = {}['a']", "key `"),
        ("x = [1][3]", "is out of bound"),
        ("for i in 5: pass", "(iter)"),
        ("x = None[0]", "`[]` not supported"),
    ];
    for (source, saying) in HINTS {
        let (_, ProgramError { message, hint, .. }) = fails(source);
        assert!(message.contains(saying), "{source}\n{message}\n{saying}");
        let requested = SAYINGS.iter().find(|it| it.0 == *saying).map(|it| it.1);
        assert_eq!(hint.as_deref(), requested, "{source}\n{message}");
    }
    let lines: HashSet<&str> = HINTS.iter().map(|(_, saying)| *saying).collect();
    let hinted: HashSet<&str> = SAYINGS.iter().map(|(saying, _)| *saying).collect();
    assert_eq!(lines, hinted);
}
