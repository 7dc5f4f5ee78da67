//! Bugs that other gateways had in the same conversions, and the tests that hold them off here.
//!
//! [`BUGS`] is the list; a test checks that every test in it exists. What no other test covers is
//! in this file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{answer, conversation, counting};
use crate::conversation::{
    ChatMessage, ChatRequest, ChatRole, FunctionCall, MessagePart, PartContent, StopReason,
};
use crate::delta;
use crate::dialect::Dialect;
use crate::format::{RequestUrlParams, of, test_fixtures};

/// A bug of another gateway.
struct KnownBug {
    what: &'static str,
    reported: &'static str,
    /// Tests, here or in `interop`.
    tests: &'static [&'static str],
}

const fn bug(
    what: &'static str,
    reported: &'static str,
    tests: &'static [&'static str],
) -> KnownBug {
    KnownBug { what, reported, tests }
}

const BUGS: [KnownBug; 35] = [
    bug(
        "Gemini's signature is lost in streams",
        "litellm#16893",
        &["a_late_signature_is_kept_and_its_empty_text_is_not"],
    ),
    bug(
        "a signature within a tool id breaks the next provider",
        "litellm#18160",
        &[
            "ids_of_other_dialects_are_written_in_letters_that_anthropic_takes",
            "long_ids_are_shortened_for_openai",
        ],
    ),
    bug(
        "the gateway drops the signature of a call",
        "vercel/ai#14840",
        &["test_a_client_that_sends_reasoning_back_keeps_it"],
    ),
    bug(
        "a turn that ended with UNEXPECTED_TOOL_CALL comes back unsigned",
        "vercel/ai#10721",
        &["an_unexpected_call_comes_back_excused"],
    ),
    bug(
        "Claude's thinking is missing in tool turns of Chat Completions",
        "litellm#15601",
        &[
            "a_turn_that_another_model_began_goes_on_without_thinking",
            "test_a_client_that_sends_reasoning_back_keeps_it",
        ],
    ),
    bug("redacted thinking is dropped", "litellm#9058", &["test_a_model_gets_back_what_it_said"]),
    bug(
        "interleaved thinking is moved to the front, or doubled",
        "litellm#13834",
        &["an_answer_that_is_sent_back_has_its_reasoning_where_it_was"],
    ),
    bug(
        "`reasoning_details` of a request are ignored",
        "bifrost#5274",
        &["details_of_others_go_to_providers_of_this_dialect"],
    ),
    bug(
        "a reasoning item has no follower, or a call no reasoning",
        "vercel/ai#7099",
        &["only_sealed_reasoning_that_an_output_follows_is_sent"],
    ),
    bug(
        "ids of items are sent that nobody stored",
        "vercel/ai#7543",
        &["test_what_the_gateway_keeps_is_not_stored_elsewhere"],
    ),
    bug(
        "`previous_response_id` after a response that was not stored",
        "bifrost#2441",
        &[
            "what_needs_a_stored_response_is_refused_without_one",
            "test_any_model_continues_what_the_gateway_keeps",
        ],
    ),
    bug(
        "a stream closes a message that it never opened",
        "litellm#37852",
        &["a_stream_of_a_call_alone_has_no_message"],
    ),
    bug(
        "arguments that come only at the end are lost",
        "litellm#27144",
        &["servers_may_leave_out_the_pieces_or_all_but_the_end"],
    ),
    bug(
        "the first piece of a call has no id, name or index",
        "litellm#15884",
        &["b_ch_13_pieces_of_calls_find_their_call"],
    ),
    bug(
        "parallel calls of Gemini have the same index",
        "litellm#16194",
        &["parallel_calls_of_gemini_are_told_apart"],
    ),
    bug(
        "parallel calls of Responses lose their results at Gemini",
        "litellm#22578",
        &["test_all_at_once_passes_between_every_two_apis"],
    ),
    bug(
        "arguments are lost from Gemini to a stream of Anthropic",
        "litellm#25836",
        &["any_answer_comes_back_through_every_pair"],
    ),
    bug(
        "an empty text block before the thinking",
        "litellm#34433",
        &["test_a_stream_has_no_empty_block"],
    ),
    bug(
        "blocks overlap, or a call without arguments has no end",
        "bifrost#3441",
        &["parts_that_overlap_are_written_one_after_the_other"],
    ),
    bug(
        "STOP with calls, MAX_TOKENS as a good end",
        "litellm#21041",
        &[
            "every_reason_to_stop_has_its_neutral_word",
            "test_why_it_ended_has_a_word_in_every_dialect",
        ],
    ),
    bug(
        "results of one turn are not in one message",
        "litellm#16525",
        &[
            "messages_of_one_role_become_one_and_results_come_first_in_the_order_of_calls",
            "results_come_first_in_the_order_of_calls",
        ],
    ),
    bug(
        "texts or server tools behind a call",
        "litellm#22946",
        &["calls_end_the_turn_of_a_claude", "tools_of_the_provider_stand_before_calls"],
    ),
    bug(
        "pictures of results are dropped, or become text",
        "litellm#6953",
        &[
            "pictures_of_results_stay_in_their_results",
            "results_come_first_and_their_pictures_behind_them",
        ],
    ),
    bug(
        "addresses of pictures are fetched, `gs://` is dropped",
        "litellm#12899",
        &["addresses_of_pictures_stay_addresses"],
    ),
    bug(
        "keywords and `strict` that Gemini refuses",
        "litellm#14330",
        &["gemini_gets_bare_references", "strict_is_not_sent_to_gemini"],
    ),
    bug(
        "schemas of OpenAI that Anthropic refuses",
        "bifrost#3512",
        &[
            "alternatives_at_the_top_of_a_tool_become_words_for_claude",
            "strict_tools_stay_strict_where_a_provider_has_them",
        ],
    ),
    bug(
        "`allowed_tools` and `parallel_tool_calls` are lost",
        "bifrost#7348",
        &[
            "a_choice_among_some_tools_reaches_every_provider",
            "tools_and_choices_are_written_as_anthropic_takes_them",
        ],
    ),
    bug(
        "a forced choice goes to models that refuse it",
        "vercel/ai#21364",
        &["a_forced_choice_becomes_an_instruction_where_it_is_refused"],
    ),
    bug(
        "cached tokens are counted twice",
        "langchainjs#10249",
        &[
            "counts_include_what_went_through_the_cache",
            "test_later_rounds_of_an_agent_come_from_the_cache",
        ],
    ),
    bug(
        "usage is lost from Messages to a stream of OpenAI",
        "litellm#34953",
        &["test_an_agent_gives_equivalent_answers"],
    ),
    bug(
        "truncation is not told",
        "bifrost#4679",
        &["stops_become_statuses", "test_why_it_ended_has_a_word_in_every_dialect"],
    ),
    bug(
        "results of server tools are lost in Responses",
        "bifrost#4780",
        &["they_survive_in_an_answer", "they_survive_in_a_stream", "they_survive_in_the_history"],
    ),
    bug(
        "the order of tools changes, and nothing comes from the cache",
        "bifrost#2347",
        &["test_later_rounds_of_an_agent_come_from_the_cache"],
    ),
    bug(
        "empty texts go to Claude",
        "anthropics/anthropic-sdk-python#461",
        &["blank_texts_are_not_sent_to_claude", "an_empty_text_is_no_block"],
    ),
    bug(
        "effort beside tools in Chat Completions",
        "danny-avila/LibreChat#14231",
        &["effort_beside_tools_is_left_out_on_chat"],
    ),
];

/// Names of all tests below a folder.
fn tests_below(folder: &Path, found: &mut HashSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_source =
            name.ends_with(".rs") || (name.starts_with("test_") && name.ends_with(".py"));
        if path.is_dir() && !name.starts_with('.') && name != "node_modules" {
            tests_below(&path, found);
        } else if is_source {
            let text = std::fs::read_to_string(&path).unwrap();
            let named = text.lines().filter_map(|line| {
                let line = line.trim_start().trim_start_matches("async ");
                line.strip_prefix("fn ").or(line.strip_prefix("def "))?.split_once('(')
            });
            found.extend(named.map(|(name, _)| name.to_owned()));
        }
    }
}

#[test]
fn every_known_bug_has_its_test() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut found = HashSet::new();
    tests_below(&here.join("src"), &mut found);
    tests_below(&here.join("../../interop"), &mut found);
    for KnownBug { what, reported, tests } in &BUGS {
        assert!(!tests.is_empty());
        for test in *tests {
            assert!(found.contains(*test), "{what} ({reported}): there is no test `{test}`");
        }
    }
}

fn read(dialect: Dialect, body: Value) -> ChatRequest {
    let address = RequestUrlParams { model: Some("m"), delivery: None };
    of(dialect).read_request(body, &address).unwrap()
}

fn write(dialect: Dialect, model: &str, request: &ChatRequest) -> Value {
    let request = ChatRequest { model: model.to_owned(), ..request.clone() };
    of(dialect).write_request(&request).unwrap().body
}

fn call(id: &str, arguments: &str) -> MessagePart {
    MessagePart::new(PartContent::Call(FunctionCall {
        id: id.to_owned(),
        name: "roll_dice".to_owned(),
        arguments: arguments.to_owned(),
    }))
}

#[test]
fn an_unexpected_call_comes_back_excused() {
    let body = json!({"candidates": [{"finishReason": "UNEXPECTED_TOOL_CALL",
        "content": {"role": "model", "parts": [{"functionCall": {"name": "gone", "args": {}}}]}}]});
    let said = of(Dialect::Gemini).read_response(body).unwrap();
    assert_eq!(said.calls().count(), 1);
    let id = said.calls().next().unwrap().id.clone();
    let result = json!({"role": "tool", "tool_call_id": id, "content": "There is no such tool."});
    let mut request = read(
        Dialect::OpenAiChat,
        json!({"model": "m", "messages": [{"role": "user", "content": "Roll."},
            {"role": "assistant", "tool_calls": [{"id": id, "type": "function",
                "function": {"name": "gone", "arguments": "{}"}}]}, result]}),
    );
    let unsigned = write(Dialect::Gemini, "gemini-3.8-flash", &request);
    let signature = &unsigned["contents"][1]["parts"][0]["thoughtSignature"];
    assert_eq!(signature, "skip_thought_signature_validator");
    // The same where the gateway kept the answer itself.
    let mut messages = request.messages[..1].to_vec();
    messages.push(said.into_message().into());
    messages.push(request.messages[2].clone());
    request.messages = messages.as_slice().into();
    let kept = write(Dialect::Gemini, "gemini-3.8-flash", &request);
    assert_eq!(&kept["contents"][1]["parts"][0]["thoughtSignature"], signature);
}

#[test]
fn a_stream_of_a_call_alone_has_no_message() {
    let mut answer = answer(StopReason::Calls);
    answer.parts = vec![call("call_1", "{}")];
    let frames = test_fixtures::frames(of(Dialect::OpenAiResponses), &delta::steps(&answer));
    let kinds: Vec<&str> = frames.iter().filter_map(|frame| frame.name).collect();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds, expected);
    let frames = test_fixtures::frames(of(Dialect::Anthropic), &delta::steps(&answer));
    let begun = frames.iter().filter(|frame| frame.name == Some("content_block_start"));
    assert_eq!(begun.count(), 1);
}

#[test]
fn parallel_calls_of_gemini_are_told_apart() {
    let chunk = |total: u32| {
        let part = json!({"functionCall": {"name": "roll_dice", "args": {"total": total}}});
        let parts = if total == 1 { json!([part, part]) } else { json!([part]) };
        let body = json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
        (None, body.to_string())
    };
    let end = json!({"candidates": [{"content": {"role": "model", "parts": []},
        "finishReason": "STOP"}]});
    let events = [chunk(1), chunk(2), (None, end.to_string())];
    let steps = test_fixtures::steps(of(Dialect::Gemini), &events).unwrap();
    let request = counting(conversation());
    for front in [Dialect::OpenAiChat, Dialect::OpenAiResponses, Dialect::Anthropic] {
        let frames = test_fixtures::frames_for(of(front), &request, &steps);
        let frames = test_fixtures::to_events(&frames);
        let said = test_fixtures::whole(&test_fixtures::steps(of(front), &frames).unwrap());
        let ids: HashSet<&str> = said.calls().map(|call| call.id.as_str()).collect();
        let arguments: Vec<&str> = said.calls().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, [r#"{"total":1}"#, r#"{"total":1}"#, r#"{"total":2}"#], "{front}");
        assert_eq!(ids.len(), 3, "{front}: {ids:?}");
        assert_eq!(said.stop, StopReason::Calls, "{front}");
    }
}

#[test]
fn tools_of_the_provider_stand_before_calls() {
    let used =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let found =
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let asked = json!({"type": "tool_use", "id": "toolu_1", "name": "roll", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "7"});
    let request = read(
        Dialect::Anthropic,
        json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [asked, used, found]},
            {"role": "user", "content": [result]}]}),
    );
    let body = write(Dialect::Anthropic, "claude-opus-4-8", &request);
    let blocks = body["messages"][1]["content"].as_array().unwrap().iter();
    let kinds: Vec<&Value> = blocks.map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["server_tool_use", "web_search_tool_result", "tool_use"]);
}

#[test]
fn addresses_of_pictures_stay_addresses() {
    let url = "https://example.com/a.png";
    let picture = json!({"type": "image_url", "image_url": {"url": url}});
    let request = read(
        Dialect::OpenAiChat,
        json!({"model": "m", "messages": [{"role": "user", "content": [picture]}]}),
    );
    let anthropic = write(Dialect::Anthropic, "claude-opus-4-8", &request);
    let source = &anthropic["messages"][0]["content"][0]["source"];
    assert_eq!(source, &json!({"type": "url", "url": url}));
    let responses = write(Dialect::OpenAiResponses, "gpt-6.1-sol", &request);
    assert_eq!(responses["input"][0]["content"][0]["image_url"], url);
    let gemini = write(Dialect::Gemini, "gemini-3.8-flash", &request);
    assert_eq!(gemini["contents"][0]["parts"][0]["fileData"]["fileUri"], url);
    let bucket = json!({"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/a.png"}});
    let stored = json!({"contents": [{"role": "user", "parts": [bucket]}]});
    let again = write(Dialect::Gemini, "gemini-3.8-flash", &read(Dialect::Gemini, stored));
    assert_eq!(again["contents"][0]["parts"][0], bucket);
}

#[test]
fn strict_is_not_sent_to_gemini() {
    let mut request = conversation();
    request.messages = vec![ChatMessage::text(ChatRole::User, "Roll.")].into();
    let chat = of(Dialect::OpenAiChat).write_request(&request).unwrap().body;
    let mut chat = chat;
    chat["tools"][0]["function"]["strict"] = true.into();
    let body = write(Dialect::Gemini, "gemini-3.8-flash", &read(Dialect::OpenAiChat, chat));
    assert!(!body.to_string().contains("strict"), "{body}");
}
