//! How far a program gets before the interpreter's own fence; what breaks it is in `process`.

use tollgate_sandbox::frames::{InterpreterLimits, ProgramErrorKind};

use crate::rehearsal::{FENCE, rehearse};

#[track_caller]
fn stops(source: &str, fence: InterpreterLimits, kind: ProgramErrorKind) {
    let ran = rehearse(source, fence);
    assert_eq!(ran.kind(), Some(kind), "{source}\n{}", ran.transcript());
    assert!(ran.failed().hint.is_some(), "{source}\n{}", ran.transcript());
}

#[test]
fn b_st_02_a_doubling_loop_ends() {
    let doubling = "x = [1]\nfor i in range(100):\n    x = x + x\n    for j in range(1000): pass";
    stops(doubling, FENCE, ProgramErrorKind::Memory);
    stops(
        "x = [1]\nfor i in range(1000000):\n    x.append(str(i) * 100)",
        FENCE,
        ProgramErrorKind::Memory,
    );
}

#[test]
fn b_st_03_nested_loops_end() {
    let nested = "r = range(10000)\nfor a in r:\n    for b in r:\n        for c in r:\n            for d in r: pass";
    stops(nested, FENCE, ProgramErrorKind::Steps);
    stops("x = [0 for a in range(100000000) if False]", FENCE, ProgramErrorKind::Steps);
    stops("def f():\n    for a in range(100000000): pass\nf()", FENCE, ProgramErrorKind::Steps);
}

#[test]
fn b_st_04_recursion_ends() {
    stops("def f(n):\n    return f(n + 1)\nf(0)", FENCE, ProgramErrorKind::Depth);
    stops(
        "def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nf(0)",
        FENCE,
        ProgramErrorKind::Depth,
    );
    stops("f = lambda g: g(g)\nf(f)", FENCE, ProgramErrorKind::Depth);
    stops("def f(x):\n    return sorted([1], key=f)\nf(1)", FENCE, ProgramErrorKind::Depth);
    stops("def f(x):\n    return map(f, [1])\nf(1)", FENCE, ProgramErrorKind::Depth);
}

#[test]
fn b_st_10_values_that_contain_themselves_do_no_harm() {
    let source = "x = []\nx.append(x)\ny = []\ny.append(y)\n";
    let told = |line: &str| rehearse(&format!("{source}{line}"), FENCE).transcript();
    assert_eq!(told("print(str(x))"), "[[...]]\n= ");
    assert_eq!(told("result = x == y"), "! depth 5: values are nested too deeply");
    assert_eq!(told("d = {x: 1}"), "! runtime 5: value of type `list` is not hashable");
    assert_eq!(told("x = x < y"), "! depth 5: values are nested too deeply");
}

#[test]
fn b_st_12_calls_are_counted() {
    let fence = InterpreterLimits { calls: 3, ..FENCE };
    let ran = rehearse("for i in range(100000):\n    try_call(slack.post)", fence);
    assert_eq!(ran.output.lines().count(), 3);
    assert_eq!(ran.kind(), Some(ProgramErrorKind::Calls));
    let ran = rehearse("parallel([slack.post for i in range(4)])", fence);
    assert_eq!((ran.output.as_str(), ran.kind()), ("", Some(ProgramErrorKind::Calls)));
}

#[test]
fn b_st_13_prints_are_counted() {
    let fence = InterpreterLimits { output_bytes: 100, ..FENCE };
    let ran = rehearse("for i in range(1000000000):\n    print('é' * 30, end='')", fence);
    assert_eq!(ran.output.len(), 100);
    assert_eq!(ran.kind(), Some(ProgramErrorKind::Output));
    stops("print('a' * 200)", fence, ProgramErrorKind::Output);
    stops("x = []\nfor i in range(60):\n    x = [x, x]\nprint(x)", fence, ProgramErrorKind::Output);
}

#[test]
fn prints_and_the_result_share_their_room() {
    let fence = InterpreterLimits { output_bytes: 10, ..FENCE };
    assert_eq!(rehearse("print('123')\nresult = '1234'", fence).transcript(), "123\n= \"1234\"");
    stops("print('123')\nresult = '12345'", fence, ProgramErrorKind::Output);
    stops("result = list(range(100))", fence, ProgramErrorKind::Output);
    stops(
        "x = []\nfor i in range(60):\n    x = [x, x]\nresult = x",
        fence,
        ProgramErrorKind::Output,
    );
}

#[test]
fn arguments_have_a_size() {
    stops("slack.post(x='a' * 4000000)", FENCE, ProgramErrorKind::Memory);
    stops(
        "x = []\nfor i in range(60):\n    x = [x, x]\nslack.post(x=x)",
        FENCE,
        ProgramErrorKind::Memory,
    );
    stops("parallel([(slack.post, {'x': 'a' * 1000000})] * 5)", FENCE, ProgramErrorKind::Memory);
    stops(
        "x = []\nfor i in range(60):\n    x = [x, x]\njson.encode(x)",
        InterpreterLimits { heap_bytes: 1 << 20, ..FENCE },
        ProgramErrorKind::Memory,
    );
}

#[test]
fn names_of_arguments_count_as_well() {
    stops("slack.post(**{'a' * 5000000: 1})", FENCE, ProgramErrorKind::Memory);
    stops("parallel([(slack.post, {'a' * 1000000: 1})] * 5)", FENCE, ProgramErrorKind::Memory);
    stops("slack.post(**{'\\0' * 1000000: 1})", FENCE, ProgramErrorKind::Memory);
    stops("slack.post(*([1] * 2500000))", FENCE, ProgramErrorKind::Memory);
}

#[test]
fn what_is_too_long_to_be_said_fails_the_program_and_not_the_worker() {
    let fence = InterpreterLimits { calls: 1_000_000, output_bytes: 16 << 20, ..FENCE };
    let ran = rehearse("print(1)\nparallel([slack.post] * 100000)", fence);
    assert_eq!((ran.output.as_str(), ran.kind()), ("1\n", Some(ProgramErrorKind::Memory)));
    assert_eq!(ran.failed().line, Some(2));
    let ran = rehearse("print(1)\nresult = 'a' * 5000000", fence);
    assert_eq!((ran.output.as_str(), ran.kind()), ("1\n", Some(ProgramErrorKind::Memory)));
}

#[test]
fn as_much_is_printed_or_returned_as_the_limit_says() {
    // The most that a configuration gives.
    let most = 2 << 20;
    let fence = InterpreterLimits { output_bytes: most as u64, ..FENCE };
    // As JSON each of these has six letters, and so fills more than a frame.
    let print = |letters: usize| format!("print('\\0' * {letters}, end='')");
    assert_eq!(rehearse(&print(most), fence).transcript(), "\0".repeat(most) + "= ");
    let ran = rehearse(&print(most + 1), fence);
    assert_eq!((ran.output.len(), ran.kind()), (most, Some(ProgramErrorKind::Output)));
    let result = |letters: usize| format!("result = 'a' * {letters}");
    let text = format!("= \"{}\"", "a".repeat(most - 2));
    assert_eq!(rehearse(&result(most - 2), fence).transcript(), text);
    stops(&result(most - 1), fence, ProgramErrorKind::Output);
}

#[test]
fn letters_stay_whole_where_prints_are_cut_into_frames() {
    let fence = InterpreterLimits { output_bytes: 2 << 20, ..FENCE };
    let told = rehearse("print('a' + '😀' * 400000)", fence).transcript();
    assert_eq!(told, format!("a{}\n= ", "😀".repeat(400_000)));
}

#[test]
fn answers_count_as_memory() {
    let fence = InterpreterLimits { heap_bytes: 100_000, ..FENCE };
    stops("x = [echo.value(v='a' * 20000) for i in range(20)]", fence, ProgramErrorKind::Memory);
}
