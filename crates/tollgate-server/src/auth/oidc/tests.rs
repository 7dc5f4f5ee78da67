//! Tokens that are good, and all those that are not. Keys are made here and thrown away; of RSA,
//! which cannot be made here, the public half and tokens by it are kept in a file.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

use super::jwk::Jwks;
use super::jwt::{Jwt, JwtRequirements};
use super::{ClaimMatcher, Oidc, OidcConfig, TokenRule};
use crate::auth::{Fingerprint, Right, Rights};

const ISSUER: &str = "https://idp.example";
const AUDIENCE: &str = "https://gate.example/mcp";
const NOW: u64 = 1_000_000;

fn encode_token(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Something that signs, and the key by which that is seen.
struct Signer {
    ec: EcdsaKeyPair,
    ed: Ed25519KeyPair,
    random: SystemRandom,
}

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ec = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec_document = EcdsaKeyPair::generate_pkcs8(ec, &random).unwrap();
        let ed_document = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            ec: EcdsaKeyPair::from_pkcs8(ec, ec_document.as_ref(), &random).unwrap(),
            ed: Ed25519KeyPair::from_pkcs8(ed_document.as_ref()).unwrap(),
            random,
        }
    }

    fn jwks(&self) -> Value {
        let point = self.ec.public_key().as_ref();
        let x = encode_token(&point[1..33]);
        let y = encode_token(&point[33..]);
        let ed = encode_token(self.ed.public_key());
        json!({"keys": [
            {"kty": "EC", "crv": "P-256", "kid": "ec", "x": x, "y": y},
            {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "alg": "EdDSA", "x": ed},
        ]})
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let signed =
            format!("{}.{}", encode_token(header.to_string()), encode_token(claims.to_string()));
        let signature = match header["alg"].as_str() {
            Some("EdDSA") => self.ed.sign(signed.as_bytes()).as_ref().to_vec(),
            _ => self.ec.sign(&self.random, signed.as_bytes()).unwrap().as_ref().to_vec(),
        };
        format!("{signed}.{}", encode_token(signature))
    }
}

fn claims() -> Value {
    json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": NOW + 300})
}

/// `claims()` with some of them changed; `null` takes one out.
fn with(changes: &Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

/// `ok`, or what is wrong with the token.
fn judge_token(document: &Value, token: &str, now: u64) -> &'static str {
    let keys = Jwks::read(document).expect("a set of keys");
    let audiences = [Some(AUDIENCE.to_owned()), None];
    let terms = JwtRequirements { issuer: ISSUER, audiences: &audiences, now: at(now) };
    let judged = Jwt::parse(token.as_bytes()).and_then(|token| {
        token.verify(keys.find(token.algorithm, token.kid.as_deref()).ok_or("no such key")?)?;
        token.check(&terms)
    });
    judged.map_or_else(|flaw| flaw, |_| "ok")
}

#[test]
fn s_22_a_token_counts_for_its_audience_issuer_and_time_only() {
    let signer = Signer::new();
    let header = json!({"alg": "ES256", "kid": "ec", "typ": "at+jwt"});
    for (changes, expected) in [
        (json!({}), "ok"),
        (json!({"aud": ["x", AUDIENCE]}), "ok"),
        (json!({"exp": NOW - 59}), "ok"),
        (json!({"exp": NOW as f64 + 0.5}), "ok"),
        (json!({"nbf": NOW + 60}), "ok"),
        (json!({"exp": NOW - 60}), "the token has expired"),
        (json!({"exp": 0}), "the token has expired"),
        (json!({"exp": null}), "the token has no expiry (`exp`)"),
        (json!({"exp": "1000300"}), "a time in the token is invalid"),
        (json!({"exp": -1}), "a time in the token is invalid"),
        (json!({"exp": 1e300}), "a time in the token is invalid"),
        (json!({"nbf": NOW + 61}), "the token is not valid yet"),
        (json!({"nbf": "soon"}), "a time in the token is invalid"),
        (json!({"iss": null}), "the token is of another issuer"),
        (json!({"iss": format!("{ISSUER}/")}), "the token is of another issuer"),
        (json!({"iss": "https://IDP.example"}), "the token is of another issuer"),
        (json!({"iss": [ISSUER]}), "the token is of another issuer"),
        (json!({"aud": null}), "the token is for another audience (`aud`)"),
        (json!({"aud": []}), "the token is for another audience (`aud`)"),
        (json!({"aud": "https://gate.example"}), "the token is for another audience (`aud`)"),
        (json!({"aud": format!("{AUDIENCE}/sage")}), "the token is for another audience (`aud`)"),
        (json!({"aud": {AUDIENCE: true}}), "the token is for another audience (`aud`)"),
    ] {
        let token = signer.token(&header, &with(&changes));
        assert_eq!(judge_token(&signer.jwks(), &token, NOW), expected, "{changes}");
    }
}

#[test]
fn s_22_only_signatures_by_a_private_key_count() {
    let signer = Signer::new();
    let other = Signer::new();
    let keys = signer.jwks();
    let judge = |header: Value| judge_token(&keys, &signer.token(&header, &claims()), NOW);
    let only = "the token must be signed with RS256, PS256, ES256 or EdDSA";
    for (header, expected) in [
        (json!({"alg": "ES256", "kid": "ec"}), "ok"),
        (json!({"alg": "EdDSA", "kid": "ed"}), "ok"),
        (json!({"alg": "ES256"}), "ok"),
        (json!({"alg": "EdDSA"}), "ok"),
        (json!({"alg": "none", "kid": "ec"}), only),
        (json!({"alg": "None"}), only),
        (json!({"alg": ""}), only),
        (json!({"kid": "ec"}), only),
        (json!({"alg": ["ES256"]}), only),
        (json!({"alg": "HS256", "kid": "ec"}), only),
        (json!({"alg": "ES384", "kid": "ec"}), only),
        (json!({"alg": "es256", "kid": "ec"}), only),
        (json!({"alg": "EdDSA", "kid": "ec"}), "no such key"),
        (json!({"alg": "RS256", "kid": "ec"}), "no such key"),
        (json!({"alg": "ES256", "kid": "ed"}), "no such key"),
        (json!({"alg": "ES256", "kid": "../../ec"}), "no such key"),
        (json!({"alg": "ES256", "kid": "ec' OR '1'='1"}), "no such key"),
        (json!({"alg": "ES256", "kid": "ec\u{0}"}), "no such key"),
        (json!({"alg": "ES256", "kid": ""}), "no such key"),
        (json!({"alg": "ES256", "kid": 1}), "the token has an invalid `kid`"),
        (json!({"alg": "ES256", "kid": "e".repeat(257)}), "the token has an invalid `kid`"),
        (
            json!({"alg": "ES256", "kid": "ec", "crit": ["b64"], "b64": false}),
            "the token has unsupported critical headers (`crit`)",
        ),
        (json!({"alg": "ES256", "kid": "ec", "jku": "https://evil.example/keys"}), "ok"),
    ] {
        assert_eq!(judge(header.clone()), expected, "{header}");
    }
    let header = json!({"alg": "ES256", "kid": "ec", "jwk": other.jwks()["keys"][0]});
    let forged = other.token(&header, &claims());
    assert_eq!(judge_token(&keys, &forged, NOW), "the signature of the token is invalid");
}

#[test]
fn s_22_b_oa_6_a_public_key_is_no_shared_secret() {
    let signer = Signer::new();
    let keys = signer.jwks();
    let header = encode_token(json!({"alg": "HS256", "kid": "ec"}).to_string());
    let signed = format!("{header}.{}", encode_token(claims().to_string()));
    let secret = hmac::Key::new(hmac::HMAC_SHA256, signer.ec.public_key().as_ref());
    let token = format!("{signed}.{}", encode_token(hmac::sign(&secret, signed.as_bytes())));
    assert!(judge_token(&keys, &token, NOW).starts_with("the token must be signed"));
    let shared = json!({"keys": [{"kty": "oct", "kid": "ec", "k": "c2VjcmV0", "alg": "HS256"}]});
    assert_eq!(Jwks::read(&shared).unwrap().len(), 0);
}

#[test]
fn a_token_that_was_touched_is_none() {
    let signer = Signer::new();
    let keys = signer.jwks();
    let token = signer.token(&json!({"alg": "ES256", "kid": "ec"}), &claims());
    for place in (0..token.len()).step_by(7) {
        let mut bytes = token.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        let touched = String::from_utf8(bytes).unwrap();
        assert_ne!(judge_token(&keys, &touched, NOW), "ok", "at {place}");
    }
    let (signed, signature) = token.rsplit_once('.').unwrap();
    for touched in [
        format!("{signed}."),
        format!("{signed}.{signature}="),
        format!("{signed}.{}", &signature[..20]),
        format!("{token}.{signature}"),
        signed.to_owned(),
        String::new(),
        "..".to_owned(),
        "eyJ.eyJ.".to_owned(),
    ] {
        assert_ne!(judge_token(&keys, &touched, NOW), "ok", "{touched}");
    }
    let twice = encode_token(r#"{"iss":"https://idp.example","sub":"ada","sub":"eve"}"#);
    let header = token.split('.').next().unwrap();
    assert_eq!(
        judge_token(&keys, &format!("{header}.{twice}.{signature}"), NOW),
        "the token is malformed"
    );
}

#[test]
fn tokens_by_rsa_count_if_the_key_is_long_enough() {
    let stored: Value = serde_json::from_str(include_str!("rsa.json")).unwrap();
    let token = |name: &str| stored["tokens"][name].as_str().unwrap();
    assert_eq!(judge_token(&stored, token("RS256"), NOW), "ok");
    assert_eq!(judge_token(&stored, token("PS256"), NOW), "ok");
    assert_eq!(judge_token(&stored, token("small"), NOW), "no such key", "1024 bits are too few");
    let mut bound = stored.clone();
    bound["keys"][0]["alg"] = json!("PS256");
    assert_eq!(
        judge_token(&bound, token("RS256"), NOW),
        "no such key",
        "it is for another algorithm"
    );
    let mut other = stored.clone();
    other["keys"][0]["use"] = json!("enc");
    assert_eq!(judge_token(&other, token("RS256"), NOW), "no such key");
    other = stored.clone();
    other["keys"][0]["key_ops"] = json!(["encrypt"]);
    assert_eq!(judge_token(&other, token("RS256"), NOW), "no such key");
}

#[test]
fn b_oa_6_a_set_of_a_thousand_keys_is_cut_and_odd_keys_are_passed_over() {
    let signer = Signer::new();
    let good = signer.jwks()["keys"][0].clone();
    let many = |kid: usize| {
        let mut key = good.clone();
        key["kid"] = json!(format!("k{kid}"));
        key
    };
    let thousand = json!({"keys": (0..1_000).map(many).collect::<Vec<_>>()});
    assert_eq!(Jwks::read(&thousand).unwrap().len(), 100);
    let token = |kid: &str| signer.token(&json!({"alg": "ES256", "kid": kid}), &claims());
    assert_eq!(judge_token(&thousand, &token("k99"), NOW), "ok");
    assert_eq!(judge_token(&thousand, &token("k100"), NOW), "no such key");
    let without = signer.token(&json!({"alg": "ES256"}), &claims());
    assert_eq!(judge_token(&thousand, &without, NOW), "no such key", "which one is not said");
    for odd in [
        json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}),
        json!({"kty": "EC", "crv": "P-384", "x": good["x"], "y": good["y"]}),
        json!({"kty": "EC", "crv": "P-256", "alg": "none", "x": good["x"], "y": good["y"]}),
        json!({"kty": "EC", "crv": "P-256", "alg": "RS256", "x": good["x"], "y": good["y"]}),
        json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"}),
        json!({"kty": "OKP", "crv": "Ed25519", "x": ""}),
        json!({"kty": "OKP", "crv": "X25519", "x": good["x"]}),
        json!({"kty": 5}),
        json!("key"),
        json!(null),
    ] {
        let set = json!({"keys": [odd, good]});
        assert_eq!(Jwks::read(&set).unwrap().len(), 1, "{odd}");
    }
    for none in [json!({}), json!({"keys": {}}), json!([]), json!(null)] {
        assert_eq!(Jwks::read(&none), None, "{none}");
    }
}

fn auth(rules: Vec<TokenRule>) -> OidcConfig {
    OidcConfig {
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        jwks_url: Some("http://127.0.0.1:9/keys".to_owned()),
        resource: AUDIENCE.to_owned(),
        scopes: vec!["tollgate:execute".to_owned()],
        claim: "sub".to_owned(),
        rules,
    }
}

fn rule(when: Option<(&str, &str)>, rights: &[Right]) -> TokenRule {
    let claim = |(name, value): (&str, &str)| ClaimMatcher {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    TokenRule {
        when: when.map(claim),
        agents: None,
        rights: rights.iter().copied().collect(),
        grant: tollgate_core::turn::PrincipalGrant::default(),
    }
}

/// Whom a token makes its bearer, or the code of the refusal.
fn make_key(auth: OidcConfig, changes: &Value) -> String {
    let oidc = Oidc::new(auth, Duration::from_secs(30));
    let token = Fingerprint::of(b"a token");
    match oidc.visitor(&with(changes), token, at(NOW + 300)) {
        Ok(None) => "other rules".to_owned(),
        Ok(Some(visitor)) => {
            let rights: Vec<&str> = visitor.rights.iter().map(Right::as_str).collect();
            format!("{} {}", visitor.principal.as_str(), rights.join(" "))
        }
        Err(problem) => problem.code.to_owned(),
    }
}

#[tokio::test]
async fn claims_make_a_principal_with_rights() {
    for (changes, expected) in [
        (json!({}), "oidc:ada "),
        (json!({"scope": "openid tollgate:execute"}), "oidc:ada execute"),
        (json!({"scp": ["tollgate:admin", "tollgate:execute"]}), "oidc:ada execute admin"),
        (json!({"scope": "execute tollgate: tollgate:fly TOLLGATE:admin"}), "oidc:ada "),
        (json!({"sub": null}), "bad_token"),
        (json!({"sub": ""}), "bad_token"),
        (json!({"sub": 7}), "bad_token"),
        (json!({"sub": "a\u{0}b"}), "bad_token"),
        (json!({"sub": "a".repeat(257)}), "bad_token"),
    ] {
        assert_eq!(make_key(auth(Vec::new()), &changes), expected, "{changes}");
    }
    let by_mail = OidcConfig { claim: "email".to_owned(), ..auth(Vec::new()) };
    assert_eq!(make_key(by_mail, &json!({"email": "ada@example.com"})), "oidc:ada@example.com ");
}

#[tokio::test]
async fn the_first_rule_that_fits_says_what_a_token_is_good_for() {
    let rules = || {
        vec![
            rule(Some(("realm.roles", "ops")), &[Right::Observe]),
            rule(Some(("groups", "callers")), &[Right::Execute]),
            rule(Some(("scope", "tools:call")), &[Right::Execute]),
            rule(Some(("verified", "true")), &[]),
        ]
    };
    for (changes, expected) in [
        (json!({"realm": {"roles": ["ops"]}, "groups": ["callers"]}), "oidc:ada observe"),
        (json!({"groups": ["a", "callers"]}), "oidc:ada execute"),
        (json!({"groups": "callers"}), "oidc:ada execute"),
        (json!({"groups": "callers and others"}), "no_rule"),
        (json!({"scope": "openid tools:call"}), "oidc:ada execute"),
        (json!({"verified": true, "scope": "tollgate:approve"}), "oidc:ada approve"),
        (json!({"scope": "tollgate:admin"}), "no_rule"),
        (json!({"realm": "ops"}), "no_rule"),
        (json!({}), "no_rule"),
    ] {
        assert_eq!(make_key(auth(rules()), &changes), expected, "{changes}");
    }
    let mut all = rules();
    all.push(rule(None, &[]));
    assert_eq!(make_key(auth(all), &json!({})), "oidc:ada ");
    let oidc = Oidc::new(auth(rules()), Duration::from_secs(30));
    assert_eq!(oidc.scope_of(Right::Execute), "tools:call");
    assert_eq!(oidc.scope_of(Right::Admin), "tollgate:admin");
    assert_eq!(Rights::NONE.iter().count(), 0);
}
