//! Which requests share what they have read.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::id::ServerId;
use tollgate_core::turn::{Principal, Taint, TurnId};

use super::{MAX_LINKS, SessionTaints, TAINT_HOLDS, TurnLink, TurnStart};
use crate::clock::{Clock as _, SystemClock};

/// The requests of one client.
struct Client<'t> {
    taints: &'t SessionTaints,
    principal: Principal,
    now: Instant,
}

impl Client<'_> {
    fn ask(&self, contexts: &[&str], turns: &[&str]) -> Arc<Taint> {
        self.open(contexts, turns, TurnStart::Continue, None)
    }

    fn begin(&self, contexts: &[&str], turns: &[&str]) -> Arc<Taint> {
        self.open(contexts, turns, TurnStart::Begin, None)
    }

    /// Is told the id of the turn.
    fn ask_for_id(&self, contexts: &[&str], turns: &[&str], id: u128) -> Arc<Taint> {
        let id = TurnId::new(SystemTime::UNIX_EPOCH, id);
        self.open(contexts, turns, TurnStart::Continue, Some(id))
    }

    fn open(
        &self,
        contexts: &[&str],
        turns: &[&str],
        start: TurnStart,
        id: Option<TurnId>,
    ) -> Arc<Taint> {
        let names = |all: &[&str]| all.iter().map(|name| Arc::from(*name)).collect::<Vec<_>>();
        let contexts = names(contexts);
        let turns = names(turns);
        let is_announced = id.is_some();
        let link = TurnLink { contexts: &contexts, turns: &turns, start, is_announced };
        self.taints.open(&self.principal, link, id, self.now)
    }

    fn is_tainted(&self, contexts: &[&str], turns: &[&str]) -> bool {
        self.ask(contexts, turns).by(self.now).is_some()
    }
}

fn client<'t>(taints: &'t SessionTaints, name: &str) -> Client<'t> {
    Client { taints, principal: Principal::from_name(name), now: SystemClock.now() }
}

fn web() -> ServerId {
    ServerId::parse("web").unwrap()
}

fn id(number: u128) -> String {
    TurnId::new(SystemTime::UNIX_EPOCH, number).to_string()
}

#[test]
fn s_30_a_name_of_a_turn_never_sheds_what_its_conversation_has_read() {
    let taints = SessionTaints::default();
    let ada = client(&taints, "ada");
    ada.ask(&["c"], &[]).note(&web(), ada.now);
    for turns in [&["1"][..], &["2", "3"], &[&id(9)]] {
        assert!(ada.is_tainted(&["c"], turns), "{turns:?}");
    }
    assert!(!ada.is_tainted(&["other"], &["1"]));
    // The same from a name to the conversation, and between names.
    ada.ask(&["d"], &["1"]).note(&web(), ada.now);
    assert!(ada.is_tainted(&["d"], &[]) && ada.is_tainted(&["d"], &["2"]));
    ada.ask(&[], &["1"]).note(&web(), ada.now);
    assert!(ada.is_tainted(&[], &["1"]) && !ada.is_tainted(&[], &["2"]));
    assert!(!ada.is_tainted(&["e"], &["1"]), "clients count turns in each conversation");
}

#[test]
fn s_30_an_id_that_was_told_continues_its_turn_from_anywhere() {
    let taints = SessionTaints::default();
    let ada = client(&taints, "ada");
    let chat = ada.ask_for_id(&["c"], &[], 1);
    assert!(!ada.is_tainted(&[], &[&id(1)]));
    chat.note(&web(), ada.now);
    for contexts in [&[][..], &["c"], &["elsewhere"], &["session", "c"]] {
        assert!(ada.is_tainted(contexts, &[&id(1)]), "{contexts:?}");
    }
    // What is read in a request that continues it counts for the turn and its conversation.
    let second = ada.ask_for_id(&["d"], &[], 2);
    ada.ask(&["session"], &[&id(2)]).note(&web(), ada.now);
    assert!(second.by(ada.now).is_some());
    assert!(ada.is_tainted(&["d"], &[]) && ada.is_tainted(&["session"], &[]));
    // What is read in its conversation without its id, too.
    ada.ask_for_id(&["e"], &[], 3);
    ada.ask(&["e"], &[]).note(&web(), ada.now);
    assert!(ada.is_tainted(&[], &[&id(3)]));
    // A user who speaks ends the taint of the conversation, not of the turn.
    let renewed = ada.begin(&["c"], &[&id(1)]);
    assert!(renewed.by(ada.now).is_some() && ada.is_tainted(&[], &[&id(1)]));
    assert!(!ada.is_tainted(&["c"], &[]));
}

#[test]
fn s_30_every_id_in_a_chain_of_requests_is_the_same_turn() {
    let taints = SessionTaints::default();
    let ada = client(&taints, "ada");
    ada.ask_for_id(&[], &[], 0);
    for number in 1..5_000 {
        ada.ask_for_id(&["c"], &[&id(number - 1)], number);
    }
    ada.ask(&[], &[&id(4_999)]).note(&web(), ada.now);
    assert!([0, 1, 2_500, 4_999].into_iter().all(|number| ada.is_tainted(&[], &[&id(number)])));
    // A conversation that is tainted already taints the turn that goes on in it.
    ada.ask(&["d"], &[]).note(&web(), ada.now);
    ada.ask_for_id(&[], &[], 10_000);
    ada.ask_for_id(&["d"], &[&id(10_000)], 10_001);
    assert!(ada.is_tainted(&[], &[&id(10_001)]));
}

#[test]
fn s_30_nobody_taints_or_clears_a_turn_of_another() {
    let taints = SessionTaints::default();
    let ada = client(&taints, "ada");
    let bob = client(&taints, "bob");
    let chat = ada.ask_for_id(&["c"], &[], 1);
    bob.ask(&["c"], &[&id(1)]).note(&web(), bob.now);
    assert!(chat.by(ada.now).is_none() && !ada.is_tainted(&["c"], &[&id(1)]));
    chat.note(&web(), ada.now);
    bob.begin(&["c"], &[&id(1)]);
    assert!(ada.is_tainted(&["c"], &[]) && ada.is_tainted(&[], &[&id(1)]));
    assert!(!client(&taints, "eve").is_tainted(&["c"], &[&id(1)]));
}

#[test]
fn s_30_conversations_of_one_session_are_apart_unless_a_request_names_none() {
    let taints = SessionTaints::default();
    let ada = client(&taints, "ada");
    ada.ask(&["s", "a"], &[]).note(&web(), ada.now);
    assert!(ada.is_tainted(&["s", "a"], &[]) && !ada.is_tainted(&["s", "b"], &[]));
    assert!(ada.is_tainted(&["s"], &[]), "it may be about either");
    assert!(!ada.is_tainted(&["a"], &[]) && !ada.is_tainted(&["sa"], &[]));
    let other = client(&taints, "other");
    other.ask(&["s"], &[]).note(&web(), other.now);
    assert!(other.is_tainted(&["s", "new"], &[]), "what was read may be known there");
}

#[test]
fn s_30_a_turn_ends_when_its_user_speaks_or_after_a_time() {
    let taints = SessionTaints::default();
    let ada = client(&taints, "ada");
    let first = ada.begin(&["c"], &[]);
    first.note(&web(), ada.now);
    assert!(ada.is_tainted(&["c"], &[]));
    let second = ada.begin(&["c"], &[]);
    assert_eq!(second.by(ada.now), None);
    assert!(first.by(ada.now).is_some(), "the request that read it goes on");
    // One that is late counts again.
    first.note(&web(), ada.now);
    assert!(ada.is_tainted(&["c"], &[]));
    let over = Client { now: ada.now + TAINT_HOLDS, ..client(&taints, "ada") };
    assert!(!over.is_tainted(&["c"], &[]));
}

#[test]
fn s_30_two_principals_never_share_a_taint_and_push_out_only_their_own() {
    let taints = SessionTaints::default();
    let ada = client(&taints, "ada");
    let mut bob = client(&taints, "bob");
    ada.ask(&["c"], &[]).note(&web(), ada.now);
    assert!(ada.is_tainted(&["c"], &[]) && !bob.is_tainted(&["c"], &[]));
    let running = bob.ask_for_id(&[], &[], 1);
    bob.now += Duration::from_secs(1);
    // First such that say nothing, then such that do.
    for round in 0..2 {
        for number in 0..MAX_LINKS + 10 {
            let taint = bob.ask(&[&format!("{round} {number}")], &[]);
            if round == 1 {
                taint.note(&web(), bob.now);
            }
        }
        let count: usize = taints.principals.lock().values().map(|links| links.0.len()).sum();
        assert!(count <= MAX_LINKS + 3, "{count}");
        if round == 0 {
            running.note(&web(), bob.now);
            assert!(bob.is_tainted(&[], &[&id(1)]), "a turn that runs is not forgotten");
        }
    }
    assert!(ada.is_tainted(&["c"], &[]));
}
