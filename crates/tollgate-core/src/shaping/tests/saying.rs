use super::{
    CallStatus, MessageWording, ResultCaps, ResultExtent, SpeechTemplate, data, failure, message,
    outcome, pending, text,
};
use super::{handle, tool};
use std::time::Duration;

const EARS: MessageWording = MessageWording::Spoken { bytes: 600 };

fn speak(
    result: &str,
    template: Option<&str>,
    field: Option<&str>,
    wording: MessageWording,
) -> String {
    let outcome = outcome(result, &ResultCaps::mcp());
    let speech =
        SpeechTemplate { template: template.map(str::to_owned), field: field.map(str::to_owned) };
    message(&speech, &outcome, &data(&outcome), wording)
}

#[test]
fn a_sentence_comes_from_template_then_field_then_text_then_nowhere() {
    let check = |result: &str, template: Option<&str>, field: Option<&str>, expected: &str| {
        assert_eq!(speak(result, template, field, MessageWording::AsWritten), expected);
        assert_eq!(speak(result, template, field, EARS), expected);
    };
    let atis = text(r#"{"icao":"EDDF","wind":{"kt":7}}"#);
    check(&atis, Some("{icao} has {wind.kt} knots."), Some("icao"), "EDDF has 7 knots.");
    check(&atis, Some("{missing} {icao}"), Some("icao"), "EDDF");
    check(&atis, Some("{missing}"), Some("wind.kt"), "7");
    check(&atis, Some("{missing}"), Some("wind"), "Done.");
    check(&atis, None, None, "Done.");
    check(&text("Two plus two is four."), None, Some("x"), "Two plus two is four.");
    check(&text("Two plus two is four."), Some("{x}"), None, "Two plus two is four.");
    check(r#"{"content":[]}"#, None, None, "I found nothing.");
    check(r#"{"content":[]}"#, Some("nothing at all"), None, "nothing at all");
    check(r#"{"content":[],"isError":true}"#, Some("never"), None, "That did not work.");
}

#[test]
fn templates_take_paths_numbers_lists_and_braces() {
    let result = text(
        r#"{"n":1.5,"yes":true,"names":["Ada","Bob"],"rows":[{"id":7},{"id":8}],"none":null,
            "nested":{"a":1},"mixed":["a",{"b":1}],"json":"{\"a\":1}","ä.b":1}"#,
    );
    for (template, expected) in [
        ("{n} and {yes}", "1.5 and yes"),
        ("{names}", "Ada, Bob"),
        ("{names.1}", "Bob"),
        ("{rows.0.id}/{ rows.1.id }", "7/8"),
        ("{{n}} is {n}", "{n} is 1.5"),
        ("a } b", "a } b"),
        ("", "Done."),
        // What has no word gives the whole template up.
        ("{nested}", "Done."),
        ("{mixed}", "Done."),
        ("{none}", "Done."),
        ("{json}", "Done."),
        ("{rows.2.id}", "Done."),
        ("{rows.-1.id}", "Done."),
        ("{n.x}", "Done."),
        ("{}", "Done."),
        ("{n", "Done."),
        ("{n} {", "Done."),
        ("{{n}", "{n}"),
        ("{{{n}}}", "{1.5}"),
        ("{ä.b}", "Done."),
        ("{n\u{200b}}", "Done."),
    ] {
        assert_eq!(speak(&result, Some(template), None, EARS), expected, "{template}");
    }
}

#[test]
fn a_rule_finds_its_field_in_the_text_if_the_structure_lacks_it() {
    let wrapped = r#"{"content":[{"type":"text","text":"{\"icao\":\"EDDF\"}"}],
        "structuredContent":{"result":"{\"icao\":\"EDDF\"}"}}"#;
    assert_eq!(speak(wrapped, Some("{icao}."), None, EARS), "EDDF.");
    assert_eq!(speak(wrapped, None, Some("icao"), EARS), "EDDF");
    assert_eq!(speak(wrapped, None, Some("result"), EARS), "Done.", "JSON is not read out");
}

#[test]
fn json_is_not_read_out_even_if_it_is_broken() {
    for code in [r#"{"a":1}"#, r#"{"a":1"#, r#"[{"a":"#, "[[1", r#"["x""#, "[1,2]", "{}x"] {
        assert!(speak(&text(code), None, None, EARS).ends_with('.'), "{code}");
    }
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    assert_eq!(speak(&text(&deep), None, None, EARS), "Done.");
    assert_eq!(speak(&text("[1] A footnote."), None, None, EARS), "[1] A footnote.");
}

#[test]
fn what_is_heard_has_no_markup_and_nothing_hidden() {
    for (written, expected) in [
        (
            "# Weather\n\n**Sunny**, 21 °C.\n- wind: `7 kt`\n* rain: none",
            "Weather Sunny, 21 °C. wind: 7 kt rain: none",
        ),
        ("See [the map](https://a.example/x?y=1) now.", "See the map now."),
        ("![a plan](data:x) ok", "a plan ok"),
        (
            "Go to https://u:p@www.example.org:8080/a/b?c=d#e, then wait.",
            "Go to www.example.org, then wait.",
        ),
        ("http:// is a scheme", "http:// is a scheme"),
        ("```rust\nlet a = 1;\n```\nDone", "let a = 1; Done"),
        ("a | b\n--|--\n1 | 2", "a | b 1 | 2"),
        ("> quoted\n\n---\n2 * 3 = 6", "quoted 2 * 3 = 6"),
        ("a\u{202e}b\u{1b}[31m\u{0}c\u{e0041}\t\r\n d", "ab[31mc d"),
        ("[unclosed ](", "[unclosed ]("),
        ("#hashtag stays", "#hashtag stays"),
    ] {
        assert_eq!(speak(&text(written), None, None, EARS), expected);
    }
    let brackets = "[".repeat(100_000);
    assert!(speak(&text(&format!("x{brackets}")), None, None, EARS).len() <= 600);
}

#[test]
fn what_is_seen_keeps_its_lines() {
    let listing = "**a**\n\tb\u{202e}\u{7}\n";
    assert_eq!(speak(&text(listing), None, None, MessageWording::AsWritten), "**a**\n\tb\n");
}

#[test]
fn what_is_heard_ends_with_a_sentence() {
    let short = |text: &str, bytes: usize| {
        speak(&super::text(text), None, None, MessageWording::Spoken { bytes })
    };
    assert_eq!(short("One two. Three four. Five six.", 24), "One two. Three four.");
    assert_eq!(short("One two. Three four.", 20), "One two. Three four.");
    assert_eq!(short("Version 1.5 is out and more words follow", 20), "Version 1.5 is…");
    assert_eq!(short(&"ä".repeat(50), 21), format!("{}…", "ä".repeat(9)));
    assert_eq!(short("これは長い文です。もう一つの文です。", 40), "これは長い文です。");
    assert_eq!(short("語語語語語語語語", 10), "語語…");
}

#[test]
fn notes_and_handles_are_not_read_out() {
    let caps = ResultCaps { text_bytes: 40, ..ResultCaps::mcp() };
    let long = text("One sentence that is quite long. And another one that is longer.");
    let cut = outcome(&long, &caps);
    assert_eq!(cut.extent, ResultExtent::Cut);
    let content = message(&SpeechTemplate::default(), &cut, &data(&cut), EARS);
    assert!(content.starts_with("One sentence") && !content.contains("r_"), "{content}");
    let waits = pending(&tool(None), handle(), Duration::ZERO);
    let content = message(&SpeechTemplate::default(), &waits, &data(&waits), EARS);
    assert_eq!(content, "That takes a little longer.");
}

#[test]
fn errors_are_explained_to_readers() {
    let error = text(r#"{"ok":false,"error":{"message":"no such channel"}}"#);
    assert_eq!(speak(&error, None, None, MessageWording::AsWritten), "no such channel");
    assert_eq!(speak(&error, None, None, EARS), "That did not work.");
    for (document, expected) in [
        (r#"{"success":false,"message":"No seat is left.","flight":"LH 400"}"#, "No seat is left."),
        (r#"{"success":false,"message":"{\"code\":7}"}"#, "That did not work."),
        (r#"{"success":false,"message":7}"#, "That did not work."),
        (r#"{"success":true,"message":"Booked."}"#, "Done."),
    ] {
        assert_eq!(speak(&text(document), None, None, EARS), expected, "{document}");
    }
    let late = failure(CallStatus::Timeout, "`s_t` did not answer within 500 ms", Duration::ZERO);
    let content = message(&SpeechTemplate::default(), &late, &data(&late), EARS);
    assert_eq!(content, "s_t did not answer within 500 ms");
}
