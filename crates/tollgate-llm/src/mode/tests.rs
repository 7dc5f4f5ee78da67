use super::prepare;
use crate::conversation::{
    Delivery, Message, Options, Part, Request, Response, Role, Stop, ToolChoice, Usage,
};
use crate::extra::Extra;
use crate::settings::ToolMode;

#[test]
fn without_tools_every_mode_leaves_request_and_answer_alone() {
    let request = Request {
        model: "m".to_owned(),
        messages: vec![Message::text(Role::User, "Hello")],
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: Options::default(),
        delivery: Delivery::Whole,
        extra: Extra::none(),
    };
    let response = Response {
        id: "a1".to_owned(),
        model: "m".to_owned(),
        created: 7,
        parts: vec![Part::text(r#"{"name": "roll", "arguments": {}}"#)],
        stop: Stop::End,
        usage: Usage::default(),
        extra: Extra::none(),
    };
    for mode in [ToolMode::Native, ToolMode::Schema, ToolMode::Auto] {
        let (same, reading) = prepare(request.clone(), mode);
        assert_eq!(same, request, "{mode:?}");
        assert_eq!(reading.whole(response.clone()), response, "{mode:?}");
    }
}
