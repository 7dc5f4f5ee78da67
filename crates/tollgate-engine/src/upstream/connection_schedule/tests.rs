use super::*;
use crate::clock::{Clock, SystemClock};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Everything due at that moment, in order.
fn due(agenda: &mut ConnectionSchedule, now: Instant) -> Vec<ConnectionTask> {
    std::iter::from_fn(|| agenda.due(now)).collect()
}

fn begun(nature: UpstreamKind) -> (ConnectionSchedule, Instant) {
    let now = SystemClock.now();
    let mut agenda = ConnectionSchedule::new(nature, now);
    assert_eq!(due(&mut agenda, now), [ConnectionTask::Watch]);
    (agenda, now)
}

#[test]
fn r_24_a_thousand_changes_a_second_cost_one_list_a_second() {
    let (mut agenda, start) = begun(UpstreamKind::Child);
    let mut lists = 0;
    for at in 0..5000 {
        let now = start + Duration::from_millis(at);
        agenda.note_list_changed(now);
        lists += due(&mut agenda, now).len();
    }
    assert_eq!(lists, 4);
}

#[test]
fn a_lone_change_is_listed_at_once() {
    let (mut agenda, start) = begun(UpstreamKind::Child);
    let now = start + seconds(10);
    agenda.note_list_changed(now);
    assert_eq!(agenda.wake_at(), now);
    assert_eq!(due(&mut agenda, now), [ConnectionTask::List]);
}

#[test]
fn lists_are_read_again_every_five_minutes() {
    let (mut agenda, start) = begun(UpstreamKind::Child);
    assert_eq!(agenda.wake_at(), start + seconds(300));
    assert_eq!(due(&mut agenda, start + seconds(299)), []);
    assert_eq!(due(&mut agenda, start + seconds(300)), [ConnectionTask::List]);
    assert_eq!(agenda.wake_at(), start + seconds(600));
}

#[test]
fn r_20_a_remote_server_in_use_is_asked_every_thirteen_seconds() {
    let (mut agenda, start) = begun(UpstreamKind::Remote);
    assert_eq!(agenda.wake_at(), start + seconds(13));
    assert_eq!(due(&mut agenda, start + seconds(13)), [ConnectionTask::Ping]);
    agenda.note_ping_answered(start + seconds(13), 3);
    assert_eq!(agenda.wake_at(), start + seconds(26));
    assert_eq!(due(&mut agenda, start + seconds(26)), [ConnectionTask::Ping]);
    agenda.note_ping_answered(start + seconds(26), 0);
    assert_eq!(agenda.wake_at(), start + seconds(86));
}

#[test]
fn a_doubt_is_looked_into_at_once_but_not_again_and_again() {
    let (mut agenda, start) = begun(UpstreamKind::Child);
    agenda.doubt(start);
    assert_eq!(due(&mut agenda, start), [ConnectionTask::Ping]);
    agenda.doubt(start);
    assert_eq!(due(&mut agenda, start + Duration::from_millis(499)), []);
    assert_eq!(due(&mut agenda, start + Duration::from_millis(500)), [ConnectionTask::Ping]);
    assert_eq!(due(&mut agenda, start + seconds(100)), []);
}
