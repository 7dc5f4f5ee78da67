use super::{Assembly, steps};
use crate::conversation::{Call, Content, Part, Response, Signature, Stop, Usage};
use crate::dialect::Dialect;
use crate::extra::Extra;

#[test]
fn an_answer_taken_apart_and_put_together_is_the_same() {
    let call = Call { id: "c1".into(), name: "roll".into(), arguments: "{\"e\":\"2d6\"}".into() };
    let signature = Some(Signature { maker: Dialect::Anthropic, text: "sig".into() });
    let thought = Content::Thinking { text: "hm".into(), signature };
    let parts = vec![
        Part::new(thought),
        Part::text("well"),
        Part::text(""),
        Part::new(Content::Refusal("no".into())),
        Part::new(Content::Call(call)),
    ];
    let usage = Usage { input: 7, output: 3, ..Usage::default() };
    let extra = Extra::none();
    let (id, model) = ("r1".into(), "m".into());
    let whole = Response { id, model, created: 5, parts, stop: Stop::Calls, usage, extra };
    let mut assembly = Assembly::default();
    for step in steps(&whole) {
        assembly.add(&step);
    }
    assert_eq!(assembly.finish(), Some(whole));
}

#[test]
fn an_answer_without_an_end_is_none() {
    let mut assembly = Assembly::default();
    assembly.add(&super::Delta::Close { index: 3 });
    assert_eq!(assembly.finish(), None);
}
