//! Admission of requests to models: the decision, and the state that each limited scope needs.
//!
//! A request is reserved in all its scopes or in none, with the estimate of its input and the most
//! it may answer. When it ends, its real usage replaces the reservation. So parallel requests never
//! exceed a limit by more than the estimates of those in flight were wrong.

use std::time::{Duration, Instant, SystemTime};

use super::day::UsageDay;
use super::limit::{LimitPeriod, LimitedUnit, ModelLimit};
use super::scope::UsageScope;
use super::totals::{UsageEstimate, UsageTotals};
use crate::rate::whole_seconds;

/// Suggested retry if only requests in flight are in the way.
const RESERVED_RETRY_AFTER: Duration = Duration::from_secs(1);

/// A request would exceed a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{scope} has reached its limit of {limit}; {}", advice(*.retry_after))]
pub struct ModelLimitExceededError {
    pub scope: UsageScope,
    pub limit: ModelLimit,
    /// `None`: the request alone is larger than the limit.
    pub retry_after: Option<Duration>,
}

fn advice(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("try again in {} s", whole_seconds(wait)),
        None => "this request alone is larger than that: shorten it".to_owned(),
    }
}

/// The time of a decision.
#[derive(Debug, Clone, Copy)]
pub struct MeterTime {
    pub now: Instant,
    pub wall: SystemTime,
}

/// A scope that a request counts for.
#[derive(Debug)]
pub struct ScopeLimits<'a> {
    pub scope: &'a UsageScope,
    pub limits: &'a [ModelLimit],
    pub meter: &'a mut ScopeMeter,
}

/// What one scope used, and what is reserved for its requests in flight.
#[derive(Debug, Clone, Default)]
pub struct ScopeMeter {
    day: UsageDay,
    today: UsageTotals,
    reserved: UsageTotals,
    rolling: Vec<RollingWindow>,
}

/// Reserves a request in all scopes, or in none if one of them has no room.
pub fn admit(
    scopes: &mut [ScopeLimits<'_>],
    estimate: &UsageEstimate,
    time: MeterTime,
) -> Result<(), ModelLimitExceededError> {
    for ScopeLimits { scope, limits, meter } in &mut *scopes {
        meter.turn_page(UsageDay::of(time.wall));
        for limit in *limits {
            meter.check(limit, estimate, time).map_err(|retry_after| ModelLimitExceededError {
                scope: (*scope).clone(),
                limit: *limit,
                retry_after,
            })?;
        }
    }
    for ScopeLimits { meter, limits, .. } in scopes {
        meter.reserve(limits, estimate);
    }
    Ok(())
}

/// Whether there is room for a further response of a session that runs. What others have reserved
/// is not used yet: it ends no session.
pub fn check_exhausted(
    scopes: &mut [ScopeLimits<'_>],
    time: MeterTime,
) -> Result<(), ModelLimitExceededError> {
    for ScopeLimits { scope, limits, meter } in scopes {
        meter.turn_page(UsageDay::of(time.wall));
        for limit in *limits {
            meter.check_used(limit, time).map_err(|wait| ModelLimitExceededError {
                scope: (*scope).clone(),
                limit: *limit,
                retry_after: Some(wait),
            })?;
        }
    }
    Ok(())
}

impl ScopeMeter {
    /// What was used on that day before this process began.
    pub fn begin(day: UsageDay, today: UsageTotals) -> Self {
        Self { day, today, ..Self::default() }
    }

    /// Replaces the reservation of a request by what it used.
    pub fn settle(&mut self, estimate: &UsageEstimate, used: &UsageTotals, day: UsageDay) {
        self.turn_page(day);
        let reserved = estimate.as_totals();
        self.reserved.remove(&reserved);
        self.today.add(used);
        for window in &mut self.rolling {
            window.correct(window.unit.of_totals(&reserved), window.unit.of_totals(used));
        }
    }

    /// Adds what a session used, for which nothing is reserved.
    pub fn add(&mut self, used: &UsageTotals, day: UsageDay) {
        self.turn_page(day);
        self.today.add(used);
        for window in &mut self.rolling {
            window.correct(0, window.unit.of_totals(used));
        }
    }

    /// Gives back the reservation of a request that is not sent.
    pub fn release(&mut self, estimate: &UsageEstimate) {
        let reserved = estimate.as_totals();
        self.reserved.remove(&reserved);
        for window in &mut self.rolling {
            window.correct(window.unit.of_totals(&reserved), 0);
        }
    }

    /// Whether it can be dropped: nothing is in flight, and nothing was used on that day.
    pub fn is_idle(&self, day: UsageDay) -> bool {
        self.reserved.is_nothing() && (self.day != day || self.today.is_nothing())
    }

    pub fn has_in_flight(&self) -> bool {
        !self.reserved.is_nothing()
    }

    pub fn today(&self) -> &UsageTotals {
        &self.today
    }

    fn turn_page(&mut self, day: UsageDay) {
        // A clock that goes back does not give a day twice.
        if day > self.day {
            self.day = day;
            self.today = UsageTotals::default();
        }
    }

    /// The error is the time after which a retry makes sense.
    fn check(
        &mut self,
        limit: &ModelLimit,
        estimate: &UsageEstimate,
        time: MeterTime,
    ) -> Result<(), Option<Duration>> {
        let certain = limit.unit.certain_part(estimate);
        if certain > limit.amount {
            return Err(None);
        }
        // An answer that may be larger than the whole limit gets all of it.
        let amount = limit.unit.of_totals(&estimate.as_totals()).min(limit.amount);
        match limit.per {
            LimitPeriod::Day if self.has_room_today(limit, certain, amount) => Ok(()),
            LimitPeriod::Day => Err(Some(self.wait_for_day(limit, amount, time.wall))),
            LimitPeriod::Minute | LimitPeriod::Hour => {
                self.rolling_window(limit, time.now).check(limit, amount)
            }
        }
    }

    /// If nothing else is in flight, it is enough that the question fits: otherwise the rest of a
    /// limit, too little for the largest answer, could never be used.
    fn has_room_today(&self, limit: &ModelLimit, certain: u64, wanted: u64) -> bool {
        let used = limit.unit.of_totals(&self.today);
        match limit.unit.of_totals(&self.reserved) {
            0 => used < limit.amount && used.saturating_add(certain) <= limit.amount,
            reserved => used.saturating_add(reserved).saturating_add(wanted) <= limit.amount,
        }
    }

    fn wait_for_day(&self, limit: &ModelLimit, wanted: u64, wall: SystemTime) -> Duration {
        let used = limit.unit.of_totals(&self.today);
        let is_reserved = limit.unit.of_totals(&self.reserved) > 0;
        if is_reserved && used.saturating_add(wanted) <= limit.amount {
            RESERVED_RETRY_AFTER
        } else {
            UsageDay::rest(wall)
        }
    }

    fn check_used(&mut self, limit: &ModelLimit, time: MeterTime) -> Result<(), Duration> {
        match limit.per {
            LimitPeriod::Day if limit.unit.of_totals(&self.today) < limit.amount => Ok(()),
            LimitPeriod::Day => Err(UsageDay::rest(time.wall)),
            LimitPeriod::Minute | LimitPeriod::Hour => {
                let reserved = limit.unit.of_totals(&self.reserved);
                self.rolling_window(limit, time.now).check_used(limit, reserved)
            }
        }
    }

    fn rolling_window(&mut self, limit: &ModelLimit, now: Instant) -> &mut RollingWindow {
        let is_same = |it: &RollingWindow| it.unit == limit.unit && it.per == limit.per;
        let at = self.rolling.iter().position(is_same).unwrap_or_else(|| {
            self.rolling.push(RollingWindow::new(limit, now));
            self.rolling.len() - 1
        });
        let window = &mut self.rolling[at];
        window.fade(limit, now);
        window
    }

    fn reserve(&mut self, limits: &[ModelLimit], estimate: &UsageEstimate) {
        let reserved = estimate.as_totals();
        self.reserved.add(&reserved);
        let is_limited = |it: &RollingWindow| {
            limits.iter().any(|limit| limit.unit == it.unit && limit.per == it.per)
        };
        self.rolling.retain(is_limited);
        for window in &mut self.rolling {
            window.correct(0, window.unit.of_totals(&reserved));
        }
    }
}

/// A leaky bucket: what was used fades at the rate of the limit.
#[derive(Debug, Clone)]
struct RollingWindow {
    unit: LimitedUnit,
    per: LimitPeriod,
    /// What has not faded yet: units times the nanoseconds of the period, so that nothing is
    /// rounded.
    level: u128,
    at: Instant,
}

impl RollingWindow {
    fn new(limit: &ModelLimit, now: Instant) -> Self {
        Self { unit: limit.unit, per: limit.per, level: 0, at: now }
    }

    fn fade(&mut self, limit: &ModelLimit, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_nanos();
        self.level = self.level.saturating_sub(passed.saturating_mul(u128::from(limit.amount)));
        self.at = self.at.max(now);
    }

    fn check(&self, limit: &ModelLimit, wanted: u64) -> Result<(), Option<Duration>> {
        let full = self.scale(limit.amount);
        let after = self.level.saturating_add(self.scale(wanted));
        if after <= full {
            return Ok(());
        }
        let wait = (after - full).div_ceil(u128::from(limit.amount.max(1)));
        // A reservation may be larger than the limit, and is given back long before it would fade.
        let wait = wait.min(self.per.span().as_nanos());
        Err(Some(Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX))))
    }

    fn check_used(&self, limit: &ModelLimit, reserved: u64) -> Result<(), Duration> {
        let used = Self { level: self.level.saturating_sub(self.scale(reserved)), ..self.clone() };
        used.check(limit, 1).map_err(|wait| wait.unwrap_or(RESERVED_RETRY_AFTER))
    }

    fn correct(&mut self, before: u64, after: u64) {
        self.level = self.level.saturating_add(self.scale(after));
        self.level = self.level.saturating_sub(self.scale(before));
    }

    fn scale(&self, units: u64) -> u128 {
        u128::from(units) * self.per.span().as_nanos()
    }
}

#[cfg(test)]
mod tests;
