use crate::world::World;

#[track_caller]
fn same(text: &str, expected: &str) {
    assert_eq!(text.replace(['\n', ' '], ""), expected.replace(['\n', ' '], ""), "{text}");
}

#[tokio::test]
async fn what_was_printed_and_the_result_come_back() {
    let world = World::new();
    let text = world
        .run_as_text("print('a', 1)\nfor i in range(2):\n    print(i)\nresult = [1, None]")
        .await;
    assert_eq!(text, "a 1\n0\n1\n[1,null]");
}

#[tokio::test]
async fn tools_are_called_with_what_the_program_gave_them() {
    let world = World::new();
    same(&world.run_as_text("result = dice.roll(n = 3, s = 'ä')").await, r#"{"n":3,"s":"ä"}"#);
    let text = world.run_as_text("result = notes.add(1, [2])").await;
    same(&text, r#"{"positional":[1,[2]],"line":1}"#);
}

#[tokio::test]
async fn calls_side_by_side_come_back_in_their_order() {
    let source = "result = parallel([(dice.roll, {'n': i}) for i in range(5)])";
    same(&World::new().run_as_text(source).await, r#"[{"n":0},{"n":1},{"n":2},{"n":3},{"n":4}]"#);
}

#[tokio::test]
async fn a_tool_that_fails_ends_the_program_unless_it_is_caught() {
    let world = World::new();
    let text = world.run_as_text("print('before')\nx = dice.lose()\nprint('after')").await;
    assert!(text.starts_with("before\nTool at 2: "), "{text}");
    assert!(text.contains("the dice rolled under the table"), "{text}");
    let caught = "r = try_call(dice.lose)\nresult = [r.ok, r.status, r.retryable, r['error']]";
    let text = world.run_as_text(caught).await;
    same(&text, r#"[false,"failed",true,"the dice rolled under the table"]"#);
}

#[tokio::test]
async fn mistakes_have_a_line_and_a_hint() {
    let world = World::new();
    for (source, line) in [
        ("x = 1\ny = x +\n", 2),
        ("x = 1\n\nprint(undefined)", 3),
        ("def f():\n    return 1 // 0\nf()", 2),
        ("import os", 1),
        ("x = dice.rol()", 1),
    ] {
        let failed = world.run(source).await.result.unwrap_err();
        assert_eq!(failed.line, Some(line), "{source}: {failed:?}");
    }
}

#[tokio::test]
async fn numbers_and_text_keep_their_value() {
    let world = World::new();
    for (source, expected) in [
        ("result = 123456789012345678901234567890", "123456789012345678901234567890"),
        (
            "result = dice.roll(n = 123456789012345678901234567890)['n'] + 1",
            "123456789012345678901234567891",
        ),
        ("result = [1.5, -0.25, 1e300]", "[1.5,-0.25,1e300]"),
        ("result = 'a\\u00e4\\n\\\"'", r#""aä\n\"""#),
        (
            "result = {'b': 1, 'a': {'x': [True, False, None]}}",
            r#"{"b":1,"a":{"x":[true,false,null]}}"#,
        ),
    ] {
        let text = world.run_as_text(source).await;
        let parsed: serde_json::Value = serde_json::from_str(&text).expect(&text);
        let requested: serde_json::Value = serde_json::from_str(expected).unwrap();
        assert!(parsed == requested || text == expected, "{source}: {text}");
    }
}

/// Everything within the limit of nesting can be read by the worker.
#[tokio::test]
async fn what_is_just_not_too_deep_does_not_break_the_worker() {
    let world = World::new();
    let blocks = |open: &str| -> String {
        (0..95).map(|depth| format!("{}{open}\n", " ".repeat(depth))).collect()
    };
    for source in [
        format!("x = {}1{}", "(".repeat(98), ")".repeat(98)),
        format!("x = {}{}", "[".repeat(98), "]".repeat(98)),
        format!("x = {}1{}", "{1:".repeat(90), "}".repeat(90)),
        format!("x = 1{}", " + 1".repeat(98)),
        format!("x = {}True", "not ".repeat(98)),
        format!("x = {}1", "-".repeat(98)),
        format!("x = {}1", "lambda: ".repeat(98)),
        format!("x = 1{}", " if 1 else 1".repeat(48)),
        format!("x = [1 {}]", "for a in [1] ".repeat(48)),
        format!("x = 1\nif x:\n  x\n{}", "elif x:\n  x\n".repeat(95)),
        format!("x = {}1{}", "f'{".repeat(48), "}'".repeat(48)),
        format!("{}{}pass", blocks("if True:"), " ".repeat(95)),
        format!("{}{}pass", blocks("def f():"), " ".repeat(95)),
        format!("{}{}pass", blocks("for x in [1]:"), " ".repeat(95)),
    ] {
        let ended = world.run(&source).await;
        let message = ended.result.err().map(|failed| failed.message).unwrap_or_default();
        assert!(!message.contains("crashed the interpreter"), "{source:.60}: {message}");
        assert!(!message.contains("too deep"), "{source:.60}: {message}");
    }
}
