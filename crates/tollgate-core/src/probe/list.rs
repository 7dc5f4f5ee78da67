//! Generates lists: the required number of items, by position, and those that `contains` demands.

use serde_json::Value;

use super::ProbeSynthesisError;
use super::combined_schemas::{CombinedSchemas, SchemaKeywords};
use super::fit_check::{about_item, by_place};
use super::generator::{InnerValue, ProbeGenerator, ProbeValueTask};
use super::object::MAX_ENTRIES;

impl<'a> ProbeGenerator<'_, 'a> {
    pub(super) fn list(
        self,
        task: &ProbeValueTask<'_, 'a>,
        form: &CombinedSchemas<'a>,
    ) -> Result<Vec<Value>, ProbeSynthesisError> {
        let sizes = form.sizes(task.place, ["minItems", "maxItems"])?;
        let contained = contained_schemas(form);
        let least = sizes.least.max(contained.len());
        if least > MAX_ENTRIES {
            return Err(task.place.too_large(format!("{least} items")));
        }
        if let Some(most) = sizes.most.filter(|most| least > *most) {
            let why = format!("it must contain {least} items, maxItems is {most}");
            return Err(task.place.contradiction(why));
        }
        // Items for `contains` may not satisfy the positions with their own schemas.
        let places = form.parts.iter().map(|part| by_place(part).count()).max().unwrap_or(0);
        let first = ItemLayout { least, contained: &contained, from: 0 };
        let behind =
            ItemLayout { least: least.max(places + contained.len()), from: places, ..first };
        let has_room = places > 0
            && !contained.is_empty()
            && behind.least <= sizes.most.unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES);
        let items = match self.items(task, form, first) {
            Err(reason) if has_room && reason != ProbeSynthesisError::TooMuchWork => {
                self.items(task, form, behind)?
            }
            items => items?,
        };
        Ok(vec![Value::Array(items)])
    }

    fn items(
        self,
        task: &ProbeValueTask<'_, 'a>,
        form: &CombinedSchemas<'a>,
        placing: ItemLayout<'_, 'a>,
    ) -> Result<Vec<Value>, ProbeSynthesisError> {
        let is_unique =
            |part: &SchemaKeywords<'_>| part.get("uniqueItems") == Some(&Value::Bool(true));
        let are_unique = form.parts.iter().any(is_unique);
        let mut items: Vec<Value> = Vec::new();
        for at in 0..placing.least {
            self.document.spend(1 + form.parts.len())?;
            let mut needs: Vec<&Value> = Vec::new();
            for part in &form.parts {
                needs.extend(about_item(part, at));
            }
            needs.extend(at.checked_sub(placing.from).and_then(|at| placing.contained.get(at)));
            let avoid = if are_unique { &items[..] } else { &[] };
            let inner = InnerValue { name: &at.to_string(), needs: &needs, avoid };
            let item = self.inner(task, &inner)?;
            items.push(item);
        }
        Ok(items)
    }
}

/// The number of items, and the index at which items for `contains` begin.
#[derive(Clone, Copy)]
struct ItemLayout<'c, 'a> {
    least: usize,
    contained: &'c [&'a Value],
    from: usize,
}

/// The schemas of `contains`, each as often as it is required.
fn contained_schemas<'a>(form: &CombinedSchemas<'a>) -> Vec<&'a Value> {
    let mut contained = Vec::new();
    for part in &form.parts {
        let Some(schema) = part.get("contains") else { continue };
        let times = part.get("minContains").and_then(Value::as_u64).unwrap_or(1);
        let times = usize::try_from(times).unwrap_or(usize::MAX).min(MAX_ENTRIES + 1);
        contained.extend(std::iter::repeat_n(schema, times));
        if contained.len() > MAX_ENTRIES {
            break;
        }
    }
    contained
}
