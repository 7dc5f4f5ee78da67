use super::{RecallDatabase, group_digits, rows};
use crate::campaign::{Campaign, CampaignVolume};
use crate::config::ScratchDirectory;
use crate::table::TargetVerdict;

/// The measurement itself, small: every answer is right.
#[tokio::test]
async fn a_small_memory_in_a_file_answers_right() {
    let volume = CampaignVolume { entries: 2_000, passages: 400, entities: 400, relations: 800 };
    let scratch = ScratchDirectory::with_prefix("tollgate-bench-recall").unwrap();
    let rows = rows(&scratch, &Campaign::new(volume), RecallDatabase::Sqlite).await.unwrap();
    assert_eq!(rows.len(), 6);
    assert!(rows.iter().all(|row| row.verdict != TargetVerdict::Failed));
}

#[test]
fn numbers_are_grouped() {
    for (count, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
        assert_eq!(group_digits(count), expected);
    }
}
