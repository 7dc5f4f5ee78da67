use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::{Heard, History, KEPT};
use crate::clock::SystemClock;
use crate::upstream::State;

fn told(history: &History) -> Vec<(u64, &'static str, String)> {
    let told = history.episodes().into_iter().map(|it| {
        let at = it.at.duration_since(UNIX_EPOCH).unwrap().as_secs();
        (at, it.state.as_str(), it.reason)
    });
    told.collect()
}

fn note(history: &History, at: u64, state: State, reason: &str) {
    history.note(UNIX_EPOCH + Duration::from_secs(at), state, reason);
}

#[test]
fn one_entry_for_each_state_and_the_last_word_on_it() {
    let history = History::default();
    note(&history, 1, State::Starting, "starting");
    note(&history, 2, State::Ready, "in service");
    note(&history, 5, State::Offline, "its process ended");
    note(&history, 6, State::Offline, "exited with 1");
    let expected = [
        (5, "offline", "exited with 1".to_owned()),
        (2, "ready", "in service".to_owned()),
        (1, "starting", "starting".to_owned()),
    ];
    assert_eq!(told(&history), expected);
}

#[test]
fn the_oldest_are_forgotten() {
    let history = History::default();
    for at in 0..200 {
        let state = if at % 2 == 0 { State::Starting } else { State::Offline };
        note(&history, at, state, "again");
    }
    let told = told(&history);
    assert_eq!((told.len(), told[0].0, told[KEPT - 1].0), (KEPT, 199, 150));
}

#[test]
fn whoever_takes_its_place_goes_on_with_it() {
    let (old, new) = (History::default(), History::default());
    for at in 0..KEPT as u64 {
        let state = if at % 2 == 0 { State::Starting } else { State::Offline };
        note(&old, at, state, "old");
    }
    note(&new, 100, State::Starting, "new");
    new.inherit(old.episodes());
    let told = told(&new);
    let last = KEPT as u64 - 1;
    assert_eq!((told.len(), told[0].0, told[1].0, told[KEPT - 1].0), (KEPT, 100, last, 1));
}

#[test]
fn nothing_was_heard_before_something_was() {
    let heard = Heard::new(Arc::new(SystemClock));
    assert_eq!(heard.last(), None);
    heard.note();
    assert!(heard.last().is_some());
}
