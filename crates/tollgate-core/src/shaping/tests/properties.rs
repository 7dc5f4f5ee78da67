use proptest::prelude::*;

use super::{
    ResultCaps, ResultExtent, SpeechTemplate, Value, data, json, message, outcome, raw, read,
    shaped, tool,
};
use crate::call::{Outcome, ResultSource, Retryability};
use crate::shaping::pages::{self, PageContent};
use crate::shaping::prune::{EscapeContext, OmissionMarks, prune};

/// Any JSON, with long strings, wide lists and odd characters in it.
fn document() -> impl Strategy<Value = Value> {
    let odd = "[a-z\"\\\\\n\u{1}\u{202e}äß語😀 ]{0,40}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        odd.prop_map(Value::from),
        (odd, 1_usize..60).prop_map(|(text, times)| Value::from(text.repeat(times))),
    ];
    leaf.prop_recursive(5, 60, 12, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::vec((odd, inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn item() -> impl Strategy<Value = Value> {
    prop_oneof![
        document().prop_map(|it| json!({"type": "text", "text": it.to_string()})),
        "[a-z\"\n\u{1}ä語]{0,300}".prop_map(|text| json!({"type": "text", "text": text})),
        document().prop_map(|it| json!({"type": "text", "text": "t", "_meta": {"x": it}})),
        (0_usize..3_000).prop_map(|n| json!({"type": "image", "data": "A".repeat(n)})),
        document().prop_map(
            |it| json!({"type": "resource", "resource": {"uri": "a:b", "text": it.to_string()}})
        ),
        document(),
    ]
}

fn result() -> impl Strategy<Value = Value> {
    let flag = prop::option::of(any::<bool>());
    let parts = (
        prop::collection::vec(item(), 0..4),
        prop::option::of(document()),
        flag,
        prop::option::of(document()),
    );
    parts.prop_map(|(content, structured, failed, other)| {
        let mut result = json!({"content": content});
        if let Some(structured) = structured {
            result["structuredContent"] = structured;
        }
        if let Some(failed) = failed {
            result["isError"] = failed.into();
        }
        if let Some(other) = other {
            result["_meta"] = other.clone();
            result["other"] = other;
        }
        result
    })
}

fn caps() -> impl Strategy<Value = ResultCaps> {
    let preset =
        prop::sample::select(ResultCaps::TABLE.iter().map(|(_, caps)| *caps).collect::<Vec<_>>());
    (preset, 0_usize..20_000, 0_usize..10_000, 1_usize..20, 3_usize..12).prop_map(
        |(preset, total_bytes, text_bytes, items, depth)| ResultCaps {
            total_bytes,
            text_bytes,
            items,
            depth,
            ..preset
        },
    )
}

/// As the fronts show it.
fn delivered_text(outcome: &Outcome, caps: &ResultCaps) -> String {
    let data = data(outcome);
    json!({
        "status": outcome.status.as_str(),
        "message": message(&SpeechTemplate::default(), outcome, &data, caps.wording),
        "data": data,
        "retryable": outcome.retry != Retryability::Pointless,
        "truncated": outcome.extent == ResultExtent::Cut,
        "handle": outcome.handle.map(|handle| handle.to_string()),
        "duration_ms": 123_456,
        "cached": outcome.source == ResultSource::Cached,
    })
    .to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_result_is_larger_or_deeper_than_its_consumer_takes(result in result(), caps in caps()) {
        let outcome = outcome(&result.to_string(), &caps);
        let text = outcome.result.get();
        prop_assert!(text.len() <= caps.result_bytes(), "{} of {}", text.len(), caps.result_bytes());
        prop_assert!(!crate::json::is_deeper_than(caps.depth.max(4), text));
        let value = read(&outcome);
        prop_assert!(value["content"].is_array());
        prop_assert_eq!(outcome.extent == ResultExtent::Cut, outcome.handle.is_some());
        prop_assert_eq!(value.pointer("/_meta/dev.tollgate~1result").is_some(), outcome.handle.is_some());
    }

    #[test]
    fn those_who_listen_get_no_more_than_their_total(result in result()) {
        for (name, caps) in ResultCaps::TABLE.iter().filter(|(_, caps)| caps.total_bytes < 1 << 20) {
            let outcome = outcome(&result.to_string(), caps);
            let shown = delivered_text(&outcome, caps);
            prop_assert!(shown.len() <= caps.total_bytes, "{name}: {}", shown.len());
        }
    }

    #[test]
    fn what_is_under_the_caps_is_passed_byte_for_byte(
        content in prop::collection::vec("[a-z\"\n\u{1}ä語]{0,300}", 0..8),
        structured in prop::option::of(prop::collection::hash_map("[a-z]{1,5}", 1_u64.., 1..20)),
    ) {
        let content: Vec<Value> =
            content.into_iter().map(|text| json!({"type": "text", "text": text})).collect();
        let mut result = json!({"content": content});
        if let Some(structured) = structured {
            result["structuredContent"] = json!(structured);
        }
        let spaced = serde_json::to_string_pretty(&result).expect("a value is JSON");
        for (name, caps) in ResultCaps::TABLE {
            let fits = spaced.len() <= caps.result_bytes();
            let outcome = outcome(&spaced, caps);
            prop_assert_eq!(outcome.extent == ResultExtent::Whole, fits, "{}", name);
            prop_assert!(!fits || outcome.result.get() == spaced, "{}", name);
        }
    }

    #[test]
    fn structure_that_clients_check_always_fits_the_schema(result in result(), caps in caps()) {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let tool = tool(Some(schema));
        let caps = ResultCaps { structured: super::super::StructuredPolicy::Checked, ..caps };
        let outcome = shaped(&tool, &result.to_string(), &caps).outcome;
        if outcome.extent == ResultExtent::Cut {
            let value = read(&outcome);
            let checked = match value.get("structuredContent") {
                Some(it) => tool.output.as_ref().is_some_and(|schema| schema.check(it).is_ok())
                    || result.get("structuredContent") == Some(it),
                None => value["isError"] == true || result.get("structuredContent").is_none(),
            };
            prop_assert!(checked, "{}", outcome.result.get());
        }
    }

    #[test]
    fn what_is_cut_stays_what_it_is(document in document(), room in 128_usize..2_000) {
        for (place, marks) in [(EscapeContext::Plain, OmissionMarks::Shown), (EscapeContext::InString, OmissionMarks::Silent)] {
            let pruned = prune(&document.to_string(), room, place, marks);
            prop_assert!(place.cost(&pruned, usize::MAX) <= room);
            let value: Value = serde_json::from_str(&pruned).expect("what was cut is JSON");
            prop_assert_eq!(value.is_object(), document.is_object(), "{}", pruned);
            prop_assert_eq!(value.is_array(), document.is_array(), "{}", pruned);
        }
    }

    #[test]
    fn pages_together_are_the_whole(result in result(), page_bytes in 256_usize..2_000) {
        let result = raw(result.to_string());
        let mut items = 0;
        let mut next = Some(1);
        while let Some(number) = next {
            let page = pages::page(&result, number, page_bytes).expect("an announced page");
            prop_assert!(page.data.get().len() <= page_bytes);
            let value: Value = serde_json::from_str(page.data.get()).expect("a page is JSON");
            match page.holds {
                PageContent::Items { first, of } => {
                    prop_assert!(first >= items && first < of);
                    items = first;
                }
                PageContent::Text { .. } | PageContent::Source { .. } => prop_assert!(value.is_string()),
                PageContent::Fields => prop_assert!(value.is_object()),
                PageContent::Whole => prop_assert_eq!(page.pages, 1),
            }
            next = page.next;
        }
    }
}
