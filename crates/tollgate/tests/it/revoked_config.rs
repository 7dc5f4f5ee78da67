//! Revoked means stopped, by a config that is loaded anew: a call in flight ends when its key loses the right, its agent the
//! tool, or its token the rule.

use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fake;
use crate::isolated_gateway::{Gateway, Python};

/// What a revocation may take. The promise is one second; a machine that builds and tests beside is slower.
const WITHIN: Duration = Duration::from_secs(5);
const KEY: &str = "ada-0123456789abcdef";
const AUDIENCE: &str = "https://gate.example/mcp";

/// A call in flight, and the change of the config that takes it away.
struct Revocation {
    /// Beside the server.
    config: Value,
    headers: String,
    change: fn(&mut Value),
    principal: &'static str,
    /// What the caller is told.
    reason: &'static str,
}

fn wait_until(what: &str, is: impl Fn() -> bool) {
    let came = (0..600).any(|_| {
        thread::sleep(Duration::from_millis(50));
        is()
    });
    assert!(came, "{what}");
}

fn has_row(gateway: &Gateway, principal: &str) -> bool {
    let rows = gateway.admin("GET /api/audit?outcome=revoked&limit=500", "");
    let rows: Value = serde_json::from_str(&rows).unwrap();
    let mut rows = rows["rows"].as_array().unwrap().iter();
    rows.any(|row| row["kind"] == "call" && row["principal"] == principal)
}

impl Revocation {
    fn assert_stops(self) {
        let folder = TempDir::new().unwrap();
        let mut config = self.config;
        config["servers"] = json!({"evil": Python::found().plain(folder.path(), "evil")});
        let gateway = Gateway::start_in(folder, &config, |command| command).ready(&["evil"]);
        let began = gateway.folder.path().join("evil/began");
        let code = format!("open({began:?}, 'w').close(); import time; time.sleep(50)");
        let call = json!({"name": "evil_do", "arguments": {"code": code}});
        thread::scope(|scope| {
            let calling = scope.spawn(|| gateway.post("/v1/tools/execute", &self.headers, &call));
            wait_until("the call runs", || began.exists() || calling.is_finished());
            assert!(!calling.is_finished(), "{}", calling.join().unwrap());
            (self.change)(&mut config);
            fs::write(gateway.folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
            let (status, text) = gateway.ask_as_admin("POST /api/reload", "");
            assert_eq!(status, 200, "{text}");
            #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
            let revoked = Instant::now();
            let answer = calling.join().unwrap();
            assert!(revoked.elapsed() < WITHIN, "it went on for {:?}", revoked.elapsed());
            assert!(answer.contains(self.reason), "{answer}");
        });
        wait_until("a row of the audit trail", || has_row(&gateway, self.principal));
    }
}

#[test]
fn a_call_of_a_key_that_loses_its_role_stops() {
    let key = |role: &str| json!([{"name": "ada", "key": KEY, "role": role}]);
    Revocation {
        config: json!({"keys": key("caller")}),
        headers: format!("x-api-key: {KEY}\r\n"),
        change: |config| config["keys"][0]["role"] = json!("operator"),
        principal: "key:ada",
        reason: "key `ada` was changed: it lost",
    }
    .assert_stops();
}

#[test]
fn a_call_of_an_agent_whose_list_loses_the_tool_stops() {
    Revocation {
        config: json!({
            "keys": [{"name": "ada", "key": KEY, "role": "caller"}],
            "agents": {"sage": {"tools": ["evil_do", "roll"]}},
        }),
        headers: format!("x-api-key: {KEY}\r\n"),
        change: |config| config["agents"]["sage"]["tools"] = json!(["roll"]),
        principal: "key:ada",
        reason: "may no longer call",
    }
    .assert_stops();
}

/// A token of an issuer, and the issuer's keys.
fn sign_token(issuer: &str) -> (String, Value) {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    #[expect(clippy::disallowed_methods, reason = "tokens expire by the clock of the system")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let header = json!({"alg": "ES256", "kid": "k", "typ": "at+jwt"});
    let claims = json!({"iss": issuer, "aud": AUDIENCE, "sub": "ada", "exp": now + 600});
    let [header, claims] = [header, claims].map(|it| encode(it.to_string().as_bytes()));
    let signed = format!("{header}.{claims}");
    let signature = key.sign(&random, signed.as_bytes()).unwrap();
    let point = key.public_key().as_ref();
    let public = json!({"kty": "EC", "crv": "P-256", "kid": "k", "use": "sig",
        "x": encode(&point[1..33]), "y": encode(&point[33..])});
    (format!("{signed}.{}", encode(signature.as_ref())), json!({"keys": [public]}))
}

#[test]
fn a_call_by_a_token_whose_rule_is_taken_out_stops() {
    let issuer = "http://127.0.0.1:1";
    let (token, keys) = sign_token(issuer);
    let keys: &'static str = keys.to_string().leak();
    let published = fake::serve(vec![("GET /keys", keys)].leak());
    let rule = |sub: &str| json!({"claim": "sub", "value": sub, "rights": ["execute"]});
    Revocation {
        config: json!({"auth": {
            "issuer": issuer,
            "jwks_url": format!("http://{}/keys", published.address),
            "audience": AUDIENCE,
            "resource": AUDIENCE,
            "rules": [rule("ada"), rule("bob")],
        }}),
        headers: format!("authorization: Bearer {token}\r\n"),
        change: |config| {
            config["auth"]["rules"].as_array_mut().unwrap().remove(0);
        },
        principal: "oidc:ada",
        reason: "the rules for tokens were changed",
    }
    .assert_stops();
}
