use std::time::Duration;

use super::{TranscriptFormat, UtteranceTime, clock, date, date_in, read};

/// One line for each thing that was said: `line speaker@when: text`.
fn check(form: TranscriptFormat, text: &str, expected: &[&str]) {
    let found = read(form, text).unwrap_or_else(|bad| panic!("{text}: {bad}"));
    let shown: Vec<String> = found
        .lines
        .iter()
        .map(|transcript_line| {
            let when = match transcript_line.when {
                UtteranceTime::At(at) => format!("@{}", date::format_rfc3339_millis(at)),
                UtteranceTime::After(after) => format!("+{}", after.as_millis()),
                UtteranceTime::Next => String::new(),
            };
            format!(
                "{} {}{when}: {}",
                transcript_line.line, transcript_line.speaker, transcript_line.text
            )
        })
        .collect();
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn a_text_has_speakers_continued_lines_narration_and_headings() {
    check(
        TranscriptFormat::Text,
        "# Session 3\n\nMira: The key\nis under the step.\nTam: Aye: I saw it.\n\n\
         The wind rises.\nIt howls.\n---\n**Old Ben:** Go home!\n*Mira*: No.\n",
        &[
            "3 Mira: The key is under the step.",
            "5 Tam: Aye: I saw it.",
            "7 Narrator: The wind rises. It howls.",
            "10 Old Ben: Go home!",
            "11 Mira: No.",
        ],
    );
}

#[test]
fn a_colon_alone_makes_no_speaker() {
    for line in [
        "They said one thing, and one only: run.",
        "See https://example.com for more",
        "http://example.com",
        "A line that goes on and on before its colon: yes",
        ": nobody",
        "What now?: nothing",
    ] {
        check(TranscriptFormat::Text, line, &[&format!("1 Narrator: {line}")]);
    }
    check(TranscriptFormat::Text, "GM:\nYou wake up.\n", &["1 GM: You wake up."]);
    check(TranscriptFormat::Text, "Ælfrid the Grey: Näh?\n", &["1 Ælfrid the Grey: Näh?"]);
}

#[test]
fn times_stand_before_the_speaker() {
    check(
        TranscriptFormat::Text,
        "[00:12:30] Mira: A\n(1:05) Tam: B\n12:30 Ben: C\n\n[x] Mira: D\n",
        &["1 Mira+750000: A", "2 Tam+65000: B", "3 Ben+750000: C", "5 Narrator: [x] Mira: D"],
    );
    for (text, milliseconds) in [
        ("00:00:01.5", Some(1_500)),
        ("1:02:03,250", Some(3_723_250)),
        ("02:03", Some(123_000)),
        ("100:00:00", Some(360_000_000)),
    ] {
        assert_eq!(clock(text), milliseconds.map(Duration::from_millis), "{text}");
    }
    for bad in ["", "12", "a:b", "1:2:3:4", "1:-2", "1:2.", "1:2.3456", "12345:00"] {
        assert_eq!(clock(bad), None, "{bad}");
    }
}

#[test]
fn captions_of_both_kinds_are_read() {
    check(
        TranscriptFormat::Captions,
        "WEBVTT - 2026-01-05\n\nNOTE nothing\n\nSTYLE\n::cue { color: red }\n\n\
         intro\n00:01.000 --> 00:02.500 align:left\n<v.loud Mira>The <b>key</b> &amp; the lock\n\n\
         00:00:03.000 --> 00:00:04.000\nTam: Aye.\n- No.\n\n00:05.000 --> 00:06.000\n<c>Wind</c>\n",
        &["9 Mira+1000: The key & the lock", "12 Tam+3000: Aye. - No.", "16 Speaker+5000: Wind"],
    );
    check(
        TranscriptFormat::Captions,
        "1\n00:00:01,000 --> 00:00:02,000\nMira: One\n\n2\n00:00:03,250 --> 00:00:04,000\nTwo <i\n",
        &["2 Mira+1000: One", "6 Speaker+3250: Two <i"],
    );
    let bad = read(TranscriptFormat::Captions, "1\n00:xx --> 00:02\nOh\n").unwrap_err();
    assert_eq!((bad.line, bad.why.contains("is not a time")), (Some(2), true));
}

#[test]
fn lists_of_objects_are_read_whatever_they_call_things() {
    check(
        TranscriptFormat::Json,
        r#"[{"speaker": "Mira", "text": "A", "at": "2026-01-05T19:00:00Z"}, {"role": "user",
            "content": [{"type": "text", "text": "B"}, {"type": "image"}], "start": 2.5},
            {"name": "Ben", "message": "C", "timestamp": 1700000000}, {"speaker": 1, "text": "D"},
            {"speaker": "Mira", "text": " "}, {"role": "assistant", "content": null}]"#,
        &[
            "0 Mira@2026-01-05T19:00:00Z: A",
            "0 user+2500: B",
            "0 Ben@2023-11-14T22:13:20Z: C",
            "0 Speaker 1: D",
        ],
    );
    check(
        TranscriptFormat::Json,
        r#"{"date": "2026-01-05", "messages": [{"role": "user", "content": "A"}]}"#,
        &["0 user: A"],
    );
    for (text, message) in [
        ("{", "not JSON"),
        ("{}", "neither a list"),
        ("[1]", "entry 1: it is not an object"),
        (r#"[{"text": "x"}]"#, "entry 1: it has none of `speaker`"),
        (r#"[{"speaker": "x"}]"#, "entry 1: it has none of `text`"),
        (r#"[{"speaker": "x", "text": "y", "at": "soon"}]"#, "is not a time"),
        (r#"[{"speaker": "x", "text": "y", "at": -1}]"#, "is not a time"),
        (r#"[{"speaker": "x", "text": "y", "at": 1e300}]"#, "is not a time"),
        ("[]", "it contains no utterances"),
    ] {
        let why = read(TranscriptFormat::Json, text).unwrap_err().why;
        assert!(why.contains(message), "{text}: {why}");
    }
}

#[test]
fn dates_are_found_in_names() {
    for (name, expected) in [
        ("2026-01-05-harbour.txt", Some("2026-01-05T00:00:00Z")),
        ("session_20260105.txt", Some("2026-01-05T00:00:00Z")),
        ("# Session 3 (2026-01-19)", Some("2026-01-19T00:00:00Z")),
        ("s-02026-01-05", None),
        ("202601051", None),
        ("2026-13-05", None),
        ("chapter 12", None),
        ("früh-2026-01-05ü", Some("2026-01-05T00:00:00Z")),
    ] {
        assert_eq!(date_in(name).map(date::format_rfc3339).as_deref(), expected, "{name}");
    }
}

#[test]
fn what_has_no_time_follows_a_second_later_each_time_the_same() {
    let found = read(TranscriptFormat::Text, "A: x\n[00:10] B: y\nC: z\n").unwrap();
    let began = date::parse("2026-01-05T19:00:00Z").unwrap();
    let times: Vec<String> = found
        .lines("s", began)
        .iter()
        .map(|(_, line)| line["at"].as_str().unwrap().to_owned())
        .collect();
    let expected = ["2026-01-05T19:00:00Z", "2026-01-05T19:00:10Z", "2026-01-05T19:00:11Z"];
    assert_eq!(times, expected);
}
