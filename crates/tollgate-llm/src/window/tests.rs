use proptest::prelude::*;
use serde_json::json;
use tollgate_core::agent::ToolSearch;
use tollgate_core::glob::Glob;

use super::{
    ContextTooLongError, DisclosedTools, ModelWindow, OfferCandidate, ToolPool, WindowCounts,
    WindowFit, WindowRequest, fit,
};
use crate::conversation::{
    ChatMessage, ChatRequest, ChatRole, ChatTool, Function, FunctionCall, GenerationOptions,
    MessagePart, PartContent, ResponseDelivery, ToolChoice,
};
use crate::dialect::Dialect;
use crate::error::{LlmError, LlmErrorKind};
use crate::extra::Extra;
use crate::tokens::CountPrecision;

pub(super) fn function(name: &str, description: &str) -> Function {
    Function {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        parameters: Some(json!({"type": "object", "properties": {"id": {"type": "string"}}})),
        extra: Extra::none(),
    }
}

pub(super) fn pool(names: &str, pinned: &[&str]) -> ToolPool {
    let candidates = names.split_whitespace().map(|name| OfferCandidate {
        function: function(name, "Does what its name says"),
        title: None,
    });
    let pinned: Vec<Glob> = pinned.iter().map(|glob| Glob::new(*glob)).collect();
    ToolPool::new(candidates, &pinned)
}

pub(super) fn request(said: &str) -> ChatRequest {
    ChatRequest {
        model: String::new(),
        messages: vec![
            ChatMessage::text(ChatRole::System, "Be brief."),
            ChatMessage::text(ChatRole::User, said),
        ]
        .into(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    }
}

fn room(name: &str, window: u64) -> ModelWindow<'_> {
    ModelWindow { name, window, max_output: 100, dialect: Dialect::OpenAiChat }
}

const POOL_NAMES: &str = "dice_roll mail_send memory_search weather_forecast web_search";

struct Case<'a> {
    request: ChatRequest,
    pool: ToolPool,
    max_tools: usize,
    search: ToolSearch,
    disclosed: DisclosedTools,
    models: Vec<ModelWindow<'a>>,
}

impl Case<'_> {
    fn new(said: &str, window: u64) -> Self {
        Self {
            request: request(said),
            pool: pool(POOL_NAMES, &[]),
            max_tools: 64,
            search: ToolSearch::Off,
            disclosed: DisclosedTools::default(),
            models: vec![room("only", window)],
        }
    }

    fn fit(&self) -> Result<WindowFit, ContextTooLongError> {
        let Self { request, pool, max_tools, search, disclosed, models } = self;
        let asked =
            WindowRequest { request, pool, max_tools: *max_tools, search: *search, disclosed };
        fit(&asked, models)
    }

    /// The names that are shown, then the number of the model.
    fn render(&self) -> String {
        match self.fit() {
            Ok(fit) => {
                let names = fit.tools(&self.pool).map(|function| function.name.as_str());
                format!("{} @{}", names.collect::<Vec<_>>().join(" "), fit.model)
            }
            Err(_) => "too long".to_owned(),
        }
    }
}

#[test]
fn all_that_fits_is_shown_by_name_and_nothing_is_counted() {
    let case = Case::new("Roll the dice", 10_000);
    assert_eq!(case.render(), format!("{POOL_NAMES} @0"));
    let fit = case.fit().unwrap();
    assert_eq!(fit.counts.precision, CountPrecision::Estimated);
    assert!(fit.pruned.is_empty());
}

#[test]
fn above_max_tools_the_least_relevant_go() {
    let case = |said, max_tools| Case { max_tools, ..Case::new(said, 10_000) };
    assert_eq!(case("Roll the dice", 1).render(), "dice_roll @0");
    assert_eq!(case("Search the web", 2).render(), "memory_search web_search @0");
    assert_eq!(case("Search the web", 1).render(), "web_search @0");
    assert_eq!(case("Hello", 2).render(), "dice_roll mail_send @0", "by name");
    assert_eq!(
        case("Search the web", 2).fit().unwrap().pruned,
        ["dice_roll", "mail_send", "weather_forecast"]
    );
}

/// Nothing that the tool is called is said.
#[test]
fn above_max_tools_a_tool_stays_that_is_meant_in_other_words() {
    let things = ["campaign", "customer", "invoice", "meeting", "photo", "recipe", "shipment"];
    let verbs = ["approve", "create", "delete", "get", "search", "share", "update"];
    let names = things.iter().flat_map(|thing| verbs.map(|verb| format!("{verb}_{thing}")));
    let names = names.chain([String::from("navigate_to")]).collect::<Vec<_>>().join(" ");
    let mut case = Case { max_tools: 5, ..Case::new("parcels on their way", 10_000) };
    case.pool = pool(&names, &[]);
    let shown = case.render();
    assert!(shown.split(' ').any(|name| name == "search_shipment"), "{shown}");
}

#[test]
fn what_is_pinned_named_or_used_stays() {
    let mut case = Case { max_tools: 2, ..Case::new("Search the web", 10_000) };
    case.pool = pool(POOL_NAMES, &["mail_*"]);
    assert_eq!(case.render(), "mail_send web_search @0");
    case.pool = pool(POOL_NAMES, &["mail_*", "weather_*", "dice_*"]);
    assert_eq!(case.render(), "dice_roll mail_send weather_forecast @0", "even if they are more");
    case.pool = pool(POOL_NAMES, &[]);
    case.request.tool_choice = ToolChoice::Named("dice_roll".to_owned());
    assert_eq!(case.render(), "dice_roll web_search @0");
    case.request.tool_choice = ToolChoice::Auto;
    let call = FunctionCall {
        id: "call_1".to_owned(),
        name: "weather_forecast".to_owned(),
        arguments: "{}".to_owned(),
    };
    let call =
        ChatMessage::new(ChatRole::Assistant, vec![MessagePart::new(PartContent::Call(call))]);
    case.request.messages.insert(1, call);
    assert_eq!(case.render(), "weather_forecast web_search @0");
}

/// B-CH-4: the client's tools are the client's, whatever ours are called.
#[test]
fn b_ch_04_the_clients_tools_are_never_left_out_and_hide_ours() {
    let mut case = Case::new("Search the web", 10_000);
    case.request.tools.push(ChatTool::Function(function("web_search", "The client's own")));
    assert_eq!(case.render(), "dice_roll mail_send memory_search weather_forecast @0");
    assert!(case.fit().unwrap().pruned.is_empty(), "hidden is not pruned");
    let with = case.fit().unwrap().counts.tools;
    case.request.tools.clear();
    case.pool = pool("dice_roll mail_send memory_search weather_forecast", &[]);
    assert!(with > case.fit().unwrap().counts.tools, "they count");
    let long = "x ".repeat(10_000);
    case.request.tools.push(ChatTool::Function(function("long", &long)));
    assert_eq!(case.render(), "too long");
}

#[test]
fn what_does_not_fit_goes_one_by_one() {
    let exact = Case::new("Roll the dice", 500).fit().unwrap().counts;
    assert_eq!(exact.precision, CountPrecision::Exact);
    let full = exact.input() + exact.reserved;
    assert_eq!(Case::new("Roll the dice", full).fit().unwrap().included.len(), 5);
    let case = Case::new("Roll the dice", full - 1);
    assert_eq!(case.render(), "dice_roll mail_send memory_search weather_forecast @0");
    assert_eq!(case.fit().unwrap().pruned, ["web_search"]);
    let case = Case::new("Search web", full - 100);
    assert!(case.render().ends_with("memory_search web_search @0"), "{}", case.render());
    let counts = case.fit().unwrap().counts;
    assert_eq!(counts.missing(), 0);
    let bare = exact.system + exact.messages + exact.reserved;
    assert_eq!(Case::new("Roll the dice", bare).render(), " @0", "without any tool");
    assert_eq!(Case::new("Roll the dice", bare - 1).render(), "too long");
}

#[test]
fn a_larger_model_is_taken_only_if_no_tool_can_go() {
    let models = || vec![room("small", 300), room("smaller", 200), room("large", 50_000)];
    let mut case = Case { models: models(), ..Case::new(&"word ".repeat(100), 0) };
    assert!(case.render().ends_with("@0"));
    case.request = request(&"word ".repeat(1_000));
    assert_eq!(case.render(), format!("{POOL_NAMES} @2"));
    case.request = request(&"word ".repeat(100));
    case.pool = pool(POOL_NAMES, &["*"]);
    assert_eq!(case.render(), format!("{POOL_NAMES} @2"), "pinned tools cannot go");
    case.models.truncate(2);
    assert_eq!(case.fit().unwrap_err().tried.len(), 1, "the second is no larger");
    case.models.clear();
    assert_eq!(case.fit().unwrap_err().to_string(), "there is no model to ask");
}

#[test]
fn a_vocabulary_that_nobody_knows_gets_a_margin_but_is_no_reason_to_refuse() {
    let claude = |name, window| ModelWindow { dialect: Dialect::Anthropic, ..room(name, window) };
    let mut case = Case::new(&"word ".repeat(500), 0);
    case.models = vec![room("openai", 700)];
    assert!(case.fit().unwrap().pruned.len() < 5);
    case.models = vec![claude("claude", 700)];
    let fit = case.fit().unwrap();
    assert_eq!((fit.pruned.len(), fit.counts.margin), (5, 0), "the provider has the last word");
    case.models = vec![claude("claude", 700), claude("large", 1_400)];
    let fit = case.fit().unwrap();
    assert_eq!(fit.model, 1);
    assert_eq!(fit.counts.margin, fit.counts.input() * 2 / 5);
    case.models = vec![claude("claude", 500)];
    let refused = case.fit().unwrap_err();
    assert_eq!(refused.tried[0].1.margin, 0, "the numbers are those that were counted");
}

#[test]
fn the_answer_has_its_room_and_never_more_than_the_model_gives() {
    let reserved = |max_output| {
        let mut case = Case::new("Roll the dice", 10_000);
        case.request.options.max_output = max_output;
        case.fit().unwrap().counts.reserved
    };
    assert_eq!(reserved(None), 100);
    assert_eq!(reserved(Some(20)), 20);
    assert_eq!(reserved(Some(u64::MAX)), 100);
}

#[test]
fn a_refusal_has_the_numbers_and_says_what_helps() {
    let check = |tried: &[(&str, [u64; 5])], expected: &str| {
        let tried = tried.iter().map(|(name, [window, tools, system, messages, reserved])| {
            let window = *window;
            let tools = *tools;
            let system = *system;
            let messages = *messages;
            let reserved = *reserved;
            let precision = CountPrecision::Exact;
            let counts =
                WindowCounts { window, tools, system, messages, reserved, margin: 0, precision };
            ((*name).to_owned(), counts)
        });
        let failure = LlmError::from(ContextTooLongError { tried: tried.collect() });
        assert_eq!(failure.kind, LlmErrorKind::TooLong);
        assert_eq!(failure.message, expected);
    };
    check(
        &[("small", [8192, 100, 200, 9000, 1024]), ("large", [9000, 100, 200, 9000, 2048])],
        "the request is too long: the context window of `small` has 8192 tokens; tools need 100, \
         the system prompt 200, messages 9000 and the answer 1024: 2132 too many; the context \
         window of `large` has 9000 tokens; tools need 100, the system prompt 200, messages 9000 \
         and the answer 2048: 2348 too many; shorten the conversation, or use a model with a \
         larger context window",
    );
    for (counts, expected) in [
        ([100, 90, 10, 10, 10], "send or pin fewer tools, or"),
        ([100, 10, 90, 10, 10], "shorten the system prompt, or"),
        ([100, 10, 10, 10, 90], "request fewer output tokens, or"),
    ] {
        let [window, tools, system, messages, reserved] = counts;
        let precision = CountPrecision::Exact;
        let counts =
            WindowCounts { window, tools, system, messages, reserved, margin: 0, precision };
        let said = ContextTooLongError { tried: vec![("small".to_owned(), counts)] }.to_string();
        assert!(said.contains("20 too many") && said.contains(expected), "{said}");
    }
}

#[test]
fn a_search_takes_the_place_of_what_is_not_shown() {
    let case = |search, max_tools| Case {
        search,
        max_tools,
        pool: pool(POOL_NAMES, &["dice_roll"]),
        ..Case::new("Search the web", 10_000)
    };
    assert_eq!(case(ToolSearch::Auto, 64).render(), format!("{POOL_NAMES} @0"), "all of them fit");
    assert_eq!(case(ToolSearch::Auto, 4).render(), "dice_roll searchTools @0");
    assert_eq!(case(ToolSearch::Always, 64).render(), "dice_roll searchTools @0");
    assert!(case(ToolSearch::Always, 64).fit().unwrap().pruned.is_empty());
    let mut narrow = case(ToolSearch::Auto, 64);
    narrow.models = vec![room("narrow", 320)];
    assert_eq!(narrow.render(), "dice_roll searchTools @0");
    let mut pinned = case(ToolSearch::Always, 64);
    pinned.pool = pool(POOL_NAMES, &["*"]);
    assert_eq!(pinned.render(), format!("{POOL_NAMES} @0"), "there is nothing to be found");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the sizes: what is sent fits, pinned tools stay, and nothing is both kept and pruned.
    #[test]
    fn what_is_said_to_fit_does(
        sizes in proptest::collection::vec(0_usize..60, 0..12),
        pinned in proptest::collection::vec(any::<bool>(), 12),
        (said, window, max_tools) in (0_usize..400, 1_u64..2_000, 0_usize..14),
        search in prop_oneof![
            Just(ToolSearch::Off), Just(ToolSearch::Auto), Just(ToolSearch::Always)
        ],
    ) {
        let name = |at: usize| format!("tool{at:02}");
        let pins: Vec<Glob> = pinned.iter().enumerate().filter(|(_, is)| **is)
            .map(|(at, _)| Glob::new(name(at))).collect();
        let candidates = sizes.iter().enumerate().map(|(at, size)| OfferCandidate {
            function: function(&name(at), &"word ".repeat(*size)),
            title: None,
        });
        let case = Case {
            pool: ToolPool::new(candidates, &pins),
            max_tools,
            search,
            models: vec![room("small", window), room("large", window * 2)],
            ..Case::new(&"word ".repeat(said), 0)
        };
        let must = (0..sizes.len()).filter(|at| pinned[*at]).count();
        match case.fit() {
            Ok(fit) => {
                prop_assert_eq!(fit.counts.missing(), 0);
                prop_assert!(fit.included.is_sorted());
                prop_assert!(fit.included.len() <= max_tools.max(must));
                prop_assert!((0..sizes.len()).all(|at| !pinned[at] || fit.included.contains(&at)));
                let names: Vec<String> = fit.included.iter().map(|at| name(*at)).collect();
                prop_assert!(fit.pruned.iter().all(|name| !names.contains(name)));
                if search == ToolSearch::Off {
                    prop_assert_eq!(fit.included.len() + fit.pruned.len(), sizes.len());
                }
                prop_assert_eq!(case.fit().unwrap(), fit, "the same again");
            }
            Err(refused) => {
                prop_assert!(refused.tried.iter().all(|(_, counts)| counts.missing() > 0));
                prop_assert_eq!(refused.tried.len(), 2);
            }
        }
    }
}
