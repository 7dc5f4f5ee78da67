use proptest::prelude::{Strategy, any, prop, proptest};

use super::check;
use crate::frames::ProgramErrorKind;
use crate::limits::Limits;

fn check_source(source: &str) -> String {
    match check(source, &Limits::default()) {
        Ok(()) => "fine".to_owned(),
        Err(failed) => {
            assert!(failed.hint.is_some(), "no hint for {}", failed.message);
            let place = |number: Option<u32>| number.map_or("-".to_owned(), |it| it.to_string());
            let line = place(failed.line);
            let column = place(failed.column);
            format!("{line}:{column} {:?}: {}", failed.kind, failed.message)
        }
    }
}

#[track_caller]
fn says(source: &str, expected: &str) {
    let text = check_source(source);
    assert!(text.contains(expected), "{source:.200}: {text}");
}

#[test]
fn programs_that_models_write_pass() {
    for source in [
        "",
        "\n\n# nothing\n",
        "result = 1",
        "print(\"a\\tb\")\r\nresult = 2\r\n",
        "x = [a.b for a in f(y) if a.c and not a.d or a[0][1] in {1: 2, 3: (4,)}]",
        "def f(a, b = 1, *args, **kwargs):\n    for x in range(10):\n        if x == 3:\n            \
         return x\n        elif x > 4:\n            continue\n        else:\n            pass\n",
        "s = f\"{x} and {y[\"k\"]} and {{literal}} and {f'{z}'}\"\nr = r'\\'\nt = '''a\n[[[\n'''",
        "long = \"(\" * 1 # ((((((((\ntext = \"unicode: äöü “quoted” 日本語\"",
        "parallel([(web.search, {\"q\": q}) for q in qs], catch = True)",
        "a = 1 if b else 2\nf = lambda x, y: x + y\n   \t \n# tab above in a line without code",
        "x = 0x1f + 0b10 + 0o17 + 1e3 + 1.5e-3 + .5 + 1.",
        "y = b'bytes' + br'raw' + rb'raw'",
        "a = 1 + \\\n    2",
    ] {
        says(source, "fine");
    }
}

#[test]
fn long_programs_without_depth_pass() {
    says(&"x = f(1, [2, 3], {\"a\": 4})\n".repeat(500), "fine");
    says(&format!("x = [{}]", "1 + 2, ".repeat(1000)), "fine");
    says(&format!("x = {{{}}}", "\"k\": [v], ".repeat(1000)), "fine");
    says(&format!("x = f\"{}\"", "{a} ".repeat(2000)), "fine");
    says(&format!("x = [{}]", "lambda a, b: a, ".repeat(500)), "fine");
    says(&"if a:\n    x = 1\nelif b:\n    x = 2\nelse:\n    x = 3\n".repeat(300), "fine");
}

/// B-ST 8 and 9: what makes an interpreter's own stack overflow while it reads a program.
#[test]
fn b_st_08_what_is_too_deep_is_refused_with_its_place() {
    for (deep, what) in [
        ("(".repeat(20_000), "1:105 Depth: brackets"),
        ("[".repeat(20_000), "1:105 Depth: brackets"),
        ("{".repeat(20_000), "1:105 Depth: brackets"),
        ("{1:[(".repeat(5_000), "Depth: brackets"),
        (format!("1{}", " + 1".repeat(6_000)), "Depth: one expression"),
        (format!("a{}", " and a".repeat(4_000)), "Depth: one expression"),
        ("not ".repeat(5_000), "Depth: one expression"),
        ("-".repeat(20_000), "Depth: one expression"),
        ("~ ".repeat(10_000), "Depth: one expression"),
        (format!("a{}", ".b".repeat(10_000)), "Depth: one expression"),
        (format!("a{}", "()".repeat(10_000)), "Depth: one expression"),
        (format!("a{}", "[0]".repeat(10_000)), "Depth: one expression"),
        ("lambda: ".repeat(3_000), "Depth: one expression"),
        ("lambda a, b: ".repeat(2_000), "Depth: one expression"),
        ("lambda a=lambda b, c: 1, d=2: ".repeat(1_000), "Depth: one expression"),
        (format!("1{}", " if 1 else 1".repeat(2_000)), "Depth: one expression"),
        (format!("1{}", "if 1else 1".repeat(3_000)), "Depth: one expression"),
        (format!("[1 {}]", "for a, b in c ".repeat(2_000)), "Depth: one expression"),
        (format!("[1 for a in b {}]", "if c, d ".repeat(2_000)), "Depth: one expression"),
        ("f\"{".repeat(5_000), "Depth: brackets"),
        ("f'''{f\"{".repeat(3_000), "Depth: brackets"),
        (format!("f\"{{1{}}}\"", "+1".repeat(5_000)), "Depth: one expression"),
    ] {
        says(&format!("x = {deep}"), what);
    }
}

#[test]
fn b_st_08_blocks_and_branches_have_a_depth_too() {
    let blocks: String = (0..150).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
    says(&blocks, "101:101 Depth: blocks");
    let branches = format!("if a:\n  b\n{}", "elif a:\n  b\n".repeat(150));
    says(&branches, "Depth: one `if` has too many");
}

#[test]
fn strings_and_comments_hide_nothing_and_pretend_nothing() {
    let deep = "[".repeat(200);
    for harmless in [
        format!("x = \"{deep}\""),
        format!("x = '{deep}'"),
        format!("x = r'\\'{deep}'"),
        format!("x = \"\"\"\n{deep}\n\"{deep}\"\"\""),
        format!("x = '\\'{deep}'"),
        format!("x = b'{deep}'"),
        format!("x = f'{{{{{deep}}}}}'"),
        format!("# {deep}"),
        format!("x = 1 # {deep}"),
    ] {
        says(&harmless, "fine");
    }
    for deep in [
        format!("x = \"\\\"\" + {deep}"),
        format!("x = '\\\\' + {deep}"),
        format!("x = '''\\'''' + {deep}"),
        format!("x = \"\"{deep}"),
        format!("x = f'{{{{{{a}}}}}}' + {deep}"),
        format!("x = f'{{ {deep}"),
        format!("x = f'{{a!r}}' + {deep}"),
        format!("# '''\nx = {deep}"),
        format!("x = '\\\r\n' + {deep}"),
        format!("xr'' + {deep}"),
    ] {
        says(&deep, "Depth: brackets");
    }
}

#[test]
fn b_st_14_strange_characters_are_named() {
    says("x = 1\ny = \"\0\"", "2:6 Syntax: a program cannot have the character U+0000");
    says("x = \u{1b}[0m", "U+001B");
    says("\u{feff}x = 1", "1:1 Syntax: a program cannot have the character U+FEFF");
    says("x = 1\ry = 2", "U+000D");
    says("if x:\n\ty = 1", "2:1 Syntax: there is a tab");
    says("x = 1\t+ 2", "1:6 Syntax: there is a tab");
    says("x = (1,\n\t2)", "2:1 Syntax: there is a tab");
    says("x = “hello”", "1:5 Syntax: unexpected character `“`");
    says("größe = 1", "1:3 Syntax: unexpected character `ö`");
    says("x =\u{a0}1", "unexpected character U+00A0");
    says("x = \"ä\" – 1", "1:9 Syntax: unexpected character `–`");
}

#[test]
fn b_st_14_size_has_a_limit() {
    says(
        &"x = 1\n".repeat(200_000),
        "-:- Syntax: the program has 1200000 bytes; the limit is 32768",
    );
}

#[test]
fn the_line_is_shown_as_far_as_it_helps() {
    let failed = check(&format!("a = 1\nx = {}", "(".repeat(5_000)), &Limits::default());
    let failed = failed.unwrap_err();
    assert_eq!((failed.kind, failed.line), (ProgramErrorKind::Depth, Some(2)));
    assert!(failed.text.unwrap().chars().count() <= 301);
}

/// Pieces that matter to the lexer, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "'", "\"", "'''", "\"\"\"", "f'", "f\"", "fr'", "r\"", "rb'", "\\", "{", "}", "{{", "}}",
        "(", ")", "[", "]", "\n", "\r\n", "    ", "\t", "#", "if", "elif", "else", "for", "lambda",
        ":", ",", ";", "not ", "1if", "0x", "1e", "1.", ".", "...", "=", "==", "//=", "ä", "\0",
        "x", " ", "-",
    ]);
    prop::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_looked_at_without_a_panic(source in any::<String>(), nesting in 0_usize..5) {
        let _ = check(&source, &Limits { nesting, ..Limits::default() });
    }

    #[test]
    fn any_pieces_are_looked_at_without_a_panic(source in pieces(), nesting in 0_usize..5) {
        let _ = check(&source, &Limits { nesting, ..Limits::default() });
    }
}
