use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::*;
use crate::memory::MemoryError;

/// Another process with this test's program, which does what `part` says to the file.
pub(super) fn child(test: &str, file: &Path, part: u64) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = format!("memory::sqlite::tests::{test}");
    command.args(["--exact", &test, "--nocapture", "--test-threads=1"]);
    command.env(FILE, file).env(PART, part.to_string());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

/// What a child is told; `None` elsewhere.
pub(super) fn child_part() -> Option<(PathBuf, u64)> {
    let file = std::env::var_os(FILE)?;
    let part = std::env::var_os(PART)?.into_string().unwrap();
    Some((file.into(), part.parse().unwrap()))
}

const FILE: &str = "TOLLGATE_MEMORY_FILE";
const PART: &str = "TOLLGATE_MEMORY_PART";

/// In a child this is the whole test; elsewhere it does nothing.
#[tokio::test]
async fn partner() {
    let Some((file, part)) = child_part() else { return };
    let memory = MemoryStore::open_sqlite(&file).unwrap();
    for number in 0..200 {
        append(&memory, &format!("partner | p{part}: number {number}")).await;
    }
    let ids = remember(&memory, &place("waterdeep"), &["It rains."]).await;
    memory.keep_vectors("m", vec![(ids[0], vec![1.0, 0.0])]).await.unwrap();
}

/// Another process may hold the file for longer than we wait.
async fn append(memory: &MemoryStore, text: &str) {
    loop {
        match memory.append(&place("waterdeep"), vec![entry(text, 0)]).await {
            Err(MemoryError::Slow(_)) => {}
            done => {
                assert_eq!(done.unwrap().len(), 1);
                return;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_a_file() {
    let folder = Folder::new();
    let memory = folder.open();
    let near = vector("m", &[1.0, 0.0]);
    assert_eq!(memory.facts_near(&scope("waterdeep"), &near, 5).await, Ok(vec![]));
    let (mut child, lines) = child("processes::partner", &folder.file(), 1);
    for number in 0..200 {
        append(&memory, &format!("own | us: number {number}")).await;
    }
    lines.lines().for_each(drop);
    assert!(child.wait().unwrap().success());
    for name in ["own", "partner"] {
        let said = memory.entries(&scope("waterdeep"), &session(name), WHOLE).await.unwrap();
        let texts: Vec<&str> = said.iter().map(|it| &*it.text).collect();
        let expected: Vec<String> = (0..200).map(|number| format!("number {number}")).collect();
        assert_eq!(texts, expected, "{name}");
    }
    assert_eq!(found(&memory, "waterdeep", "p1").await.len(), 10);
    let rains = memory.facts_near(&scope("waterdeep"), &near, 5).await.unwrap();
    assert_eq!(rains[0].0.text, "It rains.");
    check(&folder.connect());
}

/// another process holds the lock. Whoever writes hears of it soon, reading goes on, and
/// afterwards all is well by itself.
#[tokio::test(flavor = "multi_thread")]
async fn r_27_a_lock_that_another_process_holds_is_no_hang() {
    let folder = Folder::new();
    let memory = folder.open();
    say(&memory, &place("waterdeep"), &["a: dragon"]).await;
    let other = folder.connect();
    other.execute_batch("BEGIN IMMEDIATE; UPDATE shelves SET facts = facts").unwrap();
    let began = now();
    let here = place("waterdeep");
    let mut writes = Vec::new();
    for number in 0..20 {
        let memory = memory.clone();
        let here = here.clone();
        #[expect(clippy::disallowed_methods, reason = "a test has no tasks of its own")]
        writes.push(tokio::spawn(async move {
            let refused = memory.append(&here, vec![entry("a: more", number)]).await;
            (refused, began.elapsed())
        }));
    }
    for write in writes {
        let (refused, took) = write.await.unwrap();
        assert!(matches!(refused, Err(MemoryError::Slow(_))), "{refused:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert_eq!(found(&memory, "waterdeep", "dragon").await, ["dragon"]);
    }
    other.execute_batch("ROLLBACK").unwrap();
    say(&memory, &place("waterdeep"), &["a: dragon again"]).await;
    assert_eq!(found(&memory, "waterdeep", "dragon").await.len(), 2);
    check(&folder.connect());
}
