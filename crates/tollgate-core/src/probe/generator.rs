//! Generates a value that satisfies all schemas of one place, by backtracking over choices and
//! candidates. All work is charged to the document's step budget.

use serde_json::Value;

use super::ProbeSynthesisError;
use super::combined_schemas::{CombinedSchemas, ProbeValueKind};
use super::document::SchemaDocument;
use super::value_path::ValuePath;
use super::{number, text};
use crate::text::truncate_chars;

/// Maximum characters of a pattern quoted in an error.
const MAX_QUOTED_CHARS: usize = 80;

#[derive(Clone, Copy)]
pub(super) struct ProbeGenerator<'d, 'a> {
    pub(super) document: &'d SchemaDocument<'a>,
}

/// One value to be generated.
pub(super) struct ProbeValueTask<'t, 'a> {
    pub(super) place: &'t ValuePath<'t>,
    needs: &'t [&'a Value],
    /// Existing values, where items must be unique.
    avoid: &'t [Value],
}

/// A nested value: its name, and the schemas it has to satisfy.
pub(super) struct InnerValue<'t, 'a> {
    pub(super) name: &'t str,
    pub(super) needs: &'t [&'a Value],
    pub(super) avoid: &'t [Value],
}

/// The result for one combination of schemas.
pub(super) enum FormResult<'a> {
    Candidates(Vec<Value>),
    /// The generated value activates further schemas.
    Larger(CombinedSchemas<'a>),
}

impl<'a> ProbeGenerator<'_, 'a> {
    pub(super) fn whole(self) -> Result<Value, ProbeSynthesisError> {
        let needs = [self.document.follow_reference(self.document.root)?];
        let place = ValuePath::whole(addresses(&needs));
        self.make(&ProbeValueTask { place: &place, needs: &needs, avoid: &[] })
    }

    /// Generates a nested value.
    pub(super) fn inner(
        self,
        task: &ProbeValueTask<'_, 'a>,
        inner: &InnerValue<'_, 'a>,
    ) -> Result<Value, ProbeSynthesisError> {
        let needs: Vec<_> = inner
            .needs
            .iter()
            .map(|it| self.document.follow_reference(it))
            .collect::<Result<_, _>>()?;
        let place = ValuePath::inside(task.place, inner.name, addresses(&needs));
        place.check()?;
        self.make(&ProbeValueTask { place: &place, needs: &needs, avoid: inner.avoid })
    }

    fn make(self, task: &ProbeValueTask<'_, 'a>) -> Result<Value, ProbeSynthesisError> {
        let mut forms =
            vec![CombinedSchemas::default().with(self.document, task.needs, task.place)?];
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
                Ok(GeneratedValue::Value(value)) => return Ok(value),
                Ok(GeneratedValue::Larger(form)) => forms.push(form),
                Err(reason) => keep(&mut why, reason)?,
            }
        }
        Err(why.unwrap_or_else(|| ProbeSynthesisError::NothingFits { at: task.place.pointer() }))
    }

    /// Without open choices: enumerated values, then suggested ones, then generated ones.
    fn value(
        self,
        task: &ProbeValueTask<'_, 'a>,
        form: &CombinedSchemas<'a>,
    ) -> Result<GeneratedValue<'a>, ProbeSynthesisError> {
        if let Some(allowed) = form.allowed_values() {
            return match self.first(task, allowed)? {
                Some(value) => Ok(GeneratedValue::Value(value.clone())),
                None => Err(task.place.contradiction("none of its enum values fits")),
            };
        }
        if let Some(value) = self.first(task, form.suggested_values())? {
            return Ok(GeneratedValue::Value(value.clone()));
        }
        let mut why = None;
        for kind in form.kinds(task.place)? {
            match self.of_kind(task, form, kind) {
                Ok(FormResult::Larger(form)) => return Ok(GeneratedValue::Larger(form)),
                Ok(FormResult::Candidates(candidates)) => {
                    if let Some(value) = self.first(task, candidates)? {
                        return Ok(GeneratedValue::Value(value));
                    }
                    keep(&mut why, no_candidate(task, form, kind))?;
                }
                Err(reason) => keep(&mut why, reason)?,
            }
        }
        Err(why.unwrap_or_else(|| ProbeSynthesisError::NothingFits { at: task.place.pointer() }))
    }

    fn of_kind(
        self,
        task: &ProbeValueTask<'_, 'a>,
        form: &CombinedSchemas<'a>,
        kind: ProbeValueKind,
    ) -> Result<FormResult<'a>, ProbeSynthesisError> {
        let requested = task.avoid.len() + 8;
        let candidates = match kind {
            ProbeValueKind::Text => text::candidates(form, task.place, requested)?,
            ProbeValueKind::Integer | ProbeValueKind::Number => {
                number::candidates(form, task.place, kind, requested)?
            }
            ProbeValueKind::Boolean => vec![false.into(), true.into()],
            ProbeValueKind::Null => vec![Value::Null],
            ProbeValueKind::Object => return self.object(task, form),
            ProbeValueKind::List => return self.list(task, form).map(FormResult::Candidates),
        };
        self.document.spend(candidates.iter().map(weight).sum())?;
        Ok(FormResult::Candidates(candidates))
    }

    /// The first candidate that satisfies all schemas and is not a duplicate.
    fn first<V: std::borrow::Borrow<Value>>(
        self,
        task: &ProbeValueTask<'_, 'a>,
        candidates: Vec<V>,
    ) -> Result<Option<V>, ProbeSynthesisError> {
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

enum GeneratedValue<'a> {
    Value(Value),
    Larger(CombinedSchemas<'a>),
}

/// Keeps the most informative error: the first, unless it only reports recursion.
fn keep(
    error: &mut Option<ProbeSynthesisError>,
    reason: ProbeSynthesisError,
) -> Result<(), ProbeSynthesisError> {
    match (&error, reason) {
        (_, ProbeSynthesisError::TooMuchWork) => return Err(ProbeSynthesisError::TooMuchWork),
        (None | Some(ProbeSynthesisError::Recursive { .. }), reason) => *error = Some(reason),
        (Some(_), _) => {}
    }
    Ok(())
}

fn no_candidate(
    task: &ProbeValueTask<'_, '_>,
    form: &CombinedSchemas<'_>,
    kind: ProbeValueKind,
) -> ProbeSynthesisError {
    let at = task.place.pointer();
    match form.texts("pattern").first() {
        Some(pattern) if kind == ProbeValueKind::Text => {
            ProbeSynthesisError::Pattern { at, pattern: truncate_chars(pattern, MAX_QUOTED_CHARS) }
        }
        _ => ProbeSynthesisError::NothingFits { at },
    }
}

/// Cost of handling a candidate, in steps.
fn weight(candidate: &Value) -> usize {
    1 + candidate.as_str().map_or(0, str::len) / 64
}

fn addresses(needs: &[&Value]) -> Vec<usize> {
    needs.iter().map(|it| std::ptr::from_ref(*it).addr()).collect()
}
