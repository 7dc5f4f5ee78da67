//! `tollgate-bench tokens`: what a large catalogue costs a model's window, shown inline, pruned, and
//! behind a search; and what it costs to decide. The catalogue is made up, and the same every time.

use std::fmt::Write;
use std::time::Duration;

use tollgate_core::agent::ToolSearch;
use tollgate_core::glob::Glob;
use tollgate_llm::conversation::{
    ChatMessage, ChatRequest, ChatRole, GenerationOptions, ResponseDelivery, ToolChoice,
};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::extra::Extra;
use tollgate_llm::tokens::CountPrecision;
use tollgate_llm::window::search::search;
use tollgate_llm::window::{
    ContextTooLongError, DisclosedTools, ModelWindow, ToolPool, WindowFit, WindowRequest, fit,
};

use crate::clock;

mod catalogue;

use catalogue::catalogue;

/// As in the public records of catalogues of this size.
const TOOLS: usize = 508;
const MAX_SHOWN_TOOLS: usize = 64;
const PINNED_TOOLS: &[&str] = &["calendar_list_event", "files_read_document"];
const USER_QUESTION: &str = "Which invoices of our customers are overdue?";

/// One way to give a model its tools.
pub(crate) struct TokenCost {
    what: &'static str,
    shown: usize,
    tokens: u64,
    /// The second time: words and counts are kept.
    took: Duration,
}

/// All ways, the dearest first.
pub(crate) fn ways() -> Result<Vec<TokenCost>, ContextTooLongError> {
    let pinned: Vec<Glob> = PINNED_TOOLS.iter().map(|name| Glob::new(*name)).collect();
    let pool = ToolPool::new(catalogue(TOOLS), &pinned);
    let request = request(USER_QUESTION);
    let none = DisclosedTools::default();
    let window_request = WindowRequest {
        request: &request,
        pool: &pool,
        max_tools: TOOLS,
        search: ToolSearch::Off,
        disclosed: &none,
    };
    let pruned = WindowRequest { max_tools: MAX_SHOWN_TOOLS, ..window_request };
    let searching = WindowRequest { search: ToolSearch::Auto, ..pruned };
    let mut disclosed = DisclosedTools::default();
    if let Ok(found) = search(&searching, r#"{"query": "list overdue invoices"}"#) {
        disclosed.add(&found);
    }
    let found = WindowRequest { disclosed: &disclosed, ..searching };
    [
        ("all inline", window_request),
        ("pruned to 64", pruned),
        ("tool search", searching),
        ("tool search, 5 found", found),
    ]
    .map(|(what, window_request)| way(what, &window_request))
    .into_iter()
    .collect()
}

fn way(what: &'static str, request: &WindowRequest<'_>) -> Result<TokenCost, ContextTooLongError> {
    let first = fit_into(request)?;
    let began = clock::now();
    let again = fit_into(request)?;
    let took = clock::now() - began;
    debug_assert_eq!(first, again, "the same question has the same answer");
    let shown = again.tools(request.pool).count();
    let own = again.included.iter().map(|place| request.pool.tokens(*place, CountPrecision::Exact));
    let search = again.search.iter();
    let search = search.map(|tool| tollgate_llm::tokens::function(tool, CountPrecision::Exact));
    let around = tollgate_llm::tokens::around_tools(shown, Dialect::OpenAiChat);
    Ok(TokenCost { what, shown, tokens: own.chain(search).sum::<u64>() + around, took })
}

/// With room for all of it: what is counted is the tools, not what fits.
fn fit_into(request: &WindowRequest<'_>) -> Result<WindowFit, ContextTooLongError> {
    let window = 1_000_000;
    let max_output = 4_096;
    fit(request, &[ModelWindow { name: "large", window, max_output, dialect: Dialect::OpenAiChat }])
}

fn request(message: &str) -> ChatRequest {
    ChatRequest {
        model: String::new(),
        messages: vec![ChatMessage::text(ChatRole::User, message)].into(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    }
}

pub(crate) fn render(ways: &[TokenCost]) -> String {
    let whole = ways.first().map_or(1, |way| way.tokens);
    let mut text = format!(
        "a catalogue of {TOOLS} tools, in tokens of o200k_base\n\
         way                    shown    tokens   of inline   to decide\n"
    );
    for TokenCost { what, shown, tokens, took } in ways {
        let share = *tokens as f64 * 100.0 / whole as f64;
        let took = clock::micros(*took);
        writeln!(text, "{what:<22} {shown:>5} {tokens:>9} {share:>9.1} % {took:>8.0} µs")
            .expect("a string takes all");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tollgate_llm::tokens::{self, CountPrecision};

    use super::catalogue::catalogue;
    use super::{MAX_SHOWN_TOOLS, TOOLS, ways};

    #[test]
    fn the_catalogue_is_like_those_that_people_have() {
        let tools = catalogue(TOOLS);
        let names: HashSet<&str> = tools.iter().map(|tool| tool.function.name.as_str()).collect();
        assert_eq!(names.len(), TOOLS);
        for tool in &tools {
            let tokens = tokens::function(&tool.function, CountPrecision::Exact);
            assert!((400..=540).contains(&tokens), "{}: {tokens}", tool.function.name);
        }
    }

    #[test]
    fn pruning_and_searching_cost_a_fraction_of_the_catalogue() {
        let ways = ways().expect("there is room");
        let [inline, pruned, searching, found] = ways.as_slice() else { panic!("four ways") };
        assert_eq!((inline.shown, pruned.shown), (TOOLS, MAX_SHOWN_TOOLS));
        assert!((200_000..280_000).contains(&inline.tokens), "{}", inline.tokens);
        assert!(pruned.tokens * 7 < inline.tokens, "{}", pruned.tokens);
        assert_eq!((searching.shown, found.shown), (3, 8));
        assert!(searching.tokens * 100 < inline.tokens, "{}", searching.tokens);
        assert!(found.tokens * 50 < inline.tokens, "{}", found.tokens);
    }
}
