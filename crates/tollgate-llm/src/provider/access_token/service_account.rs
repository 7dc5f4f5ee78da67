//! Service accounts of Google: a JWT that is signed with the account's key and exchanged for an
//! access token (RFC 7523).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use super::AccessTokenError;
use crate::provider::config_error::ProviderSetupError;
use crate::settings::ServiceAccountKey;

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The longest that Google accepts.
const ASSERTION_SECONDS: u64 = 3_600;

pub(super) struct ServiceAccountSigner {
    key: RsaKeyPair,
    key_id: Option<String>,
    client_email: String,
    audience: String,
    random: SystemRandom,
}

impl ServiceAccountSigner {
    pub(super) fn new(account: &ServiceAccountKey) -> Result<Self, ProviderSetupError> {
        let pem = account.private_key.reveal().as_bytes();
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem)
            .map_err(|_| ProviderSetupError::PrivateKey("it is not PKCS #8 in PEM"))?;
        let key = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|_| {
            ProviderSetupError::PrivateKey("it is not an RSA key of 2048 bits or more")
        })?;
        Ok(Self {
            key,
            key_id: account.private_key_id.clone(),
            client_email: account.client_email.clone(),
            audience: account.token_url.clone(),
            random: SystemRandom::new(),
        })
    }

    /// What proves to Google who asks for a token.
    pub(super) fn assertion(&self, now: SystemTime) -> Result<String, AccessTokenError> {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut header = json!({ "alg": "RS256", "typ": "JWT" });
        if let Some(id) = &self.key_id {
            header["kid"] = id.as_str().into();
        }
        let claims = json!({
            "iss": self.client_email,
            "scope": SCOPE,
            "aud": self.audience,
            "iat": now,
            "exp": now + ASSERTION_SECONDS,
        });
        let encode = |part: String| URL_SAFE_NO_PAD.encode(part);
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &self.random, signed.as_bytes(), &mut signature)
            .map_err(|_| AccessTokenError::Unsigned)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}
