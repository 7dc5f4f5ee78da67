//! Client secrets: what they open, for how long, and how many there may be.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Map;
use tollgate_core::filter::RequestFilter;
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_core::lease::{LeaseTerm, RevokedError};
use tollgate_core::secret::Secret;
use tollgate_store::Store;

use super::{
    ClientSecretGrant, ClientSecrets, MAX_CONFIG_BYTES_PER_PRINCIPAL, MAX_SECRETS_PER_PRINCIPAL,
    stored,
};
use crate::api_error::ApiError;
use crate::auth::{
    ApiKey, AuthenticatedCaller, CallerLease, CallerReach, Fingerprint, Right, Rights,
};

const CALLS: &str = "/v1/realtime/calls";

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_000_000)
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn caller(name: &str, term: &LeaseTerm) -> AuthenticatedCaller {
    let key = ApiKey { rights: Rights::ALL, ..ApiKey::new(name, Fingerprint::of(name.as_bytes())) };
    AuthenticatedCaller::holding(&key, CallerLease::of(term, None))
}

fn grant(max_uses: Option<u32>) -> ClientSecretGrant {
    ClientSecretGrant {
        agent: AgentId::parse("barkeep").unwrap(),
        model: "voice".to_owned(),
        session: Map::new(),
        session_bytes: 2,
        reach: CallerReach::Everybody,
        narrow: RequestFilter::default(),
        tier: None,
        conversation: None,
        variables: Default::default(),
        max_uses: max_uses.and_then(NonZeroU32::new),
    }
}

fn issue(secrets: &ClientSecrets, name: &str) -> Secret {
    let caller = caller(name, &LeaseTerm::new());
    secrets.issue(&caller, grant(None), seconds(600), now()).unwrap()
}

fn code(result: Result<AuthenticatedCaller, ApiError>) -> &'static str {
    result.map_or_else(|problem| problem.code, |_| "ok")
}

fn admit(secrets: &ClientSecrets, text: &str, path: &str, after: u64) -> &'static str {
    let admitted = secrets.admit(text.as_bytes(), path, now() + seconds(after));
    admitted.map_or("not one", code)
}

#[test]
fn a_secret_opens_live_sessions_until_it_expires_and_nothing_else() {
    let secrets = ClientSecrets::default();
    let secret = issue(&secrets, "shop");
    let text = secret.reveal();
    assert!(text.starts_with("ek_tg_"), "{text}");
    for (path, after, expected) in [
        (CALLS, 0, "ok"),
        ("/v1/realtime", 599, "ok"),
        (CALLS, 600, "expired_client_secret"),
        (CALLS, 1_200, "expired_client_secret"),
        ("/v1/realtime/client_secrets", 0, "not_for_client_secrets"),
        ("/v1/realtime/calls/rtc_1/hangup", 0, "not_for_client_secrets"),
        ("/v1/chat/completions", 0, "not_for_client_secrets"),
        ("/mcp", 0, "not_for_client_secrets"),
        ("/api/keys", 0, "not_for_client_secrets"),
    ] {
        assert_eq!(admit(&secrets, text, path, after), expected, "{path} {after}");
    }
    let mistyped = format!("{}x", &text[..text.len() - 1]);
    let mistyped =
        if mistyped == text { format!("{}y", &text[..text.len() - 1]) } else { mistyped };
    assert_eq!(admit(&secrets, &mistyped, CALLS, 0), "mistyped_key");
    assert_eq!(admit(&secrets, "ek_tg_", CALLS, 0), "mistyped_key");
    assert_eq!(admit(&secrets, "tg_key", CALLS, 0), "not one");
    let of_another = issue(&ClientSecrets::default(), "shop");
    assert_eq!(admit(&secrets, of_another.reveal(), CALLS, 0), "wrong_key", "well formed");
}

#[test]
fn a_secret_ends_with_the_key_that_requested_it() {
    let secrets = ClientSecrets::default();
    let term = LeaseTerm::new();
    let lasting = issue(&secrets, "other");
    let ending = secrets.issue(&caller("shop", &term), grant(None), seconds(600), now()).unwrap();
    assert_eq!(admit(&secrets, ending.reveal(), CALLS, 0), "ok");
    term.end(RevokedError::because("key `shop` was revoked"));
    assert_eq!(admit(&secrets, ending.reveal(), CALLS, 0), "revoked");
    assert_eq!(admit(&secrets, lasting.reveal(), CALLS, 0), "ok");
}

#[test]
fn a_secret_has_no_rights_beyond_sessions_with_its_agent() {
    let secrets = ClientSecrets::default();
    let secret = issue(&secrets, "shop");
    let admitted = secrets.admit(secret.reveal().as_bytes(), CALLS, now()).unwrap().unwrap();
    let rights: Vec<Right> = admitted.rights.iter().collect();
    assert_eq!(rights, [Right::Execute, Right::AnyModel]);
    let other = admitted.clone().identify(Some("cook".to_owned()));
    assert_eq!(other.unwrap_err().code, "not_your_agent");
    let own = admitted.identify(None).unwrap();
    assert_eq!(own.agent.as_deref(), Some("barkeep"));
    assert_eq!(own.principal.as_str(), "key:shop");
}

#[tokio::test]
async fn a_use_that_led_to_no_session_is_given_back() {
    let secrets = ClientSecrets::default();
    let shop = caller("shop", &LeaseTerm::new());
    let secret = secrets.issue(&shop, grant(Some(1)), seconds(600), now()).unwrap();
    let admitted = secrets.admit(secret.reveal().as_bytes(), CALLS, now()).unwrap().unwrap();
    let secret = admitted.client_secret().unwrap();
    let first = secret.begin_use().await.unwrap();
    assert_eq!(secret.begin_use().await.unwrap_err().code, "used_client_secret", "one at a time");
    drop(first);
    secret.begin_use().await.unwrap().keep();
    assert_eq!(secret.begin_use().await.unwrap_err().code, "used_client_secret");
}

#[test]
fn the_number_of_secrets_is_bounded_for_each_key_and_in_bytes() {
    let secrets = ClientSecrets::default();
    let shop = caller("shop", &LeaseTerm::new());
    let make = |name: &AuthenticatedCaller, bytes: usize, after: u64| {
        let grant = ClientSecretGrant { session_bytes: bytes, ..grant(None) };
        let made = secrets.issue(name, grant, seconds(10), now() + seconds(after));
        made.map_or_else(|problem| problem.code, |_| "ok")
    };
    for _ in 0..MAX_SECRETS_PER_PRINCIPAL {
        assert_eq!(make(&shop, 2, 0), "ok");
    }
    assert_eq!(make(&shop, 2, 0), "too_many_at_once");
    let other = caller("other", &LeaseTerm::new());
    assert_eq!(make(&other, 2, 0), "ok", "another key has room");
    assert_eq!(make(&other, MAX_CONFIG_BYTES_PER_PRINCIPAL, 0), "too_many_at_once");
    assert_eq!(make(&shop, 2, 10), "ok", "expired ones do not count");
}

#[test]
fn s_13_secrets_of_one_key_keep_no_other_key_from_getting_one() {
    let secrets = ClientSecrets::default();
    let make = |name: &AuthenticatedCaller, bytes: usize, after: u64| {
        let grant = ClientSecretGrant { session_bytes: bytes, ..grant(None) };
        secrets.issue(name, grant, seconds(10), now() + seconds(after))
    };
    let honest = caller("honest", &LeaseTerm::new());
    let greedy = caller("greedy", &LeaseTerm::new());
    let large = MAX_CONFIG_BYTES_PER_PRINCIPAL / 4;
    // Short-lived ones, which are still known when they have expired.
    for number in 0..16 {
        make(&greedy, large, number / 4 * 10).unwrap();
    }
    let own = make(&honest, 2, 35).unwrap();
    // And of several keys.
    for name in 0..5 {
        let one = caller(&name.to_string(), &LeaseTerm::new());
        for _ in 0..4 {
            make(&one, large, 36).unwrap();
        }
    }
    make(&honest, 2, 37).unwrap();
    assert_eq!(admit(&secrets, own.reveal(), CALLS, 37), "ok");
}

#[tokio::test]
async fn a_stored_secret_allows_what_it_allowed_to_the_key_that_asked_for_it() {
    let store = Arc::new(Store::in_memory().unwrap());
    let before = ClientSecrets::default();
    let shop = caller("shop", &LeaseTerm::new());
    let narrow = RequestFilter {
        include_servers: vec![vec![Glob::new("a*")]],
        exclude_tools: vec![Glob::new("roll")],
        ..RequestFilter::default()
    };
    let asked = ClientSecretGrant { narrow: narrow.clone(), ..grant(Some(1)) };
    let text = before.issue(&shop, asked, seconds(600), now()).unwrap();
    let key = Fingerprint::of(b"shop");
    before.keep(&store, &text, &key, now()).await;
    let presented = text.reveal().as_bytes();
    let row = store.client_secrets().load(*Fingerprint::of(presented).as_bytes()).unwrap().unwrap();
    assert_eq!(row.binding, stored::bind(presented, &key));
    assert_ne!(row.binding, stored::bind(presented, &Fingerprint::of(b"another shop")));
    let after = ClientSecrets::default();
    assert!(after.restore(&store, &row, &shop));
    let used_by = |secrets: &ClientSecrets| {
        let admitted = secrets.admit(presented, CALLS, now()).unwrap().unwrap();
        Arc::clone(admitted.client_secret().unwrap())
    };
    assert_eq!(used_by(&after).grant.narrow, narrow);
    let first = used_by(&after).begin_use().await.unwrap();
    drop(first);
    used_by(&after).begin_use().await.unwrap().keep();
    let again = used_by(&before).begin_use().await;
    assert_eq!(again.unwrap_err().code, "used_client_secret", "both count in one place");
    let cook = Some(vec![AgentId::parse("cook").unwrap()]);
    let lessened = ApiKey { agents: cook, ..ApiKey::new("shop", key) };
    let lessened = AuthenticatedCaller::holding(&lessened, CallerLease::endless());
    assert!(!ClientSecrets::default().restore(&store, &row, &lessened), "not its agent any more");
}
