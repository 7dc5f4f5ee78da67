//! Who comes in with which headers, for which agent, and for how long.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, Request, Uri};
use parking_lot::Mutex;
use tollgate_core::id::AgentId;
use tollgate_engine::clock::Clock;

use super::{
    ApiKey, AuthenticatedCaller, Authenticator, AuthenticatorOptions, CallerLease, Fingerprint,
    FormerSecret, KeyRole, Right, Rights, secret,
};

/// Stands still until it is moved.
struct Hand(Mutex<SystemTime>);

impl Clock for Hand {
    #[expect(clippy::disallowed_methods, reason = "nobody asks for it here")]
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> SystemTime {
        *self.0.lock()
    }
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn hand() -> Arc<Hand> {
    Arc::new(Hand(Mutex::new(at(1_000))))
}

fn keys(known: &[ApiKey]) -> Authenticator {
    let admin = Some(Fingerprint::of(b"secret-admin"));
    let keys = Authenticator::new(
        hand(),
        AuthenticatorOptions { admin, ..AuthenticatorOptions::default() },
    );
    keys.configure(known.to_vec(), None);
    keys
}

fn admit_all(
    keys: &Authenticator,
    sent: &[(&str, &str)],
) -> Result<AuthenticatedCaller, &'static str> {
    let (mut request, ()) = Request::new(()).into_parts();
    for (name, value) in sent {
        let name = HeaderName::try_from(*name).unwrap();
        request.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let admitted = keys.admit(&request).now_or_never().expect("no issuer to wait for");
    admitted.map_err(|problem| problem.code)
}

/// Who comes in with these headers, or the code of the refusal.
fn check(keys: &Authenticator, sent: &[(&str, &str)], agent: Option<&str>) -> String {
    let visitor = match admit_all(keys, sent) {
        Ok(visitor) => visitor,
        Err(code) => return code.to_owned(),
    };
    match visitor.identify(agent.map(str::to_owned)) {
        Ok(identity) => format!("{} {:?}", identity.principal.as_str(), identity.agent),
        Err(problem) => problem.code.to_owned(),
    }
}

fn key(name: &str, agents: Option<&[&str]>) -> ApiKey {
    let agents =
        agents.map(|agents| agents.iter().map(|agent| AgentId::parse(agent).unwrap()).collect());
    ApiKey { agents, ..ApiKey::new(name, Fingerprint::of(format!("secret-{name}").as_bytes())) }
}

#[test]
fn s_10_only_a_key_that_is_known_comes_in_and_only_to_its_agents() {
    let keys = keys(&[key("ops", None), key("phone", Some(&["sage"]))]);
    assert_eq!(check(&keys, &[], None), "no_key");
    let ops = [("authorization", "Bearer secret-ops")];
    assert_eq!(check(&keys, &ops, Some("x")), "key:ops Some(\"x\")");
    assert_eq!(check(&keys, &[("x-api-key", "secret-ops")], None), "key:ops None");
    let phone = [("authorization", "bearer  secret-phone ")];
    assert_eq!(check(&keys, &phone, None), "key:phone Some(\"sage\")");
    assert_eq!(check(&keys, &phone, Some("barkeep")), "not_your_agent");
    assert_eq!(check(&keys, &[("x-api-key", "secret-admin")], None), "admin None");
}

#[test]
fn s_10_b_hh_11_what_is_no_key_opens_nothing() {
    let keys = keys(&[key("ops", None)]);
    let long = format!("Bearer {}", "a".repeat(1 << 20));
    for (sent, expected) in [
        ("Bearer ' OR 1=1--", "wrong_key"),
        ("Bearer secret-ops' OR '1'='1", "wrong_key"),
        ("Bearer ", "no_key"),
        ("Bearer", "no_key"),
        ("", "no_key"),
        ("Bearer secret", "wrong_key"),
        ("Bearer secret-ops,secret-ops", "wrong_key"),
        ("Bearer Bearer secret-ops", "wrong_key"),
        ("Bearer\tsecret-ops", "no_key"),
        ("Basic secret-ops", "no_key"),
        ("secret-ops", "no_key"),
        ("Bearer secret-öps", "wrong_key"),
        (&long, "wrong_key"),
    ] {
        let refused = check(&keys, &[("authorization", sent)], None);
        assert_eq!(refused, expected, "{}", &sent[..sent.len().min(40)]);
    }
}

#[test]
fn b_hh_11_one_credential_and_once() {
    let keys = keys(&[key("ops", None), key("phone", None)]);
    let ops = ("authorization", "Bearer secret-ops");
    let phone = ("x-api-key", "secret-phone");
    for (sent, expected) in [
        (&[ops, phone][..], "two_keys"),
        (&[ops, ops], "two_keys"),
        (&[phone, phone], "two_keys"),
        (&[ops, ("x-api-key", "")], "two_keys"),
        (&[("authorization", "Basic eA=="), phone], "two_keys"),
        (&[ops, ("x-api-key", "secret-ops")], "key:ops None"),
    ] {
        assert_eq!(check(&keys, sent, None), expected, "{sent:?}");
    }
    keys.configure(Vec::new(), None);
    keys.only_loopback();
    assert_eq!(check(&keys, &[ops, phone], None), "two_keys", "nor where no key is needed");
}

fn holds(lease: &CallerLease) -> bool {
    lease.of_holder().revocation().is_none()
}

#[test]
fn s_02_without_keys_only_this_machine_comes_in_and_not_as_an_admin() {
    let keys = keys(&[]);
    assert_eq!(check(&keys, &[], None), "no_key", "nobody said that only loopback is served");
    keys.only_loopback();
    assert_eq!(check(&keys, &[], Some("a")), "local Some(\"a\")");
    let some = [("authorization", "Bearer not-needed")];
    assert_eq!(check(&keys, &some, None), "local None");
    let visitor = admit_all(&keys, &[]).unwrap();
    let names: Vec<&str> = visitor.rights.iter().map(Right::as_str).collect();
    assert_eq!(names, ["execute", "override_tier", "any_model"]);
    assert_eq!(visitor.need(Right::Admin).unwrap_err().code, "admin_only");
    let admin = admit_all(&keys, &[("authorization", "Bearer secret-admin")]).unwrap();
    assert_eq!((admin.principal.as_str(), admin.rights), ("admin", Rights::ALL));
    keys.configure(vec![key("first", None)], None);
    assert_eq!(check(&keys, &[], None), "no_key");
    assert!(!holds(&visitor.lease), "what was open is not any more");
}

#[test]
fn s_02_an_empty_key_is_none() {
    let keys = keys(&[ApiKey::new("empty", Fingerprint::of(b""))]);
    assert_eq!(check(&keys, &[("authorization", "Bearer ")], None), "no_key");
    assert_eq!(check(&keys, &[("x-api-key", "")], None), "no_key");
}

#[test]
fn an_empty_list_of_agents_is_no_agent() {
    let keys = keys(&[key("none", Some(&[]))]);
    let sent = [("x-api-key", "secret-none")];
    assert_eq!(check(&keys, &sent, None), "not_your_agent");
    assert_eq!(check(&keys, &sent, Some("sage")), "not_your_agent");
}

#[test]
fn a_request_has_a_visitor_only_if_it_was_let_in() {
    let keys = keys(&[key("ops", None)]);
    let (mut request, ()) = Request::new(()).into_parts();
    assert_eq!(keys.visitor(&request).unwrap_err().code, "no_key");
    request.extensions.insert(AuthenticatedCaller::local());
    assert_eq!(keys.visitor(&request).unwrap().principal.as_str(), "local");
}

#[test]
fn a_key_that_is_taken_away_takes_what_it_opened_with_it() {
    let keys = keys(&[key("ops", None), key("phone", None)]);
    let [ops, phone] = ["secret-ops", "secret-phone"]
        .map(|secret| admit_all(&keys, &[("x-api-key", secret)]).unwrap().lease);
    keys.configure(vec![key("ops", None)], None);
    assert!(holds(&ops) && !holds(&phone));
    assert_eq!(check(&keys, &[("x-api-key", "secret-phone")], None), "wrong_key");
    let more = ApiKey { rights: Rights::ALL, ..key("ops", None) };
    keys.configure(vec![more], None);
    assert!(holds(&ops), "whoever has more loses nothing");
    keys.configure(vec![ApiKey { rights: Rights::NONE, ..key("ops", None) }], None);
    assert!(!holds(&ops), "what a session was opened with is not what its key may do now");
    assert_eq!(check(&keys, &[("x-api-key", "secret-ops")], None), "key:ops None");
}

#[tokio::test(start_paused = true)]
async fn two_secrets_let_in_while_a_key_is_exchanged() {
    let clock = hand();
    let keys = Authenticator::new(Arc::<Hand>::clone(&clock), AuthenticatorOptions::default());
    keys.configure(vec![key("ops", None)], None);
    let old = admit_all(&keys, &[("x-api-key", "secret-ops")]).unwrap().lease;
    let former = FormerSecret { fingerprint: Fingerprint::of(b"secret-ops"), until: at(1_060) };
    let new = Fingerprint::of(b"secret-new");
    keys.configure(
        vec![ApiKey { former: Some(former), fingerprint: new, ..key("ops", None) }],
        None,
    );
    for secret in ["secret-ops", "secret-new"] {
        assert_eq!(check(&keys, &[("x-api-key", secret)], None), "key:ops None");
    }
    assert!(holds(&old), "its sessions go on");
    *clock.0.lock() = at(1_060);
    assert_eq!(check(&keys, &[("x-api-key", "secret-ops")], None), "expired_key");
    assert_eq!(check(&keys, &[("x-api-key", "secret-new")], None), "key:ops None");
    let stream = admit_all(&keys, &[("x-api-key", "secret-new")]).unwrap().lease;
    let stream = stream.wait_for_end(clock.wall());
    keys.configure(
        vec![ApiKey { fingerprint: Fingerprint::of(b"third"), ..key("ops", None) }],
        None,
    );
    stream.await;
}

#[tokio::test(start_paused = true)]
async fn a_key_ends_at_its_time_and_so_do_its_streams() {
    let clock = hand();
    let keys = Authenticator::new(Arc::<Hand>::clone(&clock), AuthenticatorOptions::default());
    keys.configure(vec![ApiKey { expires: Some(at(1_010)), ..key("ops", None) }], None);
    let sent = [("x-api-key", "secret-ops")];
    let lease = admit_all(&keys, &sent).unwrap().lease;
    tokio::time::timeout(Duration::from_secs(11), lease.wait_for_end(clock.wall())).await.unwrap();
    *clock.0.lock() = at(1_009);
    assert_eq!(check(&keys, &sent, None), "key:ops None");
    *clock.0.lock() = at(1_010);
    assert_eq!(check(&keys, &sent, None), "expired_key");
}

#[test]
fn a_typing_mistake_is_told_from_a_wrong_key() {
    let made = secret::make(secret::SecretKind::Key).unwrap();
    let text = made.reveal();
    assert!(text.starts_with("tg_") && text.len() == 51, "{}", text.len());
    assert_eq!(secret::check(text), secret::SecretCheck::Sound);
    assert_ne!(secret::make(secret::SecretKind::Key).unwrap(), made);
    let keys = keys(&[key("ops", None)]);
    assert_eq!(check(&keys, &[("x-api-key", text)], None), "wrong_key");
    let other = if text.as_bytes()[20] == b'x' { "y" } else { "x" };
    for mistyped in
        [&text[..50], &format!("{text}0"), &format!("{}{other}{}", &text[..20], &text[21..])]
    {
        assert_eq!(check(&keys, &[("x-api-key", mistyped)], None), "mistyped_key");
    }
    assert_eq!(secret::check("tg_ö"), secret::SecretCheck::Mistyped);
    assert_eq!(secret::check("secret"), secret::SecretCheck::Foreign);
}

#[test]
fn no_key_is_taken_from_a_url() {
    let check = |uri: &str| {
        let uri: Uri = uri.parse().unwrap();
        super::refuse_keys_in_query(&uri).err().map(|problem| problem.code)
    };
    for uri in ["/", "/?", "/v1/tools?agent=token", "/?keys=1", "/?monkey=1", "/#token=a"] {
        assert_eq!(check(uri), None, "{uri}");
    }
    for name in ["key", "api_key", "Token", "access_token", "%61ccess_token", "a=b&key"] {
        assert_eq!(check(&format!("/v1/tools?{name}=secret-ops")), Some("key_in_url"), "{name}");
    }
}

#[test]
fn fingerprints_are_read_as_they_are_written() {
    let known = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(Fingerprint::parse(known), Some(Fingerprint::of(b"abc")));
    assert_eq!(
        Fingerprint::parse(&known.to_uppercase().replace("SHA256", "sha256")),
        Some(Fingerprint::of(b"abc"))
    );
    for bad in [
        "",
        "abc",
        &known[7..],
        &known[..70],
        "sha256:",
        &format!("{known}0"),
        &known.replace('b', "g"),
    ] {
        assert_eq!(Fingerprint::parse(bad), None, "{bad}");
    }
    assert_eq!(format!("{:?}", Fingerprint::of(b"abc")), "<fingerprint>");
}

#[test]
fn rights_are_those_that_were_given() {
    let some: Rights = [Right::Execute, Right::Admin].into_iter().collect();
    let names: Vec<&str> = some.iter().map(Right::as_str).collect();
    assert_eq!(names, ["execute", "admin"]);
    assert!(Right::ALL.into_iter().all(|it| Rights::ALL.has(it) && !Rights::NONE.has(it)));
    assert!(Right::ALL.into_iter().all(|it| Right::parse(it.as_str()) == Some(it)));
    assert_eq!(some.need(Right::OverrideTier).unwrap_err().code, "no_right");
    for (role, named, expected) in [
        (
            KeyRole::Admin,
            Some(Rights::NONE),
            "execute override_tier approve observe any_model admin",
        ),
        (KeyRole::Operator, None, "approve observe"),
        (KeyRole::Operator, Some(some), "execute admin"),
        (KeyRole::Caller, None, "execute"),
        (KeyRole::Caller, Some(Rights::NONE), ""),
    ] {
        let names: Vec<&str> = role.rights(named).iter().map(Right::as_str).collect();
        assert_eq!(names.join(" "), expected, "{role:?}");
    }
}
