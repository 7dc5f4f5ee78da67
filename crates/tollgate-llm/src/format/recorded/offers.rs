//! Requests made up by chance: a conversation, tools to choose from, and how to answer.

use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Number, json};

use super::conversations;
use crate::conversation::{
    Delivery, Function, Options, OutputForm, Parallel, Request, Tool, ToolChoice,
};
use crate::extra::Extra;

/// With nothing that belongs to one dialect.
pub(crate) fn requests() -> impl Strategy<Value = Request> {
    let delivery = prop_oneof![Just(Delivery::Whole), Just(Delivery::Streamed)];
    (conversations(), tools(), choices(), options(), delivery).prop_map(
        |(conversation, tools, choice, mut options, delivery)| {
            let tool_choice = match (&tools[..], choice) {
                ([], _) => ToolChoice::Unsaid,
                ([Tool::Function(only), ..], ToolChoice::Unsaid) => {
                    ToolChoice::Named(only.name.clone())
                }
                (_, choice) => choice,
            };
            if tools.is_empty() {
                options.parallel_calls = None;
            }
            Request { tools, tool_choice, options, delivery, ..conversation }
        },
    )
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let tool = ("[a-z]{1,5}", option::of("[ -~]{1,20}"));
    btree_map("[a-z][a-zA-Z0-9_-]{0,63}", tool, 0..3).prop_map(|tools| {
        let function = |(name, (property, description)): (String, (String, Option<String>))| {
            let schema = json!({"type": "object", "properties": {property: {"type": "string"}}});
            let (parameters, extra) = (Some(schema), Extra::none());
            Tool::Function(Function { name, description, parameters, extra })
        };
        tools.into_iter().map(function).collect()
    })
}

fn choices() -> impl Strategy<Value = ToolChoice> {
    prop_oneof![
        Just(ToolChoice::Unsaid),
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let number = option::of(prop_oneof![Just(0.1), Just(0.7), Just(1.0)])
        .prop_map(|number| number.and_then(Number::from_f64));
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let form = OutputForm::Schema { name: "form".to_owned(), schema, strict: Some(true) };
    let output = prop_oneof![Just(None), Just(Some(OutputForm::Json)), Just(Some(form))];
    let parallel =
        prop_oneof![Just(None), Just(Some(Parallel::Allowed)), Just(Some(Parallel::Forbidden))];
    let effort = option::of(prop_oneof![Just("low".to_owned()), Just("high".to_owned())]);
    let max_output = option::of(1_u64..1_000_000);
    (max_output, number.clone(), number, output, parallel, effort).prop_map(
        |(max_output, temperature, top_p, output, parallel_calls, effort)| Options {
            max_output,
            temperature,
            top_p,
            output,
            parallel_calls,
            effort,
            ..Options::default()
        },
    )
}
