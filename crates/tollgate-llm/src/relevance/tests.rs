use tollgate_core::relevance::{RelevanceDocument, RelevanceIndex};

use super::query;
use crate::conversation::{
    ChatMessage, ChatRequest, ChatRole, GenerationOptions, ResponseDelivery, ToolChoice,
};
use crate::extra::Extra;

const TOOLS: &[(&str, &str)] = &[
    ("calendar_create_event", "Adds an appointment to the calendar"),
    ("dice_roll", "Rolls dice, such as 2d6+3"),
    ("weather_forecast", "Weather of the next days in a city"),
    ("web_search", "Searches the web for pages"),
];

#[test]
fn earlier_messages_have_a_say_but_a_small_one() {
    let subjects = TOOLS.iter().map(|(name, description)| RelevanceDocument {
        name,
        title: None,
        description: Some(description),
        parameters: None,
    });
    let index = RelevanceIndex::new(subjects);
    let check = |lines: &[(ChatRole, &str)], expected: &str| {
        let request = ChatRequest {
            model: String::new(),
            messages: lines.iter().map(|(role, text)| ChatMessage::text(*role, *text)).collect(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Unsaid,
            options: GenerationOptions::default(),
            delivery: ResponseDelivery::Whole,
            extra: Extra::none(),
        };
        assert_eq!(TOOLS[index.order(&query(&request))[0]].0, expected, "{lines:?}");
    };
    check(
        &[
            (ChatRole::User, "How is the weather?"),
            (ChatRole::Assistant, "Where?"),
            (ChatRole::User, "In Bern."),
        ],
        "weather_forecast",
    );
    check(
        &[(ChatRole::User, "How is the weather in this city?"), (ChatRole::User, "Roll the dice.")],
        "dice_roll",
    );
    check(
        &[(ChatRole::System, "You know the weather."), (ChatRole::User, "Roll the dice.")],
        "dice_roll",
    );
}
