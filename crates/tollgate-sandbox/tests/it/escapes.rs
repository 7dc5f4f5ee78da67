use tollgate_sandbox::frames::ProgramErrorKind;

use crate::world::World;

/// B-ST 11: nothing but the tools that were named can be reached.
#[tokio::test]
async fn b_st_11_there_is_nothing_else_to_reach() {
    let world = World::new();
    for source in [
        "load('/etc/passwd', 'x')",
        "import os",
        "x = __builtins__",
        "x = open('/etc/passwd')",
        "x = eval('1')",
        "x = exec('1')",
        "x = getattr(dice, '__class__')",
        "x = dice.__class__",
        "x = getattr(dice, 'secret')()",
        "x = notes.roll()",
        "x = [].__class__.__base__",
        "x = dict(dice)['roll']",
        "x = hidden.tool()",
        "x = time()",
        "x = json.__init__",
    ] {
        let failed = world.run(source).await.result.expect_err(source);
        assert!(
            matches!(failed.kind, ProgramErrorKind::Syntax | ProgramErrorKind::Runtime),
            "{source}: {failed:?}"
        );
        assert!(!failed.message.contains("crashed the interpreter"), "{source}: {failed:?}");
    }
}

/// B-ST 12: aliases are the tools that they were; numbers cannot be made up.
#[tokio::test]
async fn b_st_12_tools_by_another_name_are_the_same_tools() {
    let world = World::new();
    let source = "t = {'a': dice.roll}\nf = lambda **k: t['a'](**k)\nresult = f(n = 1)";
    assert_eq!(world.run_as_text(source).await.replace(' ', ""), r#"{"n":1}"#);
    for source in [
        "dice.roll = 1",
        "dice.roll.tool = 2",
        "dice['roll'] = 1",
        "x = dice.roll(f = dice.roll)",
        "x = dice.roll(f = lambda: 1)",
        "x = parallel([1])",
        "x = parallel([(1, {})])",
        "x = parallel([(dice.roll, 1)])",
        "x = parallel([lambda: dice.roll()])",
        "x = try_call(1)",
        "x = dice()",
    ] {
        let failed = world.run(source).await.result.expect_err(source);
        assert!(!failed.message.contains("crashed the interpreter"), "{source}: {failed:?}");
    }
}

#[tokio::test]
async fn b_st_12_calls_without_end_are_stopped() {
    let ended = World::new().run("for i in range(100000):\n    dice.roll(n = i)").await;
    assert_eq!((ended.result.unwrap_err().kind, ended.calls), (ProgramErrorKind::Calls, 50));
}

/// B-ST 15: one process, one program.
#[tokio::test]
async fn b_st_15_programs_share_nothing() {
    let world = World::new();
    assert_eq!(world.run_as_text("secret = 7\nresult = secret").await, "7");
    let text = world.run_as_text("result = secret").await;
    assert!(text.starts_with("Syntax") || text.starts_with("Runtime"), "{text}");
}
