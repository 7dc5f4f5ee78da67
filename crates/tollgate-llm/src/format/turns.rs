//! Results beside their calls, while a request is written: dialects that answer a turn of calls with
//! one turn of results take them in the order in which the calls were made.

use serde_json::Value;

use crate::failure::Failure;

/// The results, each with the id of its call, as the calls were made.
pub fn in_order(
    results: Vec<(String, Value)>,
    made: &[String],
    at: &str,
) -> Result<Vec<Value>, Failure> {
    let mut places: Vec<Option<Value>> = vec![None; made.len()];
    for (id, result) in results {
        let free = |(call, taken): (&String, &Option<Value>)| *call == id && taken.is_none();
        let Some(place) = made.iter().zip(&places).position(free) else {
            let message = format!(
                "`{at}`: call `{id}` was not made in the turn before, or has its result already"
            );
            return Err(Failure::invalid(at, message));
        };
        places[place] = Some(result);
    }
    if let Some(open) = places.iter().position(Option::is_none) {
        return Err(unanswered(&made[open], at));
    }
    Ok(places.into_iter().flatten().collect())
}

pub fn unanswered(id: &str, at: &str) -> Failure {
    Failure::invalid(at, format!("`{at}`: call `{id}` has no result in the message that follows"))
}
