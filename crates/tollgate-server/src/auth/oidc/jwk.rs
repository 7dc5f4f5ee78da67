//! Public keys of an issuer (JWK), and verification of JWT signatures. Only asymmetric algorithms
//! are supported: no `none`, and no shared secrets.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

/// Limit on the keys of an issuer. Further ones are ignored.
const MAX_KEYS: usize = 100;
/// Shorter RSA keys can be broken. Longer ones only cost time.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JwtAlgorithm {
    Rs256,
    Ps256,
    Es256,
    EdDsa,
}

impl JwtAlgorithm {
    /// Case-sensitive: `rs256` is unknown.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Jwk {
    kid: Option<String>,
    /// The only algorithm the key is for, if it names one.
    algorithm: Option<JwtAlgorithm>,
    material: JwkMaterial,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum JwkMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// All usable keys of an issuer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Jwks {
    keys: Vec<Jwk>,
}

impl Jwks {
    /// Skips keys of other types and for other uses.
    pub(super) fn read(document: &Value) -> Option<Self> {
        let keys = document.get("keys")?.as_array()?;
        Some(Self { keys: keys.iter().filter_map(Jwk::read).take(MAX_KEYS).collect() })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The key that a token names. A token without a key id matches only if exactly one key fits.
    pub(super) fn find(&self, algorithm: JwtAlgorithm, kid: Option<&str>) -> Option<&Jwk> {
        let mut fitting = self.keys.iter().filter(|key| key.is_for(algorithm));
        match kid {
            Some(kid) => fitting.find(|key| key.kid.as_deref() == Some(kid)),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        }
    }
}

impl Jwk {
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if text("use").is_some_and(|usage| usage != "sig") {
            return None;
        }
        let operations = value.get("key_ops").and_then(Value::as_array);
        if operations.is_some_and(|all| !all.iter().any(|one| one.as_str() == Some("verify"))) {
            return None;
        }
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let n = bytes("n")?;
                let n = n.into_iter().skip_while(|byte| *byte == 0).collect::<Vec<u8>>();
                let e = bytes("e")?;
                RSA_BYTES.contains(&n.len()).then_some(JwkMaterial::Rsa { n, e })?
            }
            ("EC", Some("P-256")) => {
                let x = bytes("x")?;
                let y = bytes("y")?;
                let is_point = x.len() == 32 && y.len() == 32;
                is_point.then(|| JwkMaterial::P256([&[4], &x[..], &y[..]].concat()))?
            }
            ("OKP", Some("Ed25519")) => JwkMaterial::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
            _ => return None,
        };
        let algorithm = match text("alg") {
            None => None,
            Some(name) => Some(JwtAlgorithm::parse(name)?),
        };
        let key = Self { kid: text("kid").map(str::to_owned), algorithm, material };
        key.algorithm.is_none_or(|algorithm| key.is_for(algorithm)).then_some(key)
    }

    fn is_for(&self, algorithm: JwtAlgorithm) -> bool {
        let fits = match (&self.material, algorithm) {
            (JwkMaterial::Rsa { .. }, JwtAlgorithm::Rs256 | JwtAlgorithm::Ps256)
            | (JwkMaterial::P256(_), JwtAlgorithm::Es256)
            | (JwkMaterial::Ed25519(_), JwtAlgorithm::EdDsa) => true,
            (JwkMaterial::Rsa { .. } | JwkMaterial::P256(_) | JwkMaterial::Ed25519(_), _) => false,
        };
        fits && self.algorithm.is_none_or(|own| own == algorithm)
    }

    pub(super) fn verifies(
        &self,
        algorithm: JwtAlgorithm,
        signed: &[u8],
        signature: &[u8],
    ) -> bool {
        if !self.is_for(algorithm) {
            return false;
        }
        let verified = match (&self.material, algorithm) {
            (JwkMaterial::Rsa { n, e }, JwtAlgorithm::Ps256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, signed, signature)
            }
            (JwkMaterial::Rsa { n, e }, _) => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                signed,
                signature,
            ),
            (JwkMaterial::P256(point), _) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            (JwkMaterial::Ed25519(x), _) => {
                UnparsedPublicKey::new(&ED25519, x).verify(signed, signature)
            }
        };
        verified.is_ok()
    }
}
