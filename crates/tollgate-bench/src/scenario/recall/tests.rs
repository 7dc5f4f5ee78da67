use super::{Database, grouped, rows};
use crate::campaign::{Campaign, Volume};
use crate::config::Scratch;
use crate::table::Verdict;

/// The measurement itself, small: every answer is right.
#[tokio::test]
async fn a_small_memory_in_a_file_answers_right() {
    let volume = Volume { entries: 2_000, passages: 400, entities: 400, relations: 800 };
    let scratch = Scratch::named("tollgate-bench-recall").unwrap();
    let rows = rows(&scratch, &Campaign::new(volume), Database::Sqlite).await.unwrap();
    assert_eq!(rows.len(), 6);
    assert!(rows.iter().all(|row| row.verdict != Verdict::Failed));
}

#[test]
fn numbers_are_grouped() {
    for (count, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
        assert_eq!(grouped(count), expected);
    }
}
