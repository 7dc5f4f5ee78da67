use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use tollgate_core::latency::SampleEnding;

use super::*;

mod shared_database;

fn id(tool: &str) -> ToolId {
    ToolId { server: ServerId::parse("weather").unwrap(), tool: ToolName::new(tool) }
}

fn samples(millis: impl IntoIterator<Item = u64>) -> Vec<Sample> {
    let sample =
        |span| Sample { span: Duration::from_millis(span), ending: SampleEnding::Answered };
    millis.into_iter().map(sample).collect()
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A first measurement of a tool, with all of its samples still to be saved.
fn unsaved(tool: &str, millis: impl IntoIterator<Item = u64>) -> UnsavedMeasurement {
    let samples = samples(millis);
    let fresh = samples.len();
    let standing = SavedTierAssignment::default();
    let measurement =
        Measurement { tool: id(tool), samples, standing, updated_at: at(1), revision: 0 };
    UnsavedMeasurement { measurement, fresh }
}

fn spans(store: &Store, tool: &str) -> Vec<u128> {
    let loaded = store.measurements().load("test").unwrap();
    let found = loaded.measurements.into_iter().find(|it| it.tool == id(tool)).unwrap();
    found.samples.iter().map(|sample| sample.span.as_millis()).collect()
}

/// A database in a directory that goes with it.
fn file() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tollgate.db");
    (directory, file)
}

fn open(file: &Path) -> Store {
    Store::open(file).unwrap()
}

#[test]
fn what_was_saved_is_there_after_a_restart() {
    let (_directory, file) = file();
    let endings = [SampleEnding::Answered, SampleEnding::Failed, SampleEnding::Overran];
    let sample = |(at, ending): (usize, SampleEnding)| {
        let span = Duration::from_micros(1_234_567 * (at as u64 + 1));
        Sample { span, ending }
    };
    let measurement = Measurement {
        tool: id("wetter / Köln\0"),
        samples: endings.into_iter().enumerate().map(sample).collect(),
        standing: SavedTierAssignment {
            measured: Some(Tier::Deep),
            home: Some(Tier::Fast),
            health: ToolHealth::Overrunning,
            epoch: 3,
            run: u32::MAX,
            failed_trials: 2,
        },
        updated_at: at(1_700_000_000),
        revision: 0,
    };
    let unsaved = UnsavedMeasurement { measurement: measurement.clone(), fresh: 3 };
    assert_eq!(open(&file).measurements().save("test", &[unsaved]).unwrap(), [1]);
    let loaded = open(&file).measurements().load("test").unwrap();
    assert_eq!(loaded.measurements, [Measurement { revision: 1, ..measurement }]);
    assert_eq!(loaded.unreadable, 0);
}

#[test]
fn environments_do_not_see_each_other() {
    let store = Store::in_memory().unwrap();
    store.measurements().save("test", &[unsaved("a", [1])]).unwrap();
    store.measurements().save("live", &[unsaved("a", [2]), unsaved("b", [3])]).unwrap();
    let count =
        |environment: &str| store.measurements().load(environment).unwrap().measurements.len();
    assert_eq!((count("test"), count("live"), count("")), (1, 2, 0));
    assert_eq!(spans(&store, "a"), [1]);
}

#[test]
fn a_row_that_nobody_else_wrote_is_replaced_whole() {
    let store = Store::in_memory().unwrap();
    let mut ours = unsaved("a", 1..=3);
    ours.measurement.revision = store.measurements().save("test", &[ours.clone()]).unwrap()[0];
    ours.measurement.samples = samples(3..=9);
    ours.fresh = 2;
    assert_eq!(store.measurements().save("test", &[ours]).unwrap(), [2]);
    assert_eq!(spans(&store, "a"), [3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn two_processes_that_measure_one_tool_keep_the_calls_of_both() {
    let (_directory, file) = file();
    let one = open(&file);
    let other = open(&file);
    let mut ours = unsaved("a", 1..=60);
    ours.measurement.revision = one.measurements().save("test", &[ours.clone()]).unwrap()[0];
    // The other process began before that and knows nothing of it.
    let mut theirs = unsaved("a", 101..=103);
    theirs.measurement.revision = other.measurements().save("test", &[theirs.clone()]).unwrap()[0];
    assert_eq!(theirs.measurement.revision, 0, "what it knows is not all that is there");
    let both: Vec<u128> = (1..=60).chain(101..=103).collect();
    assert_eq!(spans(&one, "a"), both);
    // Only what is new goes in, and a window's worth stays.
    ours.measurement.samples = samples(1..=100);
    ours.fresh = 40;
    one.measurements().save("test", &[ours]).unwrap();
    let both: Vec<u128> = (4..=60).chain(101..=103).chain(61..=100).collect();
    assert_eq!(spans(&other, "a"), both);
}

#[test]
fn a_row_that_was_forgotten_meanwhile_is_written_anew() {
    let store = Store::in_memory().unwrap();
    let mut ours = unsaved("a", 1..=3);
    ours.measurement.revision = store.measurements().save("test", &[ours.clone()]).unwrap()[0];
    assert_eq!(store.measurements().forget(at(2)).unwrap(), 1);
    ours.fresh = 0;
    store.measurements().save("test", &[ours]).unwrap();
    assert_eq!(spans(&store, "a"), [1, 2, 3]);
}

#[test]
fn only_what_is_old_is_forgotten() {
    let store = Store::in_memory().unwrap();
    let aged = |tool: &str, seconds| {
        let mut unsaved = unsaved(tool, [1]);
        unsaved.measurement.updated_at = at(seconds);
        unsaved
    };
    let all = [aged("a", 10), aged("b", 20), aged("c", 30)];
    store.measurements().save("test", &all).unwrap();
    assert_eq!(store.measurements().forget(at(20)).unwrap(), 1);
    assert_eq!(store.measurements().forget(at(20)).unwrap(), 0);
    let left = store.measurements().load("test").unwrap().measurements;
    let left: Vec<&str> = left.iter().map(|it| it.tool.tool.as_str()).collect();
    assert_eq!(left, ["b", "c"]);
}

#[test]
fn rows_that_make_no_sense_are_counted_and_the_others_load() {
    let store = Store::in_memory().unwrap();
    let spoil = |tool: &str, what: &str| {
        store.measurements().save("test", &[unsaved(tool, [1, 2])]).unwrap();
        let spoil = format!("UPDATE measurements SET {what} WHERE tool = ?1");
        store.write(|it| it.execute(&spoil, [tool])).unwrap();
    };
    spoil("good", "epoch = 0");
    spoil("odd length", "samples = x'010203'");
    spoil("no ending", "samples = zeroblob(8)");
    spoil("past the bits", "samples = x'ffffffffffffffff'");
    spoil("no tier", "measured = 'glacial'");
    spoil("no home", "home = ''");
    spoil("no health", "health = 'feverish'");
    spoil("negative", "epoch = -1");
    spoil("too large", "run = 4294967296");
    spoil("no server", "server = 'not a name'");
    spoil("also good", "samples = x'', updated_at = -5, revision = -9");
    let loaded = store.measurements().load("test").unwrap();
    let readable: Vec<&str> = loaded.measurements.iter().map(|it| it.tool.tool.as_str()).collect();
    assert_eq!((readable, loaded.unreadable), (vec!["also good", "good"], 9));
    assert_eq!(loaded.measurements[0].updated_at, SystemTime::UNIX_EPOCH);
}

#[test]
fn a_row_that_makes_no_sense_is_mended_by_the_next_save() {
    let store = Store::in_memory().unwrap();
    store.measurements().save("test", &[unsaved("a", [1])]).unwrap();
    let spoil = "UPDATE measurements SET samples = x'010203', health = '?'";
    store.write(|it| it.execute(spoil, [])).unwrap();
    store.measurements().save("test", &[unsaved("a", [5, 6])]).unwrap();
    assert_eq!(spans(&store, "a"), [5, 6]);
}

#[test]
fn a_save_that_fails_in_the_middle_saves_nothing() {
    let store = Store::in_memory().unwrap();
    store.measurements().save("test", &[unsaved("a", [1])]).unwrap();
    let guard = "CREATE TRIGGER guard BEFORE INSERT ON measurements WHEN new.tool = 'c'
                 BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    store.write(|it| it.execute_batch(guard)).unwrap();
    let all = [unsaved("a", [2]), unsaved("b", [2]), unsaved("c", [2])];
    let failed = store.measurements().save("test", &all).unwrap_err();
    assert_eq!(failed, Error::Failed("not this one".to_owned()));
    assert_eq!(store.measurements().load("test").unwrap().measurements.len(), 1);
    assert_eq!(spans(&store, "a"), [1]);
}

#[test]
fn writers_in_two_processes_wait_for_each_other() {
    let (_directory, file) = file();
    let ready = Barrier::new(4);
    std::thread::scope(|threads| {
        for writer in 0..4_u64 {
            let file = &file;
            let ready = &ready;
            threads.spawn(move || {
                let store = open(file);
                ready.wait();
                for round in 0..25 {
                    let shared = unsaved("shared", [writer * 100 + round]);
                    let own = unsaved(&format!("{writer}-{round}"), [1]);
                    store.measurements().save("test", &[shared, own]).unwrap();
                }
            });
        }
    });
    let store = open(&file);
    assert_eq!(store.measurements().load("test").unwrap().measurements.len(), 101);
    let mut retained = spans(&store, "shared");
    retained.sort_unstable();
    let all: Vec<u128> =
        (0..4).flat_map(|writer| (0..25).map(move |it| writer * 100 + it)).collect();
    assert_eq!(retained, all);
}
