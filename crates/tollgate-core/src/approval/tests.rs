//! Who has to agree to what, and that no verdict counts for another call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::admission::admit;
use crate::admission::tests::{permitted, tool, turn};
use crate::agent::Agent;
use crate::call::RequestKind;
use crate::catalog::ServerRules;
use crate::glob::Glob;
use crate::id::{ServerId, ToolName};
use crate::rate::TokenBucket;
use crate::tool::ToolOverride;
use crate::turn::{Taint, TaintLinks};

#[expect(clippy::disallowed_methods, reason = "any moment will do")]
fn held(turn: &Turn, by: Decider, random: u128) -> Clearance<'static> {
    let now = Instant::now() + Duration::ZERO;
    let bucket = |_: &crate::admission::RateLimitKey| Arc::new(TokenBucket::new(now));
    let admitted =
        admit(turn, by, permitted(turn, RequestKind::CallTool, "s_t"), bucket, now).unwrap();
    clear(turn, by, admitted, now, || random)
}

/// What the operator and the server say of the tool.
struct ToolDeclaration {
    approval: ApprovalMode,
    hints: Value,
    trusted: bool,
}

fn declare(approval: ApprovalMode, hints: Value) -> ToolDeclaration {
    ToolDeclaration { approval, hints, trusted: true }
}

fn turn_of(auto_execute: &[&str], declared: &ToolDeclaration) -> Turn {
    let globs = auto_execute.iter().map(|it| Glob::new(*it)).collect();
    let agent = Agent { auto_execute: globs, ..Agent::implicit() };
    let mut t = tool("t");
    t["annotations"] = declared.hints.clone();
    turn(&agent, &[t], |rules: &mut ServerRules| {
        rules.trusted = declared.trusted;
        let declared =
            ToolOverride { approval: Some(declared.approval), ..ToolOverride::default() };
        rules.tools.insert(ToolName::new("t"), declared);
    })
}

#[expect(clippy::needless_pass_by_value, reason = "so that a row of a table is short")]
fn check(
    by: Decider,
    auto_execute: &[&str],
    declared: &ToolDeclaration,
    expected: Option<ApprovalReason>,
) {
    let found = match held(&turn_of(auto_execute, declared), by, 1) {
        Clearance::Clear(_) => None,
        Clearance::Ask(held) => Some(held.why().clone()),
    };
    let ToolDeclaration { approval, hints, trusted } = declared;
    assert_eq!(found, expected, "{by:?} {auto_execute:?} {approval:?} {hints} {trusted}");
}

#[test]
fn who_decides_and_what_the_operator_says_decide_together() {
    use Decider::{Client, Gateway, Model};
    let reads = || json!({"readOnlyHint": true});
    let writes = || json!({"destructiveHint": false});
    for hints in [json!({}), reads(), writes()] {
        for auto_execute in [&[][..], &["*"], &["s_t"]] {
            for by in [Client, Model] {
                let always = declare(ApprovalMode::Always, hints.clone());
                check(by, auto_execute, &always, Some(ApprovalReason::Always));
                check(by, auto_execute, &declare(ApprovalMode::Never, hints.clone()), None);
            }
            check(Client, auto_execute, &declare(ApprovalMode::Auto, hints.clone()), None);
            check(Gateway, auto_execute, &declare(ApprovalMode::Always, hints.clone()), None);
        }
    }
    for (auto_execute, hints, expected) in [
        (&[][..], reads(), Some(ApprovalReason::NotAutomatic)),
        (&["other", "s_"], reads(), Some(ApprovalReason::NotAutomatic)),
        (&["s_t"], json!({}), None),
        (&["s_t"], json!({"destructiveHint": true}), None),
        (&["s_*"], reads(), None),
        (&["s_*"], writes(), None),
        (&["s_*"], json!({}), Some(ApprovalReason::Destructive)),
        (&["*"], json!({"destructiveHint": true}), Some(ApprovalReason::Destructive)),
        (&["*", "s_t"], json!({"destructiveHint": true}), None),
        (
            &["s_?"],
            json!({"readOnlyHint": true, "destructiveHint": true}),
            Some(ApprovalReason::Destructive),
        ),
    ] {
        check(Model, auto_execute, &declare(ApprovalMode::Auto, hints), expected);
    }
}

#[test]
fn s_28_what_an_untrusted_server_says_of_itself_lifts_nothing() {
    for hints in [
        json!({"readOnlyHint": true, "idempotentHint": true}),
        json!({"destructiveHint": false}),
        json!({"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false}),
    ] {
        let evil =
            ToolDeclaration { approval: ApprovalMode::Auto, hints: hints.clone(), trusted: false };
        check(Decider::Model, &["*"], &evil, Some(ApprovalReason::Destructive));
        check(Decider::Model, &[], &evil, Some(ApprovalReason::NotAutomatic));
        check(Decider::Model, &["s_t"], &evil, None);
        let always = ToolDeclaration { approval: ApprovalMode::Always, hints, trusted: false };
        check(Decider::Client, &["s_t"], &always, Some(ApprovalReason::Always));
    }
}

/// A turn in which a result of `web` was read, of a tool that is under this rule.
fn tainted(hints: Value, change: impl FnOnce(&mut ServerRules, &mut ToolOverride)) -> Turn {
    let mut t = tool("t");
    t["annotations"] = hints;
    let agent = Agent { auto_execute: vec![Glob::new("s_t")], ..Agent::implicit() };
    let turn = turn(&agent, &[t], |rules: &mut ServerRules| {
        let mut overrides = ToolOverride::default();
        change(rules, &mut overrides);
        rules.tools.insert(ToolName::new("t"), overrides);
    });
    turn.taint.note(&ServerId::parse("web").unwrap(), turn.began);
    turn
}

fn approval_reason(turn: &Turn, by: Decider) -> Option<ApprovalReason> {
    match held(turn, by, 1) {
        Clearance::Clear(_) => None,
        Clearance::Ask(held) => Some(held.why().clone()),
    }
}

#[test]
fn s_30_only_what_is_called_destructive_waits_after_a_result_of_an_untrusted_server() {
    let by_web = Some(ApprovalReason::Tainted { by: ServerId::parse("web").unwrap() });
    let destructive = || json!({"destructiveHint": true});
    for by in [Decider::Client, Decider::Model] {
        // By the server's word, whether it is trusted or not; by the operator's.
        assert_eq!(approval_reason(&tainted(destructive(), |_, _| {}), by), by_web);
        assert_eq!(
            approval_reason(&tainted(destructive(), |rules, _| rules.trusted = true), by),
            by_web
        );
        let by_operator = |effect| {
            move |_: &mut ServerRules, overrides: &mut ToolOverride| overrides.effect = Some(effect)
        };
        assert_eq!(
            approval_reason(&tainted(json!({}), by_operator(ToolEffect::Destructive)), by),
            by_web
        );
        assert_eq!(
            approval_reason(&tainted(destructive(), by_operator(ToolEffect::Mutating)), by),
            None
        );
        // Who says nothing calls nothing destructive.
        for hints in [json!({}), json!({"readOnlyHint": false}), json!({"destructiveHint": false})]
        {
            assert_eq!(approval_reason(&tainted(hints, |_, _| {}), by), None);
        }
        // The operator's word on this very tool, and on the rule.
        let never = |_: &mut ServerRules, overrides: &mut ToolOverride| {
            overrides.approval = Some(ApprovalMode::Never)
        };
        assert_eq!(approval_reason(&tainted(destructive(), never), by), None);
        let off =
            |rules: &mut ServerRules, _: &mut ToolOverride| rules.trust.taint = TaintRule::Off;
        assert_eq!(approval_reason(&tainted(destructive(), off), by), None);
    }
    assert_eq!(approval_reason(&tainted(destructive(), |_, _| {}), Decider::Gateway), None);
}

#[test]
fn s_30_where_it_is_denied_nobody_is_asked() {
    let deny = |rules: &mut ServerRules, overrides: &mut ToolOverride| {
        rules.trust.taint = TaintRule::Deny;
        overrides.approval = Some(ApprovalMode::Never);
    };
    let turn = tainted(json!({"destructiveHint": true}), deny);
    let tool = turn.view.tool("s_t").unwrap();
    let refused = refuse_tainted(&turn, Decider::Model, tool, turn.began).unwrap_err();
    assert!(refused.to_string().starts_with("`s_t` was not run: taint: "), "{refused}");
    assert_eq!(refused.by.as_str(), "web");
    assert_eq!(approval_reason(&turn, Decider::Model), None);
    assert!(refuse_tainted(&turn, Decider::Gateway, tool, turn.began).is_ok());
}

#[test]
fn s_30_what_was_read_counts_for_its_turn_or_for_a_time() {
    let web = ServerId::parse("web").unwrap();
    let mail = ServerId::parse("mail").unwrap();
    let turn = turn_of(&[], &declare(ApprovalMode::Auto, json!({})));
    let now = turn.began;
    let later = |seconds| now + Duration::from_secs(seconds);
    assert_eq!(turn.taint.by(now), None);
    // Copies of the turn are the same turn.
    let copy = Turn { deadline: None, ..turn.clone() };
    copy.taint.note(&web, now);
    assert_eq!(turn.taint.by(later(1_000_000)), Some(web.clone()));
    let holds = Duration::from_secs(600);
    let session = Taint::holding(holds, TaintLinks::default());
    session.note(&web, later(100));
    session.note(&mail, later(50));
    assert_eq!(session.by(later(699)), Some(web));
    assert_eq!(session.by(later(700)), None);
    session.note(&mail, later(800));
    assert_eq!(session.by(later(801)), Some(mail));
    session.clear();
    assert_eq!(session.by(later(801)), None);
}

#[test]
fn s_30_linked_turns_taint_each_other_as_far_as_they_are_linked() {
    let now = turn_of(&[], &declare(ApprovalMode::Auto, json!({}))).began;
    let web = ServerId::parse("web").unwrap();
    let holding = || Arc::new(Taint::holding(Duration::from_secs(600), TaintLinks::default()));
    let conversation = holding();
    let other = holding();
    let links = TaintLinks {
        taints: vec![Arc::clone(&conversation)],
        tainted_by: vec![Arc::clone(&conversation), Arc::clone(&other)],
    };
    let first = Taint::of_turn(links.clone());
    first.note(&web, now);
    assert_eq!(conversation.by(now), Some(web.clone()));
    assert_eq!(other.by(now), None, "it taints, and is not tainted");
    // What the turn itself has read counts as long as it goes on.
    conversation.clear();
    let end = now + Duration::from_secs(6_000);
    assert_eq!((first.by(end), conversation.by(now)), (Some(web.clone()), None));
    let second = Taint::of_turn(links);
    assert_eq!(second.by(now), None);
    other.note(&web, now);
    assert_eq!((second.by(now), second.by(end)), (Some(web), None));
}

#[test]
fn a_verdict_counts_for_its_own_call_only() {
    let turn = turn_of(&[], &declare(ApprovalMode::Always, json!({})));
    let ask = |random| match held(&turn, Decider::Client, random) {
        Clearance::Ask(held) => held,
        Clearance::Clear(_) => panic!("nobody was asked"),
    };
    let verdict = |id, decision, note: Option<&str>| ApprovalVerdict {
        id,
        decision,
        by: Principal::from_name("bob"),
        note: note.map(str::to_owned),
    };
    let one = ask(1);
    let other = ask(2);
    let approved = verdict(one.id(), Decision::Approve, None);
    assert_eq!(
        other.apply_verdict(&approved).unwrap_err().to_string(),
        "nobody approved this call of `s_t`"
    );
    assert!(one.apply_verdict(&approved).is_ok());
    let denied = ask(3);
    let verdict = verdict(denied.id(), Decision::Deny, Some("not on a Friday"));
    assert_eq!(
        denied.apply_verdict(&verdict).unwrap_err().to_string(),
        "this call of `s_t` was denied: not on a Friday"
    );
}

#[test]
fn an_id_is_read_only_as_it_is_written() {
    for bits in [0, 7, u128::MAX] {
        let id = ApprovalId::from_bits(bits);
        assert_eq!(ApprovalId::parse(&id.to_string()), Some(id));
    }
    let good = ApprovalId::from_bits(0xabc).to_string();
    for bad in ["", "a_", &good[..33], &format!("{good}0"), &good[2..], &good.to_uppercase()] {
        assert_eq!(ApprovalId::parse(bad), None, "{bad}");
    }
}
