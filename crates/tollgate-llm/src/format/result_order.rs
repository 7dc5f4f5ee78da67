//! Orders results like their calls while a request is written: dialects with one turn of results
//! per turn of calls require that order.

use serde_json::Value;

use crate::error::LlmError;

/// Ordered results, and the first problem found. A history may end before all calls have their
/// results; a request may not.
pub struct OrderedResults {
    pub results: Vec<Value>,
    pub fault: Option<LlmError>,
}

/// The results, each with the id of its call, in the order of the calls.
pub fn in_order(results: Vec<(String, Value)>, made: &[String], at: &str) -> OrderedResults {
    let mut places: Vec<Option<Value>> = vec![None; made.len()];
    let mut fault = None;
    for (id, result) in results {
        let free = |(call, taken): (&String, &Option<Value>)| *call == id && taken.is_none();
        match made.iter().zip(&places).position(free) {
            Some(place) => places[place] = Some(result),
            None => {
                let message = format!(
                    "`{at}`: call `{id}` was not made in the previous turn, or already has its \
                     result"
                );
                fault = fault.or(Some(LlmError::invalid(at, message)));
            }
        }
    }
    let open = places.iter().position(Option::is_none);
    let fault = fault.or_else(|| open.map(|open| missing_result_error(&made[open], at)));
    OrderedResults { results: places.into_iter().flatten().collect(), fault }
}

pub fn missing_result_error(id: &str, at: &str) -> LlmError {
    LlmError::invalid(at, format!("`{at}`: call `{id}` has no result in the message that follows"))
}
