use bytes::Bytes;
use tollgate_core::turn::Principal;

use super::{ANSWER_COPIES, AnswerAccount, AnswerPermit, SMALL_ANSWER, usage};

const LARGE: usize = 1 << 20;

/// The budget is one for the whole process, and tests may run in parallel: they compare with
/// accounts of their own only.
#[tokio::test]
async fn p_21_what_is_read_stays_with_the_request_until_it_is_over() {
    let account = AnswerAccount::new(Some(Principal::from_name("reader")));
    let read = async {
        let mut permit = AnswerPermit::default();
        permit.cover(LARGE).await.expect("there is room");
        permit.attach_to(Bytes::from(vec![0; LARGE]))
    };
    let bytes = account.scope(read).await;
    drop(bytes);
    assert_eq!(account.bytes(), LARGE * ANSWER_COPIES);
    assert!(usage().reserved_bytes >= LARGE * ANSWER_COPIES);
    account.shrink_to(LARGE);
    assert_eq!(account.bytes(), LARGE);
    account.cover(LARGE).await.expect("there is room");
    assert_eq!(account.bytes(), LARGE * ANSWER_COPIES);
}

#[tokio::test]
async fn p_21_small_messages_reserve_nothing() {
    let account = AnswerAccount::new(None);
    let read = async {
        let mut permit = AnswerPermit::default();
        permit.cover_growing(SMALL_ANSWER).await.expect("it needs none");
        assert!(permit.is_empty());
        permit.cover_growing(SMALL_ANSWER + 1).await.expect("there is room");
        assert!(!permit.is_empty());
    };
    account.scope(read).await;
    account.cover(SMALL_ANSWER).await.expect("it needs none");
    assert_eq!(account.bytes(), 0);
}

#[tokio::test]
async fn p_21_a_part_hands_over_what_its_result_needs() {
    let whole = AnswerAccount::new(Some(Principal::from_name("whole")));
    let call = |result: usize| async move {
        let part = AnswerAccount::for_part();
        part.scope(async { AnswerAccount::current().expect("it is set").cover(LARGE).await })
            .await
            .expect("there is room");
        part.settle(result);
        assert_eq!(part.bytes(), 0);
    };
    whole.scope(call(SMALL_ANSWER)).await;
    assert_eq!(whole.bytes(), 0, "the result was cut");
    whole.scope(call(LARGE / 2)).await;
    assert_eq!(whole.bytes(), LARGE / 2 * ANSWER_COPIES);
}

#[tokio::test]
async fn p_21_without_a_request_the_memory_stays_with_the_bytes() {
    let mut permit = AnswerPermit::default();
    permit.cover(LARGE).await.expect("there is room");
    let bytes = permit.attach_to(Bytes::from(vec![7; LARGE]));
    assert!(usage().reserved_bytes >= LARGE * ANSWER_COPIES);
    assert_eq!(bytes.len(), LARGE);
}
