//! the server stops, freezes, restarts, has no place left, or comes late.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tollgate_core::memory::EntryId;
use tollgate_testkit::postgres::{PostgresBuild, PostgresCluster, TestDatabase};

use super::{answer, ready};
use crate::memory::tests::suite::{WHOLE, entry, patiently, place, say, scope, search, session};
use crate::memory::{MemoryError, MemoryStore, TranscriptPage};

/// Every call ends by itself long before this.
const ENDS: Duration = Duration::from_secs(10);
/// And it is back by itself long before this.
const BACK: Duration = Duration::from_secs(15);

/// What becomes of reading and of writing, which both end in time.
async fn tried(memory: &MemoryStore) -> [Result<(), MemoryError>; 2] {
    let lines = vec![entry("a: anybody there?", 0)];
    let here = place("elsewhere");
    let eyes = scope("elsewhere");
    let id = session("one");
    let write = timeout(ENDS, memory.append(&here, lines)).await;
    let read = timeout(ENDS, memory.session(&eyes, &id)).await;
    [write.expect("writing ends").map(drop), read.expect("reading ends").map(drop)]
}

fn is_trouble(ended: &Result<(), MemoryError>) -> bool {
    matches!(ended, Err(MemoryError::Away(_) | MemoryError::Slow(_)))
}

async fn until_it_is_back(memory: &MemoryStore) {
    let back = async {
        while tried(memory).await.iter().any(Result::is_err) {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(BACK, back).await.expect("it comes back by itself");
}

async fn texts_of(memory: &MemoryStore, name: &str) -> Vec<String> {
    let eyes = scope("waterdeep");
    let id = session(name);
    let found = patiently(|| memory.entries(&eyes, &id, WHOLE)).await.unwrap();
    found.into_iter().map(|entry| entry.text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_27_a_server_may_come_later_stop_and_come_back() {
    let mut cluster = PostgresCluster::start(PostgresBuild::Plain);
    let url = cluster.database("memory");
    cluster.stop();
    let memory = MemoryStore::connect_postgres(&url).unwrap();
    for _ in 0..3 {
        let ended = tried(&memory).await;
        assert!(ended.iter().all(is_trouble), "{ended:?}");
    }
    cluster.resume();
    until_it_is_back(&memory).await;

    say(&memory, &place("waterdeep"), &["one | a: kept", "one | a: this too"]).await;
    cluster.stop();
    let ended = tried(&memory).await;
    assert!(ended.iter().all(is_trouble), "{ended:?}");
    cluster.resume();
    until_it_is_back(&memory).await;
    assert_eq!(texts_of(&memory, "one").await, ["kept", "this too"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_27_a_frozen_server_holds_nobody_up() {
    let cluster = PostgresCluster::start(PostgresBuild::Plain);
    let memory = MemoryStore::connect_postgres(&cluster.database("memory")).unwrap();
    until_it_is_back(&memory).await;
    cluster.freeze();
    let mut callers = JoinSet::new();
    for _ in 0..30 {
        let memory = memory.clone();
        callers.spawn(async move { tried(&memory).await });
    }
    while let Some(ended) = callers.join_next().await {
        let ended = ended.unwrap();
        assert!(ended.iter().all(is_trouble), "{ended:?}");
    }
    cluster.thaw();
    until_it_is_back(&memory).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_27_restarts_under_load_lose_nothing_that_was_acknowledged() {
    let mut cluster = PostgresCluster::start(PostgresBuild::Plain);
    let memory = MemoryStore::connect_postgres(&cluster.database("memory")).unwrap();
    until_it_is_back(&memory).await;
    let ends = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let memory = memory.clone();
        let ends = Arc::clone(&ends);
        writers.spawn(async move { acknowledged(&memory, writer, &ends).await });
    }
    for _ in 0..2 {
        sleep(Duration::from_millis(300)).await;
        cluster.stop();
        cluster.resume();
        until_it_is_back(&memory).await;
    }
    ends.store(true, Ordering::Relaxed);
    let mut retained = 0;
    while let Some(acknowledged) = writers.join_next().await {
        for (id, text) in acknowledged.unwrap() {
            let found = first_from(&memory, &text, id).await;
            assert_eq!(found, (id, text));
            retained += 1;
        }
    }
    assert!(retained > 8, "{retained} were acknowledged");
    let counts = patiently(|| memory.namespaces()).await.unwrap();
    let waterdeep = counts.iter().find(|(name, _)| name.as_str() == "waterdeep").unwrap().1;
    let rows = cluster.run(
        "memory",
        "SELECT count(*) FROM tollgate.entries e
        JOIN tollgate.sessions s ON s.id = e.session JOIN tollgate.shelves h ON h.id = s.shelf
        WHERE h.namespace = 'waterdeep'",
    );
    assert_eq!(waterdeep.entries.to_string(), rows.trim());
}

/// The first that was said from this number on by whoever said such a text.
async fn first_from(memory: &MemoryStore, text: &str, id: EntryId) -> (EntryId, String) {
    let eyes = scope("waterdeep");
    let name = session(text.split(' ').next().unwrap());
    let ask = || {
        let page = TranscriptPage { after: Some(EntryId(id.0 - 1)), most: 1 };
        memory.entries(&eyes, &name, page)
    };
    let first = patiently(ask).await.unwrap().swap_remove(0);
    (first.id, first.text)
}

/// Writes until it is told to end; what it was told is kept.
async fn acknowledged(
    memory: &MemoryStore,
    writer: usize,
    ends: &AtomicBool,
) -> Vec<(EntryId, String)> {
    let mut retained = Vec::new();
    for number in 0.. {
        if ends.load(Ordering::Relaxed) {
            break;
        }
        let text = format!("w{writer} says {number}");
        let lines = vec![entry(&format!("w{writer} | a: {text}"), number)];
        match memory.append(&place("waterdeep"), lines).await {
            Ok(ids) => retained.push((ids[0], text)),
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
    retained
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_27_a_server_without_places_says_so_and_has_some_again() {
    let mut cluster = PostgresCluster::start(PostgresBuild::Plain);
    cluster.database("memory");
    cluster.stop();
    cluster.set("max_connections=12");
    cluster.resume();
    let url = cluster.url("memory");
    let config: tokio_postgres::Config = url.parse().unwrap();
    let mut others = Vec::new();
    let mut held = JoinSet::new();
    // Some places are for the administrator alone.
    while let Ok((client, connection)) = config.connect(tokio_postgres::NoTls).await {
        others.push(client);
        held.spawn(connection);
    }
    let memory = MemoryStore::connect_postgres(&url).unwrap();
    let ended = tried(&memory).await;
    assert!(ended.iter().all(is_trouble), "{ended:?}");
    drop(others);
    until_it_is_back(&memory).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_27_connections_that_were_ended_are_replaced() {
    let cluster = PostgresCluster::start(PostgresBuild::Plain);
    let memory = MemoryStore::connect_postgres(&cluster.database("memory")).unwrap();
    until_it_is_back(&memory).await;
    for _ in 0..3 {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = 'memory' AND pid <> pg_backend_pid()";
        cluster.run("memory", end);
        until_it_is_back(&memory).await;
    }
    let open = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'gateway'";
    let open: usize = cluster.run("postgres", open).trim().parse().unwrap();
    assert!(open <= 8, "{open} connections are open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_who_give_up_cost_no_connections() {
    let database = TestDatabase::new(PostgresBuild::Plain);
    let memory = ready(&database.url).await;
    say(&memory, &place("waterdeep"), &["one | a: the dragon sleeps"]).await;
    let pids = "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity
                WHERE usename = 'gateway' AND datname = current_database()";
    let before = database.run(pids);
    for patience in 0..60 {
        let eyes = scope("waterdeep");
        let here = place("waterdeep");
        let patience = Duration::from_micros(50 * patience);
        let looked = search("dragon");
        let _ = timeout(patience, memory.search_entries(&eyes, &looked)).await;
        let _ = timeout(patience, memory.summarise(&here, &session("one"), "it sleeps")).await;
    }
    assert_eq!(answer(&memory).await, Ok(()));
    let after = database.run(pids);
    for pid in before.split_whitespace() {
        assert!(after.contains(pid), "{before} became {after}");
    }
    assert_eq!(texts_of(&memory, "one").await, ["the dragon sleeps"]);
}

/// Whoever listens there hangs up, or says nothing.
async fn server_that(hangs_up: Hangs) -> (String, Arc<AtomicUsize>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://gateway@{}/memory", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut silent = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            match hangs_up {
                Hangs::Up => drop(stream.read(&mut [0; 8]).await),
                Hangs::On => silent.push(stream),
            }
        }
    });
    (url, count, tasks)
}

#[derive(Clone, Copy)]
enum Hangs {
    Up,
    On,
}

#[expect(clippy::disallowed_methods, reason = "connections are counted in real time")]
fn now() -> Instant {
    Instant::now()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_27_it_never_connects_more_often_than_it_has_places() {
    for hangs in [Hangs::Up, Hangs::On] {
        let (url, count, tasks) = server_that(hangs).await;
        let began = now();
        let memory = MemoryStore::connect_postgres(&url).unwrap();
        let mut callers = JoinSet::new();
        for _ in 0..40 {
            let memory = memory.clone();
            callers.spawn(async move {
                for _ in 0..20 {
                    assert!(tried(&memory).await.iter().all(is_trouble));
                    sleep(Duration::from_millis(50)).await;
                }
            });
        }
        for _ in 0..2 {
            // Looked at before the next second begins, unless the machine stands still.
            sleep(Duration::from_millis(900)).await;
            let came = count.load(Ordering::Relaxed);
            let seconds = usize::try_from(began.elapsed().as_secs()).unwrap() + 1;
            assert!(came <= 8 * seconds, "{came} came in second {seconds}");
        }
        assert!(count.load(Ordering::Relaxed) > 0);
        callers.abort_all();
        drop(tasks);
    }
}
