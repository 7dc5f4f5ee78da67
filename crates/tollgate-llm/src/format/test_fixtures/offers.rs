//! Requests made up by chance: a conversation, tools to choose from, and how to answer.

use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Number, json};

use super::conversations;
use crate::conversation::{
    ChatRequest, ChatTool, Function, GenerationOptions, ParallelCalls, ResponseDelivery,
    ResponseFormat, ToolChoice,
};
use crate::extra::Extra;

/// With nothing that belongs to one dialect.
pub(crate) fn requests() -> impl Strategy<Value = ChatRequest> {
    let delivery = prop_oneof![Just(ResponseDelivery::Whole), Just(ResponseDelivery::Streamed)];
    (conversations(), tools(), choices(), options(), delivery).prop_map(
        |(conversation, tools, choice, mut options, delivery)| {
            let tool_choice = match (&tools[..], choice) {
                ([], _) => ToolChoice::Unsaid,
                ([ChatTool::Function(only), ..], ToolChoice::Unsaid) => {
                    ToolChoice::Named(only.name.clone())
                }
                (_, choice) => choice,
            };
            if tools.is_empty() {
                options.parallel_calls = None;
            }
            ChatRequest { tools, tool_choice, options, delivery, ..conversation }
        },
    )
}

fn tools() -> impl Strategy<Value = Vec<ChatTool>> {
    let tool = ("[a-z]{1,5}", option::of("[ -~]{1,20}"));
    btree_map("[a-z][a-zA-Z0-9_-]{0,63}", tool, 0..3).prop_map(|tools| {
        let function = |(name, (property, description)): (String, (String, Option<String>))| {
            let schema = json!({"type": "object", "properties": {property: {"type": "string"}}});
            let parameters = Some(schema);
            let extra = Extra::none();
            ChatTool::Function(Function { name, description, parameters, extra })
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

fn options() -> impl Strategy<Value = GenerationOptions> {
    let number = option::of(prop_oneof![Just(0.1), Just(0.7), Just(1.0)])
        .prop_map(|number| number.and_then(Number::from_f64));
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let form = ResponseFormat::Schema { name: "form".to_owned(), schema, strict: Some(true) };
    let output = prop_oneof![Just(None), Just(Some(ResponseFormat::Json)), Just(Some(form))];
    let parallel = prop_oneof![
        Just(None),
        Just(Some(ParallelCalls::Allowed)),
        Just(Some(ParallelCalls::Forbidden))
    ];
    let effort = option::of(prop_oneof![Just("low".to_owned()), Just("high".to_owned())]);
    let max_output = option::of(1_u64..1_000_000);
    (max_output, number.clone(), number, output, parallel, effort).prop_map(
        |(max_output, temperature, top_p, output, parallel_calls, effort)| GenerationOptions {
            max_output,
            temperature,
            top_p,
            output,
            parallel_calls,
            effort,
            ..GenerationOptions::default()
        },
    )
}
