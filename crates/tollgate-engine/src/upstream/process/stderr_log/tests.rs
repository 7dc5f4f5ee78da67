use super::*;
use crate::clock::SystemClock;

fn log(secrets: &[&str]) -> Arc<ServerLog> {
    let secrets = secrets.iter().map(|&text| Secret::new(text)).collect();
    Arc::new(ServerLog::new(ServerId::parse("child").unwrap(), secrets))
}

async fn check(log: Arc<ServerLog>, written: &[u8], expected: &[&str]) {
    drain(written, Arc::clone(&log), Arc::new(SystemClock)).await;
    assert_eq!(log.lines(), expected);
}

#[tokio::test]
async fn lines_are_kept_however_they_end() {
    check(log(&[]), b"one\ntwo\r\n\nthree", &["one", "two", "", "three"]).await;
}

#[tokio::test]
async fn s_23_secrets_and_control_characters_are_taken_out() {
    let log = log(&["s3cr3t-value", "abc"]);
    let written = b"\x1b[31mkey=s3cr3t-value\x1b[0m abc\x07 \xff\n";
    check(log, written, &["key=<secret> abc \u{fffd}"]).await;
}

#[tokio::test]
async fn s_30_hidden_text_and_terminal_commands_are_taken_out() {
    let dirty =
        "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{202e}c\u{2066}d\u{e0068}\u{e0069}e\u{200b}f\u{9b}31mg\rh";
    check(log(&[]), dirty.as_bytes(), &["abcdefgh"]).await;
    check(log(&[]), "tab\there, 👩‍💻 ⚠️".as_bytes(), &["tab\there, 👩‍💻 ⚠️"]).await;
}

#[tokio::test]
async fn only_the_last_hundred_lines_are_kept() {
    let log = log(&[]);
    let written: String = (0..100_000).map(|at| format!("line {at}\n")).collect();
    drain(written.as_bytes(), Arc::clone(&log), Arc::new(SystemClock)).await;
    let lines = log.lines();
    assert_eq!((lines.len(), lines[0].as_str()), (100, "line 99900"));
    assert_eq!(lines[99], "line 99999");
}

#[tokio::test]
async fn a_line_without_an_end_costs_no_more_than_its_head() {
    let log = log(&[]);
    let mut written = vec![b'x'; 5 << 20];
    written.extend(b"\nnext\n");
    drain(&written[..], Arc::clone(&log), Arc::new(SystemClock)).await;
    let lines = log.lines();
    assert_eq!((lines[0].len(), lines[1].as_str()), (LINE_BYTES, "next"));
}

#[test]
fn r_19_two_hundred_lines_a_second_are_logged_and_the_gap_is_told() {
    let start = SystemClock.now();
    let mut rate = LogRateLimit::new(start);
    let logged = (0..1000).filter(|_| rate.next(start) == LogVerdict::Log).count();
    assert_eq!(logged, 200);
    let later = start + Duration::from_secs(1);
    assert_eq!(rate.next(later), LogVerdict::LogAfterGap(800));
    assert_eq!(rate.next(later), LogVerdict::Log);
}

#[test]
fn last_words_are_those_of_this_start() {
    let log = log(&[]);
    log.push(b"before");
    let from = log.position();
    assert_eq!(last_words(&log.since(from)), None);
    log.push(b"after");
    log.push(b"  ");
    assert_eq!(last_words(&log.since(from)), Some("after"));
}

#[test]
fn what_is_new_is_told_once() {
    let log = ServerLog::new(ServerId::parse("a").unwrap(), Vec::new());
    log.push(b"one");
    let (lines, at) = log.news(0);
    assert_eq!((lines, at), (vec!["one".to_owned()], 1));
    log.push(b"two");
    assert_eq!(log.news(at), (vec!["two".to_owned()], 2));
    assert_eq!(log.news(2), (Vec::new(), 2));
    for _ in 0..300 {
        log.push(b"more");
    }
    assert_eq!(log.news(2).0.len(), 100, "as many as are kept");
}
