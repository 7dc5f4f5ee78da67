use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Abortable;
use tokio::sync::oneshot;
use tollgate_core::filter::RequestFilter;
use tollgate_core::json;
use tollgate_core::turn::Principal;
use tollgate_core::view::View;
use tollgate_engine::clock::SystemClock;
use tollgate_mcp::Revision;
use tollgate_mcp::client::Question;
use tollgate_mcp::envelope::JsonRpcId;
use tollgate_mcp::meta::ClientFacts;

use super::{ListDigests, McpSession, McpSessionParams, McpSessionRegistry};
use crate::limits::Limits;
use crate::request_context::RequestContext;

fn sessions(limit: usize) -> McpSessionRegistry {
    let limits = Limits { sessions: limit, ..Limits::default() };
    McpSessionRegistry::new(Arc::new(SystemClock), &limits)
}

pub(super) fn who(principal: &str, agent: Option<&str>) -> RequestContext {
    let principal = Principal::from_name(principal);
    RequestContext { principal, ..RequestContext::local(agent, RequestFilter::default()) }
}

pub(super) fn opening(who: RequestContext) -> McpSessionParams {
    let agent = tollgate_core::agent::Agent::implicit();
    let global = tollgate_core::filter::GlobalRules::default();
    let tier = tollgate_core::budget::Tier::Deep;
    let sieve = tollgate_core::filter::ToolFilter::of(&global, &agent, tier);
    let view = View::build(&Arc::default(), &sieve);
    McpSessionParams {
        route: who.agent.clone(),
        lease: who.lease.of_holder(),
        who,
        filters: RequestFilter::default(),
        revision: Revision::NEWEST_LEGACY,
        client: ClientFacts::default(),
        digests: ListDigests::of(&view),
    }
}

#[tokio::test]
async fn s_14_a_session_exists_only_for_its_principal_and_its_agent() {
    let sessions = sessions(10);
    let owner = who("ada", Some("sage"));
    let session = sessions.open(opening(owner.clone())).unwrap();
    assert_eq!(session.id.len(), 32, "128 bits");
    assert!(sessions.find(&session.id, &owner).is_some());
    for other in [who("bob", Some("sage")), who("ada", None), who("ada", Some("barkeep"))] {
        assert!(sessions.find(&session.id, &other).is_none(), "{other:?}");
    }
    sessions.close(&session);
    assert!(sessions.find(&session.id, &owner).is_none());
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_end_and_used_ones_do_not() {
    let sessions = sessions(10);
    let owner = who("ada", None);
    let open = || Arc::clone(&sessions.open(opening(owner.clone())).unwrap().id);
    let idle = open();
    let used = open();
    let held = sessions.find(&open(), &owner).unwrap();
    tokio::time::advance(Duration::from_secs(29 * 60)).await;
    assert!(sessions.find(&used, &owner).is_some());
    tokio::time::advance(Duration::from_secs(2 * 60)).await;
    assert!(sessions.find(&idle, &owner).is_none(), "31 minutes");
    assert!(sessions.find(&used, &owner).is_some(), "2 minutes");
    assert!(sessions.find(&held.id, &owner).is_some(), "in use");
    sessions.sweep();
    assert_eq!(sessions.count(), 2);
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let sessions = sessions(3);
    let open = || sessions.open(opening(who("ada", None)));
    let held = [open().unwrap(), open().unwrap(), open().unwrap()];
    assert!(open().is_err());
    drop(held);
    assert!(open().is_ok(), "the idle ones make room");
}

#[tokio::test]
async fn b_jr_08_a_cancel_ends_every_running_request_of_its_id() {
    let session = Arc::new(McpSession::new(opening(who("ada", None))));
    let begin = |id: u64| {
        let (running, registration) = session.begin(&JsonRpcId::number(id));
        let call = Abortable::new(std::future::pending::<()>(), registration);
        (running, call)
    };
    let (first, one) = begin(7);
    let (second, again) = begin(7);
    let (_other, other) = begin(8);
    session.cancel(&JsonRpcId::number(7));
    assert!(one.await.is_err() && again.await.is_err());
    assert!(!other.is_aborted());
    drop((first, second));
    session.cancel(&JsonRpcId::number(7));
    assert_eq!(session.state.lock().running.len(), 1, "what ended is forgotten");
}

#[tokio::test]
async fn answers_reach_the_question_they_belong_to() {
    let session = McpSession::new(opening(who("ada", None)));
    let ask = || {
        let (reply, answer) = oneshot::channel();
        let method = "elicitation/create".to_owned();
        (session.ask(Question { method, params: None, reply }), answer)
    };
    let (first, first_answer) = ask();
    let (_, second_answer) = ask();
    assert_eq!(first, r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#);
    let result = json::raw("{\"n\":2}".to_owned());
    session.deliver_answer(&JsonRpcId::number(99), Ok(&result));
    session.deliver_answer(&JsonRpcId::number(2), Ok(&result));
    assert_eq!(second_answer.await.unwrap().unwrap().get(), "{\"n\":2}");
    drop(first_answer);
    let _third = ask();
    assert_eq!(session.state.lock().questions.len(), 1, "nobody waits for the first any more");
}
