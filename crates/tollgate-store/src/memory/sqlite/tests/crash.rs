use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, Write};
use std::time::Duration;

use tollgate_core::digest::{DigestBuilder, hex};
use tollgate_core::memory::NewEntry;

use super::processes::{child, child_part};
use super::*;

/// So often is it killed; the variable says otherwise, and in a soak it is 200 times.
const KILLS: u64 = 12;
const SOAK_KILLS: u64 = 200;
const VARIABLE: &str = "TOLLGATE_KILLS";
const SOAK: &str = "TOLLGATE_SOAK";
/// One file is killed so often: it is looked through each time.
const OF_A_FILE: u64 = 10;
const MAX_ROWS: u64 = 10_000;

/// In a child this is the whole test; elsewhere it does nothing. Four write at once; each says what
/// was acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writer() {
    let Some((file, run)) = child_part() else { return };
    let memory = MemoryStore::open_sqlite(&file).unwrap();
    let four = (0..4).map(|task| write(&memory, run, task)).map(Box::pin);
    let four: Vec<_> = four.collect();
    let [a, b, c, d] = four.try_into().unwrap_or_else(|_| unreachable!("four"));
    tokio::join!(a, b, c, d);
}

async fn write(memory: &MemoryStore, run: u64, task: u64) {
    let mut rows = 0;
    for batch in 0_u64.. {
        let size = 1 + (batch * 7 + task * 3) % 20;
        let entries =
            (0..size).map(|at| entry_with_checksum(&format!("{run}.{task}.{batch} {at}/{size}")));
        memory.append(&place("waterdeep"), entries.collect()).await.unwrap();
        let line = format!("ack {run}.{task}.{batch} {size}\n");
        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
        if batch % 5 == 0 {
            let here = place("waterdeep");
            let text = format!("fact {run} {task} {batch}");
            let ids = remember(memory, &here, &[&text]).await;
            let vectors = ids.into_iter().map(|id| (id, vec![1.0, 0.5])).collect();
            memory.keep_vectors("m", vectors).await.unwrap();
        }
        rows += size;
        if rows * 4 > MAX_ROWS {
            return;
        }
    }
}

/// A text that shows whether it is whole.
fn entry_with_checksum(name: &str) -> NewEntry {
    let sum = hex(&DigestBuilder::default().with(name).finish());
    entry(&format!("kills | w: {name} {} {sum}", "word ".repeat(sum.len() % 9)), 0)
}

/// what was acknowledged is there after a kill at any point, nothing is there in part, and
/// the file is sound.
#[tokio::test(flavor = "multi_thread")]
async fn r_25_what_was_acknowledged_outlasts_a_kill() {
    let mut folder = Folder::new();
    let is_soak = std::env::var_os(SOAK).is_some();
    let usual = if is_soak { SOAK_KILLS } else { KILLS };
    let kills =
        std::env::var_os(VARIABLE).map_or(usual, |it| it.into_string().unwrap().parse().unwrap());
    let mut acknowledged = BTreeMap::new();
    let mut all = 0;
    for run in 0..kills {
        if run % OF_A_FILE == 0 {
            folder = Folder::new();
            all += std::mem::take(&mut acknowledged).len();
        }
        let (mut process, mut lines) = child("crash::writer", &folder.file(), run);
        let random = RandomState::new().hash_one(run);
        let mut line = String::new();
        for _ in 0..random % 150 {
            line.clear();
            lines.read_line(&mut line).unwrap();
            note(&line, &mut acknowledged);
        }
        thread::sleep(Duration::from_micros(random / 150 % 10_000));
        process.kill().unwrap();
        process.wait().unwrap();
        // What it said in time is still in the pipe; a line without an end was not said.
        while {
            line.clear();
            lines.read_line(&mut line).unwrap() > 0
        } {
            note(&line, &mut acknowledged);
        }
        sound(&folder, &acknowledged, run).await;
    }
    all += acknowledged.len();
    assert!(all > usize::try_from(kills).unwrap(), "{all}");
}

fn note(line: &str, acknowledged: &mut BTreeMap<String, u64>) {
    if let Some(batch) = line.strip_prefix("ack ").and_then(|it| it.strip_suffix('\n')) {
        let (name, size) = batch.split_once(' ').unwrap();
        acknowledged.insert(name.to_owned(), size.parse().unwrap());
    }
}

async fn sound(folder: &Folder, acknowledged: &BTreeMap<String, u64>, run: u64) {
    let memory = folder.open();
    let connection = folder.connect();
    check(&connection);
    let mut batches: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut query = connection.prepare("SELECT text FROM entries ORDER BY id").unwrap();
    for text in query.query_map([], |row| row.get::<_, String>(0)).unwrap() {
        let text = text.unwrap();
        let words: Vec<&str> = text.split(' ').collect();
        assert_eq!(
            text,
            entry_with_checksum(&format!("{} {}", words[0], words[1])).text,
            "run {run}"
        );
        let (_, size) = words[1].split_once('/').unwrap();
        let batch = batches.entry(words[0].to_owned()).or_insert((0, size.parse().unwrap()));
        batch.0 += 1;
    }
    for (name, (there, size)) in &batches {
        assert_eq!(there, size, "batch {name} is there in part after run {run}");
    }
    for (name, size) in acknowledged {
        assert_eq!(batches.get(name), Some(&(*size, *size)), "batch {name} is lost, run {run}");
    }
    let last = acknowledged.keys().next_back().map(|name| format!("\"{name}\""));
    if let Some(last) = last {
        assert!(!found(&memory, "waterdeep", &last).await.is_empty(), "{last}, run {run}");
    }
}
