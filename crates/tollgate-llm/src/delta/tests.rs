use super::{ResponseAssembly, steps};
use crate::conversation::{
    ChatResponse, FunctionCall, MessagePart, PartContent, StopReason, ThoughtSignature, TokenUsage,
};
use crate::dialect::Dialect;
use crate::extra::Extra;

#[test]
fn an_answer_taken_apart_and_put_together_is_the_same() {
    let call =
        FunctionCall { id: "c1".into(), name: "roll".into(), arguments: "{\"e\":\"2d6\"}".into() };
    let signature = Some(ThoughtSignature::new(Dialect::Anthropic, "sig"));
    let thought = PartContent::Thinking { text: "hm".into(), signature };
    let parts = vec![
        MessagePart::new(thought),
        MessagePart::text("well"),
        MessagePart::text(""),
        MessagePart::new(PartContent::Refusal("no".into())),
        MessagePart::new(PartContent::Call(call)),
    ];
    let usage = TokenUsage { input: 7, output: 3, ..TokenUsage::default() };
    let extra = Extra::none();
    let id = "r1".into();
    let model = "m".into();
    let whole =
        ChatResponse { id, model, created: 5, parts, stop: StopReason::Calls, usage, extra };
    let mut assembly = ResponseAssembly::default();
    for step in steps(&whole) {
        assembly.add(&step);
    }
    assert_eq!(assembly.finish(), Some(whole));
}

#[test]
fn an_answer_without_an_end_is_none() {
    let mut assembly = ResponseAssembly::default();
    assembly.add(&super::ResponseDelta::Close { index: 3 });
    assert_eq!(assembly.finish(), None);
}
