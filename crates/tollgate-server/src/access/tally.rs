//! Refusals since the last report, by address, reason and principal. The first one is logged at
//! once. The report logs the count of the rest and writes one audit row.

use std::collections::HashMap;
use std::time::SystemTime;

use parking_lot::Mutex;
use tollgate_core::date;
use tollgate_core::turn::Principal;
use tollgate_engine::audit::{AuditAction, Decision};

use super::{AddressGroup, RefusalReason};

/// Subjects of one report. All further ones are counted together, by reason. This also bounds the
/// log lines and the audit rows.
const MAX_SUBJECTS: usize = 64;
/// Principal of a client that is not authenticated.
const ANONYMOUS: &str = "anonymous";
/// Shown instead of an address.
const OTHERS: &str = "other addresses";

#[derive(Default)]
pub(super) struct RefusalTallies(Mutex<HashMap<RefusalSubject, RefusalTally>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RefusalSubject {
    /// `None`: several addresses, or an unknown one.
    pub(super) address: Option<AddressGroup>,
    pub(super) reason: RefusalReason,
    pub(super) principal: Option<Principal>,
}

#[derive(Debug, Clone, Copy)]
struct RefusalTally {
    count: u64,
    throttled: u64,
    first: SystemTime,
    last: SystemTime,
}

impl RefusalTallies {
    pub(super) fn add(&self, subject: RefusalSubject, throttled: bool, at: SystemTime) {
        let mut tallies = self.0.lock();
        let has_room = tallies.len() < MAX_SUBJECTS || tallies.contains_key(&subject);
        let subject = if has_room {
            subject
        } else {
            RefusalSubject { address: None, principal: None, ..subject }
        };
        if !tallies.contains_key(&subject) {
            tracing::warn!(
                address = subject.address(),
                reason = subject.reason.as_str(),
                principal = subject.principal(),
                "access refused"
            );
        }
        let new = RefusalTally { count: 0, throttled: 0, first: at, last: at };
        let tally = tallies.entry(subject).or_insert(new);
        tally.count += 1;
        tally.throttled += u64::from(throttled);
        tally.last = at;
    }

    /// Takes all tallies as audit rows, and starts from zero.
    pub(super) fn take(&self) -> Vec<Decision> {
        let tallies = std::mem::take(&mut *self.0.lock());
        tallies.iter().map(|(subject, tally)| report(subject, tally)).collect()
    }
}

fn report(subject: &RefusalSubject, tally: &RefusalTally) -> Decision {
    let RefusalTally { count, throttled, first, last } = *tally;
    if count > 1 {
        tracing::warn!(
            address = subject.address(),
            reason = subject.reason.as_str(),
            principal = subject.principal(),
            count,
            suppressed = count - 1,
            throttled,
            "access denied repeatedly"
        );
    }
    let principal = Principal::from_name(&subject.principal());
    let first = date::format_rfc3339(first);
    let last = date::format_rfc3339(last);
    let detail = format!("count={count} throttled={throttled} first={first} last={last}");
    Decision::new(AuditAction::Refused, &principal, subject.reason.as_str())
        .about(&subject.address())
        .because(&detail)
}

impl RefusalSubject {
    fn address(&self) -> String {
        self.address.map_or_else(|| OTHERS.to_owned(), |address| address.to_string())
    }

    fn principal(&self) -> String {
        self.principal.as_ref().map_or(ANONYMOUS, Principal::as_str).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    #[test]
    fn however_many_addresses_there_are_the_rows_are_few_and_count_them_all() {
        let tallies = RefusalTallies::default();
        let at = SystemTime::UNIX_EPOCH;
        for number in 0..10_000 {
            let address = AddressGroup::of(Ipv4Addr::from_bits(number).into());
            let reason = RefusalReason::WrongKey;
            let subject = RefusalSubject { address: Some(address), reason, principal: None };
            tallies.add(subject, number % 2 == 0, at + Duration::from_secs(number.into()));
        }
        assert_eq!(tallies.0.lock().values().map(|tally| tally.count).sum::<u64>(), 10_000);
        assert_eq!(tallies.take().len(), MAX_SUBJECTS + 1);
        assert!(tallies.take().is_empty());
    }
}
