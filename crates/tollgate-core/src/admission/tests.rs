//! Which limits a request is under, and that a refusal costs nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::*;
use crate::agent::Agent;
use crate::budget::Tier;
use crate::call::GateRequest;
use crate::catalog::{
    Catalog, CatalogInputs, ServerListing, ServerOffer, ServerOrigin, ServerRules,
};
use crate::filter::{GlobalRules, ToolFilter};
use crate::id::{ServerId, ToolName};
use crate::json::{Object, raw_value};
use crate::names::{NameOwners, NamePattern};
use crate::policy::permit;
use crate::tool::ToolOverride;
use crate::trust::ToolPins;
use crate::turn::{Actor, PrincipalGrant, TurnId};
use crate::view::View;

#[expect(clippy::disallowed_methods, reason = "a beginning, no measurement")]
fn began() -> Instant {
    Instant::now()
}

/// A turn of an agent that sees these tools of one server, `s`.
pub(crate) fn turn(agent: &Agent, tools: &[Value], change: impl FnOnce(&mut ServerRules)) -> Turn {
    let mut rules = ServerRules::new(ServerId::parse("s").unwrap(), ServerOrigin::Upstream);
    change(&mut rules);
    let prompts = [raw_value(&json!({"name": "hello"}))];
    let tools = tools.iter().map(raw_value).collect();
    let listing = ServerListing { tools, prompts: prompts.to_vec(), ..ServerListing::default() };
    let offers =
        [ServerOffer { rules: Arc::new(rules), listing: Arc::new(listing), present: true }];
    let pattern = NamePattern::default();
    let inputs = CatalogInputs {
        version: 1,
        offers: &offers,
        pattern: &pattern,
        previous: None,
        pins: &ToolPins::default(),
    };
    let catalog = Arc::new(Catalog::build(&inputs, &mut NameOwners::default()));
    let global = GlobalRules::default();
    let view = Arc::new(View::build(&catalog, &ToolFilter::of(&global, agent, Tier::Deep)));
    let id = TurnId::new(SystemTime::UNIX_EPOCH, 0);
    Turn::open(id, began(), Actor::endless(Principal::from_name("ada")), view, Arc::default())
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

/// A call of the tool under its exposed name, without arguments.
pub(crate) fn permitted(turn: &Turn, kind: RequestKind, name: &str) -> Permitted<'static> {
    let mut params = Object::new();
    params.set_string("name", name);
    permit(turn, GateRequest { kind, params }).unwrap()
}

fn limit(calls: u32) -> RateLimit {
    RateLimit { calls, per: Duration::from_secs(60) }
}

/// What was taken, in a test where no time passes.
struct TestBuckets {
    now: Instant,
    buckets: RefCell<HashMap<RateLimitKey, Arc<TokenBucket>>>,
}

impl TestBuckets {
    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    fn new() -> Self {
        Self { now: Instant::now(), buckets: RefCell::default() }
    }

    /// `ok`, or what is said.
    fn ask(&self, turn: &Turn, by: Decider, call: TestCall) -> String {
        let bucket = |counted: &RateLimitKey| {
            let mut buckets = self.buckets.borrow_mut();
            let new = || Arc::new(TokenBucket::new(self.now));
            Arc::clone(buckets.entry(counted.clone()).or_insert_with(new))
        };
        match admit(turn, by, permitted(turn, call.kind, call.name), bucket, self.now) {
            Ok(_) => "ok".to_owned(),
            Err(too_often) => too_often.to_string(),
        }
    }
}

#[derive(Clone, Copy)]
struct TestCall {
    kind: RequestKind,
    name: &'static str,
}

const A: TestCall = TestCall { kind: RequestKind::CallTool, name: "s_a" };
const B: TestCall = TestCall { kind: RequestKind::CallTool, name: "s_b" };
const PROMPT: TestCall = TestCall { kind: RequestKind::GetPrompt, name: "s_hello" };

/// Tool `a` may be called twice in a minute, the agent may call three times, the principal four.
fn limited_turn() -> Turn {
    let agent = Agent { rate_limit: Some(limit(3)), ..Agent::implicit() };
    let turn = turn(&agent, &[tool("a"), tool("b")], |rules| {
        let overrides = ToolOverride { rate_limit: Some(limit(2)), ..ToolOverride::default() };
        rules.tools.insert(ToolName::new("a"), overrides);
    });
    let grant = PrincipalGrant { rate_limit: Some(limit(4)), ..PrincipalGrant::default() };
    Turn { grant: Some(Arc::new(grant)), ..turn }
}

#[test]
fn the_tool_the_agent_and_the_principal_each_have_their_limit() {
    let buckets = TestBuckets::new();
    let turn = limited_turn();
    let ask = |call| buckets.ask(&turn, Decider::Client, call);
    assert_eq!([ask(A), ask(A)], ["ok", "ok"]);
    let refused = "this tool may be called 2 times in a minute; try again in 30 s";
    assert_eq!([ask(A), ask(A), ask(A)], [refused; 3], "and that cost the others nothing");
    assert_eq!(ask(B), "ok");
    let refused = "agent `default` may call 3 times in a minute; try again in 20 s";
    assert_eq!([ask(B), ask(PROMPT)], [refused; 2]);
}

#[test]
fn another_principal_has_its_own_limit_but_the_same_tool() {
    let buckets = TestBuckets::new();
    let ada = limited_turn();
    let bob = Turn { principal: Principal::from_name("bob"), ..limited_turn() };
    let once = PrincipalGrant { rate_limit: Some(limit(1)), ..PrincipalGrant::default() };
    let eve =
        Turn { principal: Principal::from_name("eve"), grant: Some(once.into()), ..limited_turn() };
    assert_eq!(buckets.ask(&eve, Decider::Model, B), "ok");
    assert_eq!(
        buckets.ask(&eve, Decider::Model, B),
        "you may call once in a minute; try again in 60 s"
    );
    assert_eq!(buckets.ask(&ada, Decider::Client, A), "ok");
    assert_eq!(buckets.ask(&bob, Decider::Client, A), "ok");
    assert!(buckets.ask(&bob, Decider::Client, A).starts_with("this tool may be called 2 times"));
}

#[test]
fn measurements_and_calls_without_limits_ask_for_no_bucket() {
    let none = |_: &RateLimitKey| -> Arc<TokenBucket> { panic!("there is no limit") };
    let buckets = TestBuckets::new();
    let turn = limited_turn();
    for _ in 0..10 {
        let permitted = permitted(&turn, RequestKind::CallTool, "s_a");
        assert!(admit(&turn, Decider::Gateway, permitted, none, buckets.now).is_ok());
    }
    let free = tests::turn(&Agent::implicit(), &[tool("a")], |_| {});
    let permitted = permitted(&free, RequestKind::CallTool, "s_a");
    assert!(admit(&free, Decider::Model, permitted, none, buckets.now).is_ok());
}
