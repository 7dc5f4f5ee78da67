use tollgate_core::model_usage::{Cost, SpeechTotals, UsageDay, UsageTotals};

use super::UsageRow;
use crate::Store;

fn row(day: u32, key: &str, requests: u64) -> UsageRow {
    UsageRow {
        day: UsageDay::from_number(day),
        key: key.to_owned(),
        agent: String::new(),
        model: "m".to_owned(),
        totals: UsageTotals {
            requests,
            input: requests * 10,
            output: requests * 3,
            cache_read: requests,
            cache_written: requests * 2,
            cost: Cost::from_nano_usd(requests * 1_000),
            unpriced: 0,
            speech: SpeechTotals {
                audio_input: requests * 4,
                audio_output: requests * 2,
                audio_cached: requests,
                heard_ms: requests * 900,
                spoken_ms: requests * 700,
                live_ms: requests * 2_000,
            },
        },
    }
}

fn load(store: &Store, from: u32, to: u32) -> Vec<UsageRow> {
    store.model_usage().load(UsageDay::from_number(from), UsageDay::from_number(to)).unwrap()
}

#[test]
fn what_is_added_to_a_row_sums_up_and_other_rows_stay() {
    let store = Store::in_memory().unwrap();
    store.model_usage().add_rows(&[row(7, "a", 2), row(7, "b", 1), row(8, "a", 5)]).unwrap();
    store.model_usage().add_rows(&[row(7, "a", 3)]).unwrap();
    assert_eq!(load(&store, 7, 7), [row(7, "a", 5), row(7, "b", 1)]);
    assert_eq!(load(&store, 0, 100), [row(7, "a", 5), row(7, "b", 1), row(8, "a", 5)]);
    assert_eq!(store.model_usage().forget(UsageDay::from_number(8)).unwrap(), 2);
    assert_eq!(load(&store, 0, 100), [row(8, "a", 5)]);
}

#[test]
fn a_sum_stops_at_the_largest_number() {
    let store = Store::in_memory().unwrap();
    let most = u64::try_from(i64::MAX).unwrap();
    let full = UsageRow {
        totals: UsageTotals { input: most, ..UsageTotals::default() },
        ..row(1, "a", 0)
    };
    store.model_usage().add_rows(std::slice::from_ref(&full)).unwrap();
    store.model_usage().add_rows(&[row(1, "a", 1)]).unwrap();
    assert_eq!(load(&store, 1, 1)[0].totals.input, most);
    assert_eq!(load(&store, 1, 1)[0].totals.requests, 1);
}

#[test]
fn two_processes_add_to_the_same_row() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tollgate.db");
    let stores = [0, 1].map(|_| Store::open_database(&file).unwrap());
    std::thread::scope(|scope| {
        for store in &stores {
            scope.spawn(|| {
                for _ in 0..20 {
                    store.model_usage().add_rows(&[row(1, "a", 1)]).unwrap();
                }
            });
        }
    });
    assert_eq!(load(&stores[0], 1, 1), [row(1, "a", 40)]);
}
