//! Schemas as real servers list them: the reference servers, and the shapes that SDKs generate.

use serde_json::Value;

use super::make;

#[test]
fn tools_of_real_servers_get_the_least_that_they_take() {
    let corpus: Vec<Value> = serde_json::from_str(include_str!("corpus.json")).unwrap();
    assert!(corpus.len() > 15);
    for row in corpus {
        assert_eq!(make(&row["schema"]).as_ref(), Ok(&row["arguments"]), "{}", row["tool"]);
    }
}
