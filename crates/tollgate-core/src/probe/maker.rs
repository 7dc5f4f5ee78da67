//! Makes a value for all schemas that meet at one place: choice after choice, candidate after
//! candidate, until one fits. Whatever it costs is paid from the document's purse.

use serde_json::Value;

use super::Unmakeable;
use super::document::Document;
use super::form::{Form, Kind};
use super::place::Place;
use super::{number, text};
use crate::text::shortened;

/// Characters of a pattern that a reason repeats.
const SAID: usize = 80;

#[derive(Clone, Copy)]
pub(super) struct Maker<'d, 'a> {
    pub(super) document: &'d Document<'a>,
}

/// One value that is being made.
pub(super) struct Task<'t, 'a> {
    pub(super) place: &'t Place<'t>,
    needs: &'t [&'a Value],
    /// Values that are there already, where no two may be equal.
    avoid: &'t [Value],
}

/// One value inside another: its name there, and what it has to fit.
pub(super) struct Inner<'t, 'a> {
    pub(super) name: &'t str,
    pub(super) needs: &'t [&'a Value],
    pub(super) avoid: &'t [Value],
}

/// What came of one form.
pub(super) enum Tried<'a> {
    Candidates(Vec<Value>),
    /// What was put into the value brings more schemas with it.
    Larger(Form<'a>),
}

impl<'a> Maker<'_, 'a> {
    pub(super) fn whole(self) -> Result<Value, Unmakeable> {
        let needs = [self.document.followed(self.document.root)?];
        let place = Place::whole(addresses(&needs));
        self.make(&Task { place: &place, needs: &needs, avoid: &[] })
    }

    /// A value inside another one.
    pub(super) fn inner(
        self,
        task: &Task<'_, 'a>,
        inner: &Inner<'_, 'a>,
    ) -> Result<Value, Unmakeable> {
        let needs: Vec<_> =
            inner.needs.iter().map(|it| self.document.followed(it)).collect::<Result<_, _>>()?;
        let place = Place::inside(task.place, inner.name, addresses(&needs));
        place.check()?;
        self.make(&Task { place: &place, needs: &needs, avoid: inner.avoid })
    }

    fn make(self, task: &Task<'_, 'a>) -> Result<Value, Unmakeable> {
        let mut forms = vec![Form::default().with(self.document, task.needs, task.place)?];
        let mut why = None;
        while let Some(mut form) = forms.pop() {
            let tried = match form.choose() {
                Some(ways) => {
                    for way in ways.into_iter().rev() {
                        match form.with(self.document, &way, task.place) {
                            Ok(form) => forms.push(form),
                            Err(reason) => keep(&mut why, reason)?,
                        }
                    }
                    continue;
                }
                None => self.value(task, &form),
            };
            match tried {
                Ok(Found::Value(value)) => return Ok(value),
                Ok(Found::Larger(form)) => forms.push(form),
                Err(reason) => keep(&mut why, reason)?,
            }
        }
        Err(why.unwrap_or_else(|| Unmakeable::NothingFits { at: task.place.pointer() }))
    }

    /// With no choice left open: what is listed, what is suggested, then what can be made.
    fn value(self, task: &Task<'_, 'a>, form: &Form<'a>) -> Result<Found<'a>, Unmakeable> {
        if let Some(allowed) = form.allowed() {
            return match self.first(task, allowed)? {
                Some(value) => Ok(Found::Value(value.clone())),
                None => Err(task.place.contradiction("none of the values that it lists fits")),
            };
        }
        if let Some(value) = self.first(task, form.suggested())? {
            return Ok(Found::Value(value.clone()));
        }
        let mut why = None;
        for kind in form.kinds(task.place)? {
            match self.of_kind(task, form, kind) {
                Ok(Tried::Larger(form)) => return Ok(Found::Larger(form)),
                Ok(Tried::Candidates(candidates)) => {
                    if let Some(value) = self.first(task, candidates)? {
                        return Ok(Found::Value(value));
                    }
                    keep(&mut why, no_candidate(task, form, kind))?;
                }
                Err(reason) => keep(&mut why, reason)?,
            }
        }
        Err(why.unwrap_or_else(|| Unmakeable::NothingFits { at: task.place.pointer() }))
    }

    fn of_kind(
        self,
        task: &Task<'_, 'a>,
        form: &Form<'a>,
        kind: Kind,
    ) -> Result<Tried<'a>, Unmakeable> {
        let wanted = task.avoid.len() + 8;
        let candidates = match kind {
            Kind::Text => text::candidates(form, task.place, wanted)?,
            Kind::Integer | Kind::Number => number::candidates(form, task.place, kind, wanted)?,
            Kind::Boolean => vec![false.into(), true.into()],
            Kind::Null => vec![Value::Null],
            Kind::Object => return self.object(task, form),
            Kind::List => return self.list(task, form).map(Tried::Candidates),
        };
        self.document.spend(candidates.iter().map(weight).sum())?;
        Ok(Tried::Candidates(candidates))
    }

    /// The first that all schemas of the place take, and that is not there already.
    fn first<V: std::borrow::Borrow<Value>>(
        self,
        task: &Task<'_, 'a>,
        candidates: Vec<V>,
    ) -> Result<Option<V>, Unmakeable> {
        for candidate in candidates {
            let value = candidate.borrow();
            self.document.spend(1 + task.avoid.len())?;
            if !task.avoid.contains(value) && self.document.all_fit(task.needs, value)? {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }
}

enum Found<'a> {
    Value(Value),
    Larger(Form<'a>),
}

/// Keeps the reason that says most: the first, unless it only says that things recur.
fn keep(kept: &mut Option<Unmakeable>, reason: Unmakeable) -> Result<(), Unmakeable> {
    match (&kept, reason) {
        (_, Unmakeable::TooMuchWork) => return Err(Unmakeable::TooMuchWork),
        (None | Some(Unmakeable::Recursive { .. }), reason) => *kept = Some(reason),
        (Some(_), _) => {}
    }
    Ok(())
}

fn no_candidate(task: &Task<'_, '_>, form: &Form<'_>, kind: Kind) -> Unmakeable {
    let at = task.place.pointer();
    match form.texts("pattern").first() {
        Some(pattern) if kind == Kind::Text => {
            Unmakeable::Pattern { at, pattern: shortened(pattern, SAID) }
        }
        _ => Unmakeable::NothingFits { at },
    }
}

/// Steps that it takes to handle a candidate.
fn weight(candidate: &Value) -> usize {
    1 + candidate.as_str().map_or(0, str::len) / 64
}

fn addresses(needs: &[&Value]) -> Vec<usize> {
    needs.iter().map(|it| std::ptr::from_ref(*it).addr()).collect()
}
