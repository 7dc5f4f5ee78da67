use std::sync::atomic::AtomicBool;

use tempfile::TempDir;
use tokio::sync::mpsc::OwnedPermit;
use tokio::sync::oneshot;
use tollgate_store::Store;

use super::super::retention::Retention;
use super::*;
use crate::clock::SystemClock;
use crate::settings::Audit as Settings;

const CALLS: usize = 40;

/// A writer that nobody runs, and the places of calls that run.
fn writer(directory: &TempDir) -> (AuditWriter, Vec<OwnedPermit<AuditMessage>>) {
    let store = Store::open(&directory.path().join("tollgate.db")).unwrap();
    let trail = store.audit().unwrap();
    let journal = trail.journal().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let policy = Retention::new(&Settings::default(), journal.newest().unwrap(), &*clock);
    let shared = Arc::new(AuditWriterState::new(policy));
    let (sender, rows) = mpsc::channel(MAX_ROWS_PER_COMMIT);
    let places = (0..CALLS).map(|_| sender.clone().try_reserve_owned().unwrap()).collect();
    (AuditWriter::new(trail, journal, rows, &shared, &clock), places)
}

fn waited_for() -> AuditMessage {
    let (done, _) = oneshot::channel();
    AuditMessage { what: AuditPayload::Nothing, done: Some(done) }
}

/// a crash ends all calls of a server in one moment. The first of their rows does not begin a
/// commit that the others would have to wait for before their own.
#[test]
fn r_14_rows_of_calls_that_end_together_share_a_commit() {
    let directory = tempfile::tempdir().unwrap();
    let gathered_in_round = || {
        let (mut writer, mut places) = writer(&directory);
        let first = places.pop().unwrap();
        let is_gathering = AtomicBool::new(false);
        first.send(waited_for());
        writer.fill();
        let gathering = thread::current();
        thread::scope(|scope| {
            let others = || {
                while !is_gathering.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                for place in places {
                    place.send(waited_for());
                    gathering.unpark();
                }
            };
            scope.spawn(others);
            is_gathering.store(true, Ordering::SeqCst);
            writer.gather();
        });
        writer.batch.len()
    };
    // A busy machine may let the others run too late, but not every time.
    let gathered: Vec<usize> = (0..50).map(|_| gathered_in_round()).collect();
    assert!(gathered.contains(&CALLS), "{gathered:?}");
}

#[test]
fn a_row_without_siblings_waits_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (mut writer, mut places) = writer(&directory);
    places.pop().unwrap().send(waited_for());
    assert_eq!(writer.rows_to_come(), CALLS - 1);
    drop(places);
    writer.fill();
    assert_eq!(writer.rows_to_come(), 0);
    writer.gather();
    assert_eq!(writer.batch.len(), 1);
}
