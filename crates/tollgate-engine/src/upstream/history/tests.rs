use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::{LastAnswer, MAX_EPISODES, StateHistory};
use crate::clock::SystemClock;
use crate::upstream::UpstreamState;

fn episodes_as_text(history: &StateHistory) -> Vec<(u64, &'static str, String)> {
    let lines = history.episodes().into_iter().map(|it| {
        let at = it.at.duration_since(UNIX_EPOCH).unwrap().as_secs();
        (at, it.state.as_str(), it.reason)
    });
    lines.collect()
}

fn note(history: &StateHistory, at: u64, state: UpstreamState, reason: &str) {
    history.note(UNIX_EPOCH + Duration::from_secs(at), state, reason);
}

#[test]
fn one_entry_for_each_state_and_the_last_word_on_it() {
    let history = StateHistory::default();
    note(&history, 1, UpstreamState::Starting, "starting");
    note(&history, 2, UpstreamState::Ready, "in service");
    note(&history, 5, UpstreamState::Offline, "its process ended");
    note(&history, 6, UpstreamState::Offline, "exited with 1");
    let expected = [
        (5, "offline", "exited with 1".to_owned()),
        (2, "ready", "in service".to_owned()),
        (1, "starting", "starting".to_owned()),
    ];
    assert_eq!(episodes_as_text(&history), expected);
}

#[test]
fn the_oldest_are_forgotten() {
    let history = StateHistory::default();
    for at in 0..200 {
        let state = if at % 2 == 0 { UpstreamState::Starting } else { UpstreamState::Offline };
        note(&history, at, state, "again");
    }
    let lines = episodes_as_text(&history);
    assert_eq!((lines.len(), lines[0].0, lines[MAX_EPISODES - 1].0), (MAX_EPISODES, 199, 150));
}

#[test]
fn whoever_takes_its_place_goes_on_with_it() {
    let old = StateHistory::default();
    let new = StateHistory::default();
    for at in 0..MAX_EPISODES as u64 {
        let state = if at % 2 == 0 { UpstreamState::Starting } else { UpstreamState::Offline };
        note(&old, at, state, "old");
    }
    note(&new, 100, UpstreamState::Starting, "new");
    new.inherit(old.episodes());
    let lines = episodes_as_text(&new);
    let last = MAX_EPISODES as u64 - 1;
    assert_eq!(
        (lines.len(), lines[0].0, lines[1].0, lines[MAX_EPISODES - 1].0),
        (MAX_EPISODES, 100, last, 1)
    );
}

#[test]
fn nothing_was_heard_before_something_was() {
    let heard = LastAnswer::new(Arc::new(SystemClock));
    assert_eq!(heard.last(), None);
    heard.note();
    assert!(heard.last().is_some());
}
