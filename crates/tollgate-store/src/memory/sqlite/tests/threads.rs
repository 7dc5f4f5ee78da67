use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use super::*;

/// Keeps the writer busy until it is told to go on.
async fn hold(sqlite: &SqliteMemory) -> mpsc::Sender<()> {
    let (free, held) = mpsc::channel::<()>();
    let (holds, begun) = oneshot::channel();
    let held = parking_lot::Mutex::new(held);
    let holds = parking_lot::Mutex::new(Some(holds));
    let mut holding = Box::pin(sqlite.writer.write(0, move |_| {
        if let Some(holds) = holds.lock().take() {
            holds.send(()).unwrap();
        }
        let _ = held.lock().recv();
        Ok(())
    }));
    // Nobody has to wait for its answer.
    tokio::select! {
        biased;
        _ = &mut holding => unreachable!("it is held"),
        begun = begun => begun.unwrap(),
    }
    free
}

#[tokio::test]
async fn what_waits_is_committed_together_and_what_fails_fails_alone() {
    let folder = Folder::new();
    let commits = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&commits);
    let file = folder.file();
    let OpenedDatabase { mut connection, files } = database::open(&file, &MEMORY).unwrap();
    let count = move || {
        counter.fetch_add(1, Ordering::SeqCst);
        false
    };
    connection.commit_hook(Some(count)).unwrap();
    let readers = ReaderPool::start(&file).unwrap();
    let writer = SqliteWriter::start(connection, Arc::clone(&files)).unwrap();
    let sqlite = Arc::new(SqliteMemory { readers, writer, meanings: Arc::default(), files });
    let memory = MemoryStore::over(Arc::clone(&sqlite) as Arc<dyn MemoryDatabase>);
    put(&memory, &place("waterdeep"), &["npc-a: A"]).await;
    let free = hold(&sqlite).await;
    let before = commits.load(Ordering::SeqCst);
    let here = place("waterdeep");
    let (one, two, three, _) = tokio::join!(
        memory.append(&here, vec![entry("a: first", 0)]),
        memory.relate(&here, vec![relation("npc-a knows npc-a"), relation("npc-a knows npc-x")]),
        memory.append(&here, vec![entry("a: second", 0)]),
        async { drop(free) },
    );
    assert_eq!(two, Err(MemoryError::NoEntity(id("npc-x"))));
    assert!(one.unwrap()[0] < three.unwrap()[0]);
    // One for what was held, one for all the others.
    assert_eq!(commits.load(Ordering::SeqCst), before + 2);
    assert_eq!(
        memory.relations(&scope("waterdeep"), None, Page { skip: 0, most: 9 }).await,
        Ok(vec![])
    );
    check(&folder.connect());
}

#[tokio::test]
async fn too_many_that_wait_are_refused_at_once() {
    let folder = Folder::new();
    let (_memory, sqlite) = folder.both();
    let free = hold(&sqlite).await;
    let work = || sqlite.writer.write(1, |_| Ok(()));
    let mut waiting = Vec::new();
    let refused = loop {
        let mut next = Box::pin(work());
        tokio::select! {
            biased;
            ended = &mut next => break ended,
            () = std::future::ready(()) => waiting.push(next),
        }
        assert!(waiting.len() < 5_000);
    };
    assert!(matches!(refused, Err(MemoryError::Slow(_))), "{refused:?}");
    drop(free);
    for each in waiting {
        each.await.unwrap();
    }
}

#[tokio::test]
async fn a_query_that_does_not_end_is_ended() {
    let folder = Folder::new();
    let (memory, sqlite) = folder.both();
    let endless = |from: &Connection| {
        let count = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
                     SELECT count(*) FROM n";
        Ok(from.query_row(count, [], |row| row.get::<_, i64>(0))?)
    };
    // More of them than there are threads.
    let all = (0..6).map(|_| sqlite.read(endless)).map(Box::pin).collect::<Vec<_>>();
    for each in all {
        assert!(matches!(each.await, Err(MemoryError::Slow(_))));
    }
    assert_eq!(memory.ping().await, Ok(()));
}

#[tokio::test]
async fn a_thread_that_breaks_leaves_nobody_waiting() {
    let folder = Folder::new();
    let (memory, sqlite) = folder.both();
    let broken =
        sqlite.writer.write(0, |_| -> Result<(), MemoryError> { panic!("on purpose") }).await;
    assert!(matches!(broken, Err(MemoryError::Away(_))), "{broken:?}");
    let after = memory.append(&place("waterdeep"), vec![entry("a: b", 0)]).await;
    assert_eq!(
        after.unwrap_err().to_string(),
        "the memory database is unavailable: its threads have stopped"
    );
    assert_eq!(memory.ping().await, Ok(()));
}

#[tokio::test]
async fn what_was_asked_for_before_the_end_is_still_written() {
    let folder = Folder::new();
    let (memory, sqlite) = folder.both();
    let free = hold(&sqlite).await;
    let here = place("waterdeep");
    let mut last = Box::pin(memory.append(&here, vec![entry("a: the last word", 0)]));
    tokio::select! {
        biased;
        _ = &mut last => unreachable!("the writer is held"),
        () = std::future::ready(()) => {}
    }
    drop(free);
    drop(last);
    drop((memory, sqlite));
    assert_eq!(found(&folder.open(), "waterdeep", "word").await, ["the last word"]);
}
