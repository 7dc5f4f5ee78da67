use tollgate_core::relevance::{Index, Subject};

use super::query;
use crate::conversation::{Delivery, Message, Options, Request, Role, ToolChoice};
use crate::extra::Extra;

const TOOLS: &[(&str, &str)] = &[
    ("calendar_create_event", "Adds an appointment to the calendar"),
    ("dice_roll", "Rolls dice, such as 2d6+3"),
    ("weather_forecast", "Weather of the next days in a city"),
    ("web_search", "Searches the web for pages"),
];

#[test]
fn earlier_messages_have_a_say_but_a_small_one() {
    let subjects = TOOLS.iter().map(|(name, description)| Subject {
        name,
        title: None,
        description: Some(description),
        parameters: None,
    });
    let index = Index::new(subjects);
    let check = |said: &[(Role, &str)], expected: &str| {
        let request = Request {
            model: String::new(),
            messages: said.iter().map(|(role, text)| Message::text(*role, *text)).collect(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Unsaid,
            options: Options::default(),
            delivery: Delivery::Whole,
            extra: Extra::none(),
        };
        assert_eq!(TOOLS[index.order(&query(&request))[0]].0, expected, "{said:?}");
    };
    check(
        &[
            (Role::User, "How is the weather?"),
            (Role::Assistant, "Where?"),
            (Role::User, "In Bern."),
        ],
        "weather_forecast",
    );
    check(
        &[(Role::User, "How is the weather in this city?"), (Role::User, "Roll the dice.")],
        "dice_roll",
    );
    check(&[(Role::System, "You know the weather."), (Role::User, "Roll the dice.")], "dice_roll");
}
