//! Who comes in with which header, for which agent.

use http::{HeaderName, HeaderValue, Request};
use tollgate_core::id::AgentId;
use tollgate_core::secret::Secret;

use super::{Key, Keys, Right, Rights, Visitor};

/// Who comes in with this header, or the code of the refusal.
fn check(keys: &Keys, sent: Option<(&str, &str)>, agent: Option<&str>) -> String {
    let (mut request, ()) = Request::new(()).into_parts();
    if let Some((name, value)) = sent {
        let name = HeaderName::try_from(name).unwrap();
        request.headers.insert(name, HeaderValue::from_str(value).unwrap());
    }
    let visitor = keys.visitor(&request);
    match visitor.and_then(|visitor| visitor.identify(agent.map(str::to_owned))) {
        Ok(identity) => format!("{} {:?}", identity.principal.as_str(), identity.agent),
        Err(problem) => problem.code.to_owned(),
    }
}

fn key(name: &str, agents: Option<&[&str]>) -> Key {
    let agents =
        agents.map(|agents| agents.iter().map(|agent| AgentId::parse(agent).unwrap()).collect());
    let secret = Secret::new(format!("secret-{name}"));
    Key { name: name.to_owned(), secret, agents, rights: Rights::NONE }
}

#[test]
fn s_10_only_a_key_of_the_config_comes_in_and_only_to_its_agents() {
    let keys = Keys::new(&[key("ops", None), key("phone", Some(&["sage"]))]);
    let bearer = |key: &str| format!("Bearer {key}");
    assert_eq!(check(&keys, None, None), "no_key");
    let ops = bearer("secret-ops");
    assert_eq!(check(&keys, Some(("authorization", &ops)), Some("x")), "key:ops Some(\"x\")");
    assert_eq!(check(&keys, Some(("x-api-key", "secret-ops")), None), "key:ops None");
    let phone = bearer("secret-phone");
    let phone = Some(("authorization", &*phone));
    assert_eq!(check(&keys, phone, None), "key:phone Some(\"sage\")");
    assert_eq!(check(&keys, phone, Some("barkeep")), "not_your_agent");
    for wrong in ["Bearer ' OR 1=1--", "Bearer ", "Bearer secret", "Basic secret-ops", "secret-ops"]
    {
        let refused = check(&keys, Some(("authorization", wrong)), None);
        assert!(["no_key", "wrong_key"].contains(&&*refused), "{wrong}: {refused}");
    }
    assert_eq!(check(&Keys::default(), None, Some("a")), "local Some(\"a\")");
}

#[test]
fn an_empty_list_of_agents_is_no_agent() {
    let keys = Keys::new(&[key("none", Some(&[]))]);
    let sent = Some(("x-api-key", "secret-none"));
    assert_eq!(check(&keys, sent, None), "not_your_agent");
    assert_eq!(check(&keys, sent, Some("sage")), "not_your_agent");
}

#[test]
fn whoever_was_let_in_needs_no_key_again() {
    let keys = Keys::new(&[key("ops", None)]);
    let (mut request, ()) = Request::new(()).into_parts();
    assert_eq!(keys.visitor(&request).unwrap_err().code, "no_key");
    request.extensions.insert(Visitor::local());
    assert_eq!(keys.visitor(&request).unwrap().principal.as_str(), "local");
}

#[test]
fn rights_are_those_that_were_given() {
    let some: Rights = [Right::Execute, Right::Admin].into_iter().collect();
    let names: Vec<&str> =
        Right::ALL.into_iter().filter(|it| some.has(*it)).map(Right::as_str).collect();
    assert_eq!(names, ["execute", "admin"]);
    assert!(Right::ALL.into_iter().all(|it| Rights::ALL.has(it) && !Rights::NONE.has(it)));
    assert!(Right::ALL.into_iter().all(|it| Right::parse(it.as_str()) == Some(it)));
    assert_eq!(some.need(Right::OverrideTier).unwrap_err().code, "no_right");
}
