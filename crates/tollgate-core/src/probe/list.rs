//! Lists: as many items as are demanded, at their places, and those that must be contained.

use serde_json::Value;

use super::Unmakeable;
use super::fits::{about_item, by_place};
use super::form::{Form, Part};
use super::maker::{Inner, Maker, Task};
use super::object::MOST;

impl<'a> Maker<'_, 'a> {
    pub(super) fn list(
        self,
        task: &Task<'_, 'a>,
        form: &Form<'a>,
    ) -> Result<Vec<Value>, Unmakeable> {
        let sizes = form.sizes(task.place, ["minItems", "maxItems"])?;
        let contained = contained(form);
        let least = sizes.least.max(contained.len());
        if least > MOST {
            return Err(task.place.too_large(format!("{least} items")));
        }
        if let Some(most) = sizes.most.filter(|most| least > *most) {
            let why = format!("it must contain {least} items, maxItems is {most}");
            return Err(task.place.contradiction(why));
        }
        // What must be contained may not suit the places that have schemas of their own.
        let places = form.parts.iter().map(|part| by_place(part).count()).max().unwrap_or(0);
        let first = Placing { least, contained: &contained, from: 0 };
        let behind = Placing { least: least.max(places + contained.len()), from: places, ..first };
        let has_room = places > 0
            && !contained.is_empty()
            && behind.least <= sizes.most.unwrap_or(MOST).min(MOST);
        let items = match self.items(task, form, first) {
            Err(reason) if has_room && reason != Unmakeable::TooMuchWork => {
                self.items(task, form, behind)?
            }
            items => items?,
        };
        Ok(vec![Value::Array(items)])
    }

    fn items(
        self,
        task: &Task<'_, 'a>,
        form: &Form<'a>,
        placing: Placing<'_, 'a>,
    ) -> Result<Vec<Value>, Unmakeable> {
        let is_unique = |part: &Part<'_>| part.get("uniqueItems") == Some(&Value::Bool(true));
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
            let inner = Inner { name: &at.to_string(), needs: &needs, avoid };
            let item = self.inner(task, &inner)?;
            items.push(item);
        }
        Ok(items)
    }
}

/// How many items, and from where on those stand that must be contained.
#[derive(Clone, Copy)]
struct Placing<'c, 'a> {
    least: usize,
    contained: &'c [&'a Value],
    from: usize,
}

/// The schemas of items that must be there, each as often as it is demanded.
fn contained<'a>(form: &Form<'a>) -> Vec<&'a Value> {
    let mut contained = Vec::new();
    for part in &form.parts {
        let Some(schema) = part.get("contains") else { continue };
        let times = part.get("minContains").and_then(Value::as_u64).unwrap_or(1);
        let times = usize::try_from(times).unwrap_or(usize::MAX).min(MOST + 1);
        contained.extend(std::iter::repeat_n(schema, times));
        if contained.len() > MOST {
            break;
        }
    }
    contained
}
