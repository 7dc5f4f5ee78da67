use rusqlite::Connection;
use tempfile::TempDir;

use super::*;

/// A database that one gateway after another uses.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("tollgate.db")
    }

    fn store(&self) -> Arc<Store> {
        Arc::new(Store::open(&self.file()).unwrap())
    }

    /// Meters as a process that has just started has them.
    fn meters(&self) -> Arc<ToolMeters> {
        meters(Some(&self.store()))
    }

    /// How many samples of each tool are on disk.
    fn stored_samples(&self) -> String {
        let loaded = self.store().measurements().load("test").unwrap();
        let row = |it: &Measurement| format!("{}={}", it.tool.tool, it.samples.len());
        loaded.measurements.iter().map(row).collect::<Vec<_>>().join(" ")
    }

    fn sql(&self, text: &str) {
        Connection::open(self.file()).unwrap().execute_batch(text).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn tools_that_are_away_are_measured_no_more_than_so_many_and_lose_nothing() {
    let place = Place::new();
    let meters = place.meters();
    let count = MAX_ABSENT_METERS + 50;
    let names: Vec<String> = (0..count).map(|at| format!("t{at}")).collect();
    meters.register_tools(&tools(&names.join(" ")));
    for name in &names {
        meters.record(&id(name), answered(20));
        after(1).await;
    }
    meters.register_tools(&tools("a"));
    assert_eq!(meters.meters.load().len(), count + 1, "they are not saved yet");
    meters.flush().await.unwrap();
    meters.register_tools(&tools("b"));
    let known = |tool: &str| meters.assigned_tier(&id(tool)).is_some();
    assert_eq!(meters.meters.load().len(), MAX_ABSENT_METERS + 1, "nothing was measured of `a`");
    assert_eq!(["t0", "t49", "t50", "b"].map(known), [false, false, true, true]);

    meters.register_tools(&tools("t0"));
    meters.record(&id("t0"), answered(30));
    meters.flush().await.unwrap();
    let stored = place.stored_samples();
    let stored: HashSet<&str> = stored.split(' ').collect();
    assert_eq!(
        (stored.len(), stored.contains("t0=2"), stored.contains("t1=1")),
        (count, true, true)
    );
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_what_was_measured() {
    let place = Place::new();
    let tools = tools("a=200 b=200 c");
    let first = place.meters();
    first.register_tools(&tools);
    let tending = first.start_maintenance();
    first.record_all("a", [answered(620); 37]);
    first.record_all("b", (0..12).map(|at| if at % 2 == 0 { failed() } else { answered(20) }));
    after(100).await;
    let shown = ["a", "b", "c"].map(|tool| first.shown(tool));
    drop((tending, first));

    let second = place.meters();
    assert_eq!(second.register_tools(&tools), [Tier::Standard, Tier::Standard, Tier::Standard]);
    assert_eq!(["a", "b", "c"].map(|tool| second.shown(tool)), shown);
    assert_eq!(second.shown("a"), "standard: measured p50 620 ms over 37 calls");
    assert!(second.reading(&id("a")).unwrap().measured_at.is_some());
    assert!(second.reading(&id("c")).unwrap().measured_at.is_none());
}

#[tokio::test(start_paused = true)]
async fn what_is_recorded_is_on_disk_a_second_later() {
    let place = Place::new();
    let meters = place.meters();
    meters.register_tools(&tools("a b"));
    let _tending = meters.start_maintenance();
    meters.record_all("a", [answered(20); 3]);
    after(1_200).await;
    assert_eq!(place.stored_samples(), "a=3", "nothing is kept of tools that nobody called");
    meters.record_all("a", [answered(20); 2]);
    meters.record_all("b", [answered(20); 200]);
    after(1_200).await;
    assert_eq!(place.stored_samples(), "a=5 b=100");
}

#[tokio::test(start_paused = true)]
async fn the_last_call_before_the_end_is_saved() {
    let place = Place::new();
    let meters = place.meters();
    meters.register_tools(&tools("a"));
    let tending = meters.start_maintenance();
    meters.record(&id("a"), answered(20));
    drop(tending);
    assert_eq!(place.stored_samples(), "a=1");
    // Whoever still holds the meters may record; who asks for it has that saved too.
    meters.record(&id("a"), answered(20));
    meters.flush().await.unwrap();
    assert_eq!(place.stored_samples(), "a=2");
}

#[tokio::test(start_paused = true)]
async fn tools_of_servers_that_are_away_keep_their_measurements() {
    let place = Place::new();
    let run = |known: &str, called: &str| {
        let meters = place.meters();
        meters.register_tools(&tools(known));
        meters.record_all(called, [answered(20)]);
        drop(meters.start_maintenance());
    };
    run("a b", "a");
    run("b", "b");
    run("a b", "a");
    assert_eq!(place.stored_samples(), "a=2 b=1");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_tried_again_and_measuring_goes_on() {
    let place = Place::new();
    let meters = place.meters();
    let tools = tools("a=200");
    meters.register_tools(&tools);
    let _tending = meters.start_maintenance();
    place.sql("ALTER TABLE measurements RENAME TO elsewhere");
    meters.record_all("a", [answered(620); 5]);
    after(3_000).await;
    assert!(meters.flush().await.is_err());
    assert_eq!(meters.tiers(&tools), [Tier::Standard]);
    place.sql("ALTER TABLE elsewhere RENAME TO measurements");
    after(15_000).await;
    assert_eq!(place.stored_samples(), "a=5");
}

#[tokio::test(start_paused = true)]
async fn two_processes_on_one_file_lose_nothing_of_each_other() {
    let place = Place::new();
    let serving = place.meters();
    let other = place.meters();
    serving.register_tools(&tools("a"));
    other.register_tools(&tools("a"));
    let _tending = (serving.start_maintenance(), other.start_maintenance());
    serving.record_all("a", [answered(20); 40]);
    after(1_500).await;
    other.record_all("a", [answered(30); 2]);
    after(1_500).await;
    assert_eq!(place.stored_samples(), "a=42");
    serving.record_all("a", [answered(20); 3]);
    after(1_500).await;
    assert_eq!(place.stored_samples(), "a=45");
}

#[tokio::test(start_paused = true)]
async fn rows_that_make_no_sense_cost_only_themselves() {
    let place = Place::new();
    let first = place.meters();
    first.register_tools(&tools("a b"));
    first.record_all("a", [answered(20); 5]);
    first.record_all("b", [answered(20); 5]);
    drop(first.start_maintenance());
    place.sql("UPDATE measurements SET samples = x'00' WHERE tool = 'a'");
    let second = place.meters();
    assert_eq!(second.register_tools(&tools("a b")), [Tier::Standard, Tier::Fast]);
}

#[tokio::test(start_paused = true)]
async fn environments_measure_apart() {
    let place = Place::new();
    let of = |environment: &str| {
        let archive = Some(MeterArchive::new(place.store(), environment.to_owned()));
        let clock = Arc::new(SystemClock);
        let notices = Notices::default();
        ToolMeters::new(MeterDeps { clock, rules: TierRules::default(), notices, archive })
    };
    let live = of("live");
    live.register_tools(&tools("a"));
    live.record_all("a", [answered(2_000); 5]);
    drop(live.start_maintenance());
    assert_eq!(of("live").register_tools(&tools("a")), [Tier::Deep]);
    assert_eq!(of("test").register_tools(&tools("a")), [Tier::Standard]);
}

#[tokio::test(start_paused = true)]
async fn old_measurements_are_forgotten_by_the_last_call_and_not_by_a_clock_that_jumped() {
    let place = Place::new();
    let first = place.meters();
    first.register_tools(&tools("a b"));
    first.record_all("a", [answered(20)]);
    first.record_all("b", [answered(20)]);
    drop(first.start_maintenance());
    let year = 365 * 24 * 3_600_000_i64;
    // As if the clock stood a year ahead now: all rows are a year old.
    place.sql(&format!("UPDATE measurements SET updated_at = updated_at - {year}"));
    let archive = MeterArchive::new(place.store(), "test".to_owned());
    archive.load();
    archive.forget_old(SystemClock.wall());
    assert_eq!(place.stored_samples(), "a=1 b=1");
    place
        .sql(&format!("UPDATE measurements SET updated_at = updated_at + {year} WHERE tool = 'b'"));
    archive.load();
    archive.forget_old(SystemClock.wall());
    assert_eq!(place.stored_samples(), "b=1");
}

#[test]
fn trouble_is_told_when_it_changes() {
    use super::super::archive::{SaveNotice, save_notice};
    let full = Some(tollgate_store::Error::Full);
    let busy = Some(tollgate_store::Error::Busy);
    let check = |before: &Option<_>, now: &Option<_>, expected: SaveNotice| {
        assert_eq!(save_notice(before.as_ref(), now.as_ref()), expected, "{before:?} then {now:?}");
    };
    check(&None, &None, SaveNotice::Nothing);
    check(&None, &full, SaveNotice::Fails);
    check(&full, &full, SaveNotice::Nothing);
    check(&full, &busy, SaveNotice::Fails);
    check(&busy, &None, SaveNotice::WorksAgain);
}
