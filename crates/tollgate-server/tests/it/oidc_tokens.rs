//! Tokens of an issuer at the door, through real sockets.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::id::AgentId;
use tollgate_core::turn::PrincipalGrant;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_server::oidc::{ClaimMatcher, OidcConfig, TokenRule};
use tollgate_server::{Limits, Right, Rights};

use crate::client::{Call, Reply};
use crate::hostile_servers::{Hostile, SERVERS};
use crate::oidc_issuer::{Issuer, RESOURCE, now};
use crate::stage::{Setup, Stage, key};

const METADATA: &str = "https://gate.example/.well-known/oauth-protected-resource/mcp";

async fn stage(auth: OidcConfig) -> Stage {
    Stage::with(Setup { auth: Some(auth), ..Setup::default() }).await
}

fn bearing(call: Call, token: &str) -> Call {
    call.header("authorization", &format!("Bearer {token}"))
}

async fn lists(stage: &Stage, token: &str) -> Reply {
    bearing(stage.modern("tools/list", json!({})), token).send().await
}

fn echo() -> Value {
    json!({"name": "echo", "arguments": {"text": "x"}})
}

#[tokio::test]
async fn a_token_of_the_issuer_lets_in_and_nothing_else_does() {
    let issuer = Issuer::start().await;
    let stage = stage(issuer.auth()).await;
    let good = issuer.token(&issuer.claims());
    assert_eq!(lists(&stage, &good).await.brief(), "200 ok");
    let call = bearing(stage.modern("tools/call", echo()), &good);
    assert_eq!(call.brief().await, "200 ok");
    let without = stage.modern("tools/list", json!({})).send().await;
    assert_eq!(without.status, 401, "not even on loopback");
    let with = |name: &str, value: Value| {
        let mut claims = issuer.claims();
        claims[name] = value;
        issuer.token(&claims)
    };
    let stranger = Issuer::start().await;
    for (token, message) in [
        (with("exp", json!(now() - 61)), "the token has expired"),
        (with("nbf", json!(now() + 120)), "the token is not valid yet"),
        (with("aud", json!("https://other.example/mcp")), "the token is for another audience"),
        (with("iss", json!("https://other.example")), "the token is of another issuer"),
        (stranger.token(&issuer.claims()), "the signature of the token is invalid"),
        (with("sub", json!("")), "the token has no subject"),
        (format!("eyJ.{}.x", "a".repeat(17 << 10)), "the token is longer than 16 KiB"),
        ("eyJ.x.y".to_owned(), "the token is malformed"),
    ] {
        let refused = lists(&stage, &token).await;
        assert_eq!(refused.status, 401, "{message}: {refused:?}");
        assert!(refused.text.contains(message), "{message}: {refused:?}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    }
}

#[tokio::test]
async fn whoever_is_refused_is_told_where_tokens_come_from() {
    let issuer = Issuer::start().await;
    let stage = stage(issuer.auth()).await;
    let list = stage.modern("tools/list", json!({})).send().await;
    let expected = format!("Bearer resource_metadata=\"{METADATA}\", scope=\"tollgate:execute\"");
    assert_eq!(list.header("www-authenticate").unwrap(), expected);
    let legacy = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let legacy = stage.post(legacy.to_string()).path("/mcp/sage").send().await;
    let challenge = legacy.header("www-authenticate").unwrap();
    assert!(challenge.contains(&format!("resource_metadata=\"{METADATA}/sage\"")), "{challenge}");
    for (path, resource) in [
        ("/.well-known/oauth-protected-resource", RESOURCE.to_owned()),
        ("/.well-known/oauth-protected-resource/mcp", RESOURCE.to_owned()),
        ("/.well-known/oauth-protected-resource/mcp/sage", format!("{RESOURCE}/sage")),
    ] {
        let metadata = stage.request("GET", path).send().await;
        assert_eq!(metadata.status, 200, "{path}");
        let metadata = metadata.json();
        assert_eq!(metadata["resource"], resource);
        assert_eq!(
            metadata["authorization_servers"],
            json!([format!("http://{}", issuer.address)])
        );
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
        assert_eq!(metadata["scopes_supported"], json!(["tollgate:execute"]));
    }
    let odd = stage.request("GET", "/.well-known/oauth-protected-resource/mcp/a%22b");
    assert_eq!(odd.send().await.status, 404);
    let without = Stage::start().await;
    let none = without.request("GET", "/.well-known/oauth-protected-resource/mcp");
    assert_eq!(none.send().await.status, 404, "there is no issuer");
}

#[tokio::test]
async fn a_token_without_the_scope_is_told_which_one() {
    let issuer = Issuer::start().await;
    let stage = stage(issuer.auth()).await;
    let mut claims = issuer.claims();
    claims["scope"] = json!("openid tollgate:override_tier");
    let token = issuer.token(&claims);
    assert_eq!(lists(&stage, &token).await.brief(), "200 ok");
    for call in [
        stage.modern("tools/call", echo()),
        stage.post(echo().to_string()).path("/v1/tools/execute"),
    ] {
        let refused = bearing(call, &token).send().await;
        assert_eq!(refused.status, 403, "{refused:?}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert_eq!(
            challenge,
            format!(
                "Bearer error=\"insufficient_scope\", scope=\"tollgate:override_tier \
                 tollgate:execute\", resource_metadata=\"{METADATA}\""
            )
        );
    }
    let status = bearing(stage.request("GET", "/mcp/status"), &token).send().await;
    assert_eq!(status.status, 403);
    assert_eq!(stage.calls(), 0);
}

#[tokio::test]
async fn a_token_for_one_agent_is_for_that_agent_alone() {
    let issuer = Issuer::start().await;
    let stage = stage(issuer.auth()).await;
    let mut claims = issuer.claims();
    claims["aud"] = json!([format!("{RESOURCE}/sage")]);
    let token = issuer.token(&claims);
    let list = |path: &str| bearing(stage.modern("tools/list", json!({})), &token).path(path);
    assert_eq!(list("/mcp/sage").brief().await, "200 ok");
    for path in ["/mcp", "/mcp/default", "/v1/tools", "/api/keys"] {
        assert_eq!(list(path).send().await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn rules_say_what_a_token_is_good_for() {
    let issuer = Issuer::start().await;
    let rule = |group: &str, agents: &[&str], rights: &[Right]| TokenRule {
        when: Some(ClaimMatcher { name: "groups".to_owned(), value: group.to_owned() }),
        agents: Some(agents.iter().map(|it| AgentId::parse(it).unwrap()).collect()),
        rights: rights.iter().copied().collect(),
        grant: PrincipalGrant::default(),
    };
    let rules = vec![rule("phones", &["sage"], &[Right::Execute]), rule("ops", &[], &Right::ALL)];
    let stage = stage(OidcConfig { rules, ..issuer.auth() }).await;
    let token = |groups: Value| {
        let mut claims = issuer.claims();
        claims["groups"] = groups;
        issuer.token(&claims)
    };
    let phone = token(json!(["phones"]));
    let listed = lists(&stage, &phone).await.text;
    assert!(listed.contains("\"echo\"") && !listed.contains("\"wait\""), "{listed}");
    let other = bearing(stage.modern("tools/list", json!({})), &phone).path("/mcp/default");
    assert_eq!(other.send().await.status, 403);
    assert_eq!(lists(&stage, &token(json!(["nobody"]))).await.status, 403);
    let status = bearing(stage.request("GET", "/mcp/status"), &token(json!("ops")));
    assert_eq!(status.send().await.status, 200);
}

#[tokio::test]
async fn s_14_a_session_is_for_its_subject_and_never_does_more_than_the_token() {
    let issuer = Issuer::start().await;
    let stage = stage(issuer.auth()).await;
    let token = |subject: &str, scope: &str| {
        let mut claims = issuer.claims();
        (claims["sub"], claims["scope"]) = (json!(subject), json!(scope));
        issuer.token(&claims)
    };
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let opened = bearing(stage.post(hello.to_string()), &token("ada", "tollgate:execute"));
    let id = opened.send().await.header("mcp-session-id").expect("a session");
    let call = |token: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": echo()});
        bearing(stage.post(body.to_string()), token).header("mcp-session-id", &id)
    };
    assert_eq!(call(&token("ada", "tollgate:execute")).brief().await, "200 ok");
    assert_eq!(call(&token("ada", "openid")).brief().await, "403 -32600");
    assert_eq!(call(&token("eve", "tollgate:execute")).brief().await, "404 -32600");
    assert_eq!(stage.calls(), 1);
}

#[tokio::test]
async fn an_event_stream_ends_with_its_token() {
    let issuer = Issuer::start().await;
    let stage = stage(issuer.auth()).await;
    let mut claims = issuer.claims();
    claims["exp"] = json!(now() - 58);
    let listen = stage.modern("subscriptions/listen", json!({"notifications": {}}));
    let mut stream = bearing(listen, &issuer.token(&claims)).stream().await;
    stream.next().await.expect("acknowledged");
    let last = stream.next().await.expect("the reason").to_string();
    assert!(last.contains("expired"), "{last}");
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn the_issuer_is_asked_again_for_a_new_key_but_not_for_every_token() {
    let issuer = Issuer::start().await;
    let stage = stage(issuer.auth()).await;
    let first = issuer.token(&issuer.claims());
    assert_eq!(lists(&stage, &first).await.brief(), "200 ok");
    assert_eq!(issuer.fetch_all(), 1);
    issuer.add_key("' OR 1=1--");
    let unknown = issuer.token(&issuer.claims());
    let requests = (0..50).map(|_| lists(&stage, &unknown));
    for refused in futures_util::future::join_all(requests).await {
        assert!([401, 429].contains(&refused.status), "too soon to ask again: {refused:?}");
    }
    assert_eq!(issuer.fetch_all(), 1, "a flood of unknown keys is no flood for the issuer");
    assert_eq!(lists(&stage, &first).await.brief(), "200 ok");
}

#[tokio::test]
async fn an_issuer_may_exchange_its_keys() {
    let issuer = Issuer::start().await;
    let limits = Limits { issuer_pause: Duration::from_millis(50), ..Limits::default() };
    let setup = Setup { auth: Some(issuer.auth()), limits, ..Setup::default() };
    let stage = Stage::with(setup).await;
    let old = issuer.token(&issuer.claims());
    assert_eq!(lists(&stage, &old).await.brief(), "200 ok");
    tokio::time::sleep(Duration::from_millis(60)).await;
    issuer.add_key("second");
    let new = issuer.token(&issuer.claims());
    let requests = (0..20).map(|_| lists(&stage, &new));
    for reply in futures_util::future::join_all(requests).await {
        assert_eq!(reply.brief(), "200 ok", "each waits for the one that asks");
    }
    // A wish that comes just after the keys is heard once more.
    assert!((2..=3).contains(&issuer.fetch_all()), "one asks for all: {}", issuer.fetch_all());
    assert_eq!(lists(&stage, &old).await.brief(), "200 ok");
    issuer.forget_key("first");
    tokio::time::sleep(Duration::from_millis(60)).await;
    issuer.add_key("third");
    let third = issuer.token(&issuer.claims());
    // If it was asked a third time just now, it rests first.
    for _ in 0..20 {
        if lists(&stage, &third).await.status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(lists(&stage, &third).await.brief(), "200 ok");
    assert_eq!(lists(&stage, &old).await.status, 401, "what the issuer took back");
}

#[tokio::test]
async fn an_issuer_in_trouble_is_not_asked_again_for_every_token() {
    let issuer = Issuer::start().await;
    let limits = Limits { issuer_pause: Duration::from_secs(1), ..Limits::default() };
    let jwks_url = Some(format!("http://{}/keys", issuer.address));
    let auth = Some(OidcConfig { jwks_url, ..issuer.auth() });
    let stage = Stage::with(Setup { auth, limits, ..Setup::default() }).await;
    assert_eq!(lists(&stage, &issuer.token(&issuer.claims())).await.brief(), "200 ok");
    issuer.go_down();
    issuer.add_key("unknown");
    let unknown = issuer.token(&issuer.claims());
    tokio::time::sleep(Duration::from_millis(1_010)).await;
    let began = SystemClock.now();
    for _ in 0..10 {
        assert_eq!(lists(&stage, &unknown).await.status, 401);
    }
    let fetched = issuer.fetch_all();
    // Once more for each pause that a busy machine takes for all of them.
    let most = 2 + SystemClock.now().duration_since(began).as_secs();
    let counted = "the pause is counted from the attempt that failed";
    assert!((2..=most).contains(&(fetched as u64)), "{counted}: {fetched}");
}

#[tokio::test]
async fn b_oa_6_an_issuer_that_is_away_is_no_way_in() {
    let issuer = Issuer::start().await;
    issuer.go_down();
    let stage = stage(issuer.auth()).await;
    let refused = lists(&stage, &issuer.token(&issuer.claims())).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.text.contains("not been fetched yet"), "{refused:?}");
    let list = stage.request("GET", "/v1/tools");
    let token = format!("Bearer {}", issuer.token(&issuer.claims()));
    let refused = list.header("authorization", &token).send().await;
    assert_eq!(refused.code(), "503 issuer_unreachable");
    assert_eq!(stage.modern("tools/list", json!({})).send().await.status, 401);
    let admin = stage.modern("tools/list", json!({})).by_admin();
    assert_eq!(admin.brief().await, "200 ok", "keys do not need the issuer");
}

#[tokio::test]
async fn keys_that_are_known_count_while_the_issuer_is_away() {
    let issuer = Issuer::start().await;
    let stage = stage(issuer.auth()).await;
    let token = issuer.token(&issuer.claims());
    assert_eq!(lists(&stage, &token).await.brief(), "200 ok");
    issuer.go_down();
    assert_eq!(lists(&stage, &token).await.brief(), "200 ok");
}

#[tokio::test]
async fn b_oa_6_a_set_that_is_none_lets_nobody_in() {
    for document in
        [json!({}), json!({"keys": []}), json!({"keys": [{"kty": "oct", "k": "c2VjcmV0"}]})]
    {
        let issuer = Issuer::start().await;
        issuer.say_instead_of_keys(document);
        let stage = stage(issuer.auth()).await;
        assert_eq!(lists(&stage, &issuer.token(&issuer.claims())).await.status, 503);
    }
}

/// Neither whose metadata speaks for another, nor whose keys are at a place that nobody may be sent to.
#[tokio::test]
async fn b_oa_3_and_6_metadata_of_an_issuer_that_cannot_be_trusted_lets_nobody_in() {
    let check = async |change: &dyn Fn(&str) -> Value| {
        let issuer = Issuer::start().await;
        let document = change(&format!("http://{}", issuer.address));
        issuer.say_instead_of_metadata(document.clone());
        let stage = stage(issuer.auth()).await;
        let began = SystemClock.now();
        let refused = lists(&stage, &issuer.token(&issuer.claims())).await;
        assert_eq!(refused.status, 503, "{:.200}: {refused:?}", document.to_string());
        assert!(began.elapsed() < Duration::from_secs(10), "{:.200}", document.to_string());
        assert_eq!(issuer.fetch_all(), 0, "{:.200}", document.to_string());
        let admin = stage.modern("tools/list", json!({})).by_admin();
        assert_eq!(admin.brief().await, "200 ok", "keys do not need the issuer");
    };
    check(&|url| json!({"jwks_uri": format!("{url}/keys")})).await;
    for other in ["", "/", "/tenant", ".evil.example"] {
        let named = |url: &str| match other {
            "" => "https://other.example".to_owned(),
            other => format!("{url}{other}"),
        };
        check(&|url| json!({"issuer": named(url), "jwks_uri": format!("{url}/keys")})).await;
    }
    for keys in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://10.0.0.5/keys",
        "http://169.254.169.254/latest",
        "/keys",
        "",
    ] {
        check(&|url| json!({"issuer": url, "jwks_uri": keys})).await;
    }
    check(&|url| json!({"issuer": url})).await;
    check(&|url| json!({"issuer": url, "jwks_uri": 5})).await;
    check(&|_| json!([])).await;
    let large = "x".repeat(10 << 20);
    check(&|url| json!({"issuer": url, "jwks_uri": format!("{url}/keys"), "x": large})).await;
}

#[tokio::test]
async fn wrong_tokens_are_slowed_down_and_right_ones_never() {
    let issuer = Issuer::start().await;
    let stage = stage(issuer.auth()).await;
    let good = issuer.token(&issuer.claims());
    let forged = Issuer::start().await.token(&issuer.claims());
    let mut statuses = Vec::new();
    for _ in 0..100 {
        statuses.push(lists(&stage, &forged).await.status);
        assert_eq!(lists(&stage, &good).await.status, 200, "beside a neighbour who forges");
    }
    assert_eq!(statuses[..30], [401; 30]);
    let throttled = statuses.iter().filter(|status| **status == 429).count();
    assert!(throttled > 20, "{statuses:?}");
    let metrics = stage.request("GET", "/metrics").by_admin().send().await.text;
    let counted = "tollgate_access_refused_total{reason=\"bad_token\"} 100\n";
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn keys_and_tokens_live_side_by_side() {
    let issuer = Issuer::start().await;
    let keys = vec![key("ops", "of-the-config", Rights::ALL)];
    let setup = Setup { auth: Some(issuer.auth()), keys: keys.clone(), ..Setup::default() };
    let stage = Stage::with(setup).await;
    let by_key = stage.modern("tools/list", json!({})).header("x-api-key", "of-the-config");
    assert_eq!(by_key.brief().await, "200 ok");
    let token = issuer.token(&issuer.claims());
    assert_eq!(lists(&stage, &token).await.brief(), "200 ok");
    let both = bearing(stage.modern("tools/list", json!({})), &token);
    assert_eq!(both.header("x-api-key", "of-the-config").send().await.status, 400);
    stage.front.set_access(keys, None);
    assert_eq!(
        lists(&stage, &token).await.status,
        401,
        "tokens of the issuer are no longer accepted"
    );
}

#[tokio::test]
async fn s_22_a_token_never_leaves_the_gateway() {
    let issuer = Issuer::start().await;
    let setup = Setup { auth: Some(issuer.auth()), ..Setup::default() };
    let hostile = Hostile::with(Duration::from_secs(5), setup).await;
    let token = issuer.token(&issuer.claims());
    for server in SERVERS {
        let say = json!({"name": format!("{server}_say")});
        let modern = bearing(hostile.stage.modern("tools/call", say.clone()), &token).send().await;
        let plain = hostile.stage.post(say.to_string()).path("/v1/tools/execute");
        for reply in [modern, bearing(plain, &token).send().await] {
            assert_eq!(reply.status, 200, "{server}: {reply:?}");
            assert!(!reply.text.contains(&token), "{server}");
        }
    }
    let received = String::from_utf8_lossy(&hostile.received.lock()).into_owned();
    assert!(received.contains("tools/call"));
    for part in token.split('.').chain(["eyJ", "authorization", "Bearer"]) {
        assert!(!received.contains(part), "{part} was heard");
    }
}
