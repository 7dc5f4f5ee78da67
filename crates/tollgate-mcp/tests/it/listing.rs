//! Lists are read to their end, and servers that never end them are given up.

use serde_json::{Value, json};
use tollgate_mcp::client::{ServerListKind, list_all};
use tollgate_mcp::tasks;

use crate::support::{Connected, legacy};

/// What listing tools comes to when the server answers page after page like this.
async fn list(page: impl Fn(usize, &Value) -> Value + Send + 'static) -> String {
    let Connected { client, mut peer, .. } = legacy().await;
    let _server = tasks::spawn("server", async move {
        let mut number = 0;
        while let Some(request) = peer.next().await {
            let result = page(number, &request["params"]["cursor"]);
            peer.answer(&request, &result).await;
            number += 1;
        }
    });
    match list_all(&*client, ServerListKind::Tools).await {
        Ok(items) if items.len() < 10 => {
            items.iter().map(|item| item.get().to_owned()).collect::<Vec<_>>().join(" ")
        }
        Ok(items) => format!("{} items", items.len()),
        Err(error) => error.to_string(),
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_joined_and_items_stay_as_they_came() {
    let two = list(|number, cursor| match number {
        0 => json!({"tools": [{"z": 1, "a": 2}], "nextCursor": "c"}),
        _ => json!({"tools": [{"cursor": cursor}], "nextCursor": ""}),
    });
    assert_eq!(two.await, r#"{"z":1,"a":2} {"cursor":"c"}"#);
    assert_eq!(list(|_, _| json!({"tools": []})).await, "");
}

#[tokio::test(start_paused = true)]
async fn lists_without_end_are_given_up() {
    let same = list(|_, _| json!({"tools": [{}], "nextCursor": "c"}));
    assert_eq!(same.await, "`tools/list` gave a repeated cursor");
    let circle = list(|number, _| json!({"tools": [], "nextCursor": (number % 3).to_string()}));
    assert_eq!(circle.await, "`tools/list` gave a repeated cursor");
    let endless = list(|number, _| json!({"tools": [], "nextCursor": number.to_string()}));
    assert_eq!(endless.await, "`tools/list` gave too many pages");
    let many =
        list(|number, _| json!({"tools": vec![json!({}); 3000], "nextCursor": number.to_string()}));
    assert_eq!(many.await, "`tools/list` gave too many items");
}

#[tokio::test(start_paused = true)]
async fn pages_that_are_none_are_errors() {
    for page in [json!({}), json!({"tools": null}), json!({"tools": {}}), json!({"tools": 7})] {
        assert!(list(move |_, _| page.clone()).await.starts_with("`tools/list` gave"));
    }
}
