//! Generates numbers within bounds and of the required multiple, the most common ones first.
//! Computes in integers scaled by a power of ten, so that nothing is lost by rounding.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use super::ProbeSynthesisError;
use super::combined_schemas::{CombinedSchemas, ProbeValueKind};
use super::value_path::ValuePath;

mod decimal;

use decimal::{Decimal, least_common_multiple};

/// Candidate numbers, best first.
pub(super) fn candidates(
    form: &CombinedSchemas<'_>,
    place: &ValuePath<'_>,
    kind: ProbeValueKind,
    requested: usize,
) -> Result<Vec<Value>, ProbeSynthesisError> {
    let low = strictest(form, BoundSide::Low);
    let high = strictest(form, BoundSide::High);
    if let (Some(low), Some(high)) = (&low, &high) {
        low.check(high).map_err(|error| place.contradiction(error.to_string()))?;
    }
    let steps: Vec<&Number> = form.numbers("multipleOf").collect();
    let limits = [&low, &high].into_iter().flatten().map(|limit| limit.number);
    let finest = steps.iter().copied().chain(limits.clone());
    let finest = finest.filter_map(Decimal::of).map(|it| it.scale).max().unwrap_or(0);
    let mut found = Vec::new();
    // Between two close bounds, one more digit may be needed.
    for scale in [finest, finest + 1] {
        let Some(step) = step(&steps, kind, scale) else { continue };
        let unit = if scale > finest && steps.is_empty() && kind == ProbeValueKind::Number {
            1
        } else {
            step
        };
        let range = NumberRange { step: unit, low: low.as_ref(), high: high.as_ref(), scale };
        found.extend(
            range.values(requested).into_iter().filter_map(|at| Decimal::new(at, scale).number()),
        );
    }
    let may_be_known = low.iter().chain(&high).all(|limit| Decimal::of(limit.number).is_some());
    if found.is_empty() && may_be_known && !steps.is_empty() {
        return Err(place.contradiction("no multiple of `multipleOf` lies within its limits"));
    }
    if found.is_empty() && may_be_known && kind == ProbeValueKind::Integer {
        return Err(place.contradiction("no whole number lies within its limits"));
    }
    found.extend(limits.map(|it| Value::Number(it.clone())));
    Ok(found)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BoundSide {
    Low,
    High,
}

/// No number lies within the bounds of a schema.
#[derive(Debug, thiserror::Error)]
enum EmptyRangeError {
    #[error("{low} is above {high}")]
    Crossed { low: String, high: String },
    #[error("{low} allows no value up to {high}")]
    Touching { low: String, high: String },
}

/// A bound as written in the schema.
struct NumberBound<'a> {
    keyword: &'static str,
    number: &'a Number,
    edge: BoundEdge,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BoundEdge {
    Inside,
    Outside,
}

impl NumberBound<'_> {
    fn compare(&self, other: &NumberBound<'_>) -> Ordering {
        let size = |limit: &NumberBound<'_>| limit.number.as_f64().unwrap_or(0.0);
        size(self).total_cmp(&size(other))
    }

    /// Whether there is a value between this bound and the upper one.
    fn check(&self, high: &NumberBound<'_>) -> Result<(), EmptyRangeError> {
        let is_outside = self.edge == BoundEdge::Outside || high.edge == BoundEdge::Outside;
        match self.compare(high) {
            Ordering::Greater => {
                Err(EmptyRangeError::Crossed { low: self.to_string(), high: high.to_string() })
            }
            Ordering::Equal if is_outside && self.number == high.number => {
                Err(EmptyRangeError::Touching { low: self.to_string(), high: high.to_string() })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for NumberBound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.keyword, self.number)
    }
}

fn strictest<'a>(form: &CombinedSchemas<'a>, side: BoundSide) -> Option<NumberBound<'a>> {
    let [inside, outside] = match side {
        BoundSide::Low => ["minimum", "exclusiveMinimum"],
        BoundSide::High => ["maximum", "exclusiveMaximum"],
    };
    let limits = form.parts.iter().flat_map(|part| {
        let number = |keyword| part.get(keyword).and_then(Value::as_number);
        // In draft-04 a flag makes the bound exclusive.
        let flag = part.get(outside) == Some(&Value::Bool(true));
        let edge = if flag { BoundEdge::Outside } else { BoundEdge::Inside };
        let first = number(inside).map(|number| NumberBound { keyword: inside, number, edge });
        let second = number(outside).map(|number| NumberBound {
            keyword: outside,
            number,
            edge: BoundEdge::Outside,
        });
        first.into_iter().chain(second)
    });
    limits.max_by(|a, b| {
        let order = match side {
            BoundSide::Low => a.compare(b),
            BoundSide::High => b.compare(a),
        };
        order.then(a.edge.cmp(&b.edge))
    })
}

/// The least common multiple of all steps, in units of `scale`; `None` if it is out of range.
fn step(steps: &[&Number], kind: ProbeValueKind, scale: u32) -> Option<i128> {
    let unit = 10_i128.checked_pow(scale)?;
    let mut all = match kind {
        ProbeValueKind::Integer => unit,
        _ if steps.is_empty() => unit,
        _ => 1,
    };
    for step in steps {
        let step = Decimal::of(step)?.at(scale).filter(|step| *step > 0)?;
        all = least_common_multiple(all, step)?;
    }
    Some(all)
}

struct NumberRange<'r, 'a> {
    step: i128,
    scale: u32,
    low: Option<&'r NumberBound<'a>>,
    high: Option<&'r NumberBound<'a>>,
}

impl NumberRange<'_, '_> {
    /// One and zero if they are allowed, then upwards from the lower bound or downwards from the
    /// upper.
    fn values(&self, requested: usize) -> Vec<i128> {
        let known = |limit: Option<&NumberBound<'_>>| {
            limit.is_none() || self.bound_in_units(limit).is_some()
        };
        if !known(self.low) || !known(self.high) {
            return Vec::new();
        }
        let low = self.bound_in_units(self.low).map(|(at, out)| at + out);
        let high = self.bound_in_units(self.high).map(|(at, out)| at - out);
        let one = 10_i128.pow(self.scale);
        let requested = i128::try_from(requested).unwrap_or(0);
        let first = match (low, high) {
            (Some(low), _) => low.div_euclid(self.step) + i128::from(low.rem_euclid(self.step) > 0),
            (None, Some(high)) => high.div_euclid(self.step) - requested,
            (None, None) => 1,
        };
        let row = (0..=requested).filter_map(|at| first.checked_add(at)?.checked_mul(self.step));
        let mut row: Vec<i128> = row.collect();
        if low.is_none() && high.is_some() {
            row.reverse();
        }
        let is_within = |at: &i128| {
            low.is_none_or(|low| *at >= low)
                && high.is_none_or(|high| *at <= high)
                && at.rem_euclid(self.step) == 0
        };
        // Large ones last, for values excluded otherwise than by a bound.
        let far = (1..=6).filter_map(|power| 10_i128.pow(power).checked_mul(one));
        [one, 0].into_iter().chain(row).chain([-one]).chain(far).filter(is_within).collect()
    }

    /// A bound in units of this range, and one more unit if it is exclusive.
    fn bound_in_units(&self, limit: Option<&NumberBound<'_>>) -> Option<(i128, i128)> {
        let limit = limit?;
        let at = Decimal::of(limit.number)?.at(self.scale)?;
        Some((at, i128::from(limit.edge == BoundEdge::Outside)))
    }
}
