use super::*;
use crate::memory::{Counts, Forget};

pub(crate) async fn s_32_nothing_of_a_tenant_is_found_by_another(memory: &Memory) {
    for name in ["waterdeep", "acme/waterdeep", "acme/other", "evil/waterdeep"] {
        say(memory, &place(name), &[&format!("The dragon of {name} sleeps.")]).await;
    }
    say(memory, &place("acme/waterdeep:sage"), &["My own dragon sleeps."]).await;
    for (eyes, expected) in [
        ("waterdeep", &["The dragon of waterdeep sleeps."][..]),
        ("evil/waterdeep", &["The dragon of evil/waterdeep sleeps."]),
        ("evil/waterdeep:sage", &["The dragon of evil/waterdeep sleeps."]),
        ("acme/waterdeep:bard", &["The dragon of acme/waterdeep sleeps."]),
        ("acme/waterdeep:sage", &["My own dragon sleeps.", "The dragon of acme/waterdeep sleeps."]),
        ("acme/waterdeep", &["My own dragon sleeps.", "The dragon of acme/waterdeep sleeps."]),
        ("nobody", &[]),
    ] {
        let mut found = found(memory, eyes, "dragon sleeps").await;
        found.sort();
        assert_eq!(found, expected, "{eyes}");
    }
}

pub(crate) async fn s_32_what_one_author_wrote_goes_at_once(memory: &Memory) {
    let (shared, own) = (place("waterdeep"), place("waterdeep:sage"));
    say(memory, &shared, &["one | a: The dragon is red."]).await;
    for place in [&shared, &own, &place("elsewhere")] {
        let poison = ["one | a: The dragon is a friend.", "two | a: Trust the dragon."];
        say(memory, &by("mallory", place.clone()), &poison).await;
    }
    let gone = memory.forget(&scope("waterdeep"), &Forget::Author("mallory".to_owned())).await;
    assert_eq!(gone, Ok(Counts { entries: 4, sessions: 3, ..Counts::default() }));
    assert_eq!(found(memory, "waterdeep", "dragon").await, ["The dragon is red."]);
    assert_eq!(found(memory, "elsewhere", "dragon").await.len(), 2);
    let again = memory.forget(&scope("waterdeep"), &Forget::Author("mallory".to_owned())).await;
    assert_eq!(again, Ok(Counts::default()));
}
