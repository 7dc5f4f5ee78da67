use super::{ProviderConcurrencyLimit, ProviderFullError};

#[tokio::test(start_paused = true)]
async fn a_slot_is_waited_for_and_not_for_ever() {
    let slots = ProviderConcurrencyLimit::new(1);
    let first = slots.take().await.unwrap();
    assert_eq!(slots.take().await.unwrap_err(), ProviderFullError);
    let (second, ()) = tokio::join!(slots.take(), async {
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        drop(first);
    });
    drop(second.unwrap());
    slots.take().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_so_many_wait() {
    let slots = ProviderConcurrencyLimit::new(1);
    let _held = slots.take().await.unwrap();
    let _places = slots.queue.try_acquire_many(4).unwrap();
    let at_once = tokio::time::timeout(std::time::Duration::ZERO, slots.take()).await;
    assert_eq!(at_once.unwrap().unwrap_err(), ProviderFullError);
}
