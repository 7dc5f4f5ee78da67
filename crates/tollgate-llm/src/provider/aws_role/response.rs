//! Credentials in the responses of AWS: JSON of a container or a machine, XML of the token service.

use aws_credential_types::Credentials;
use serde_json::Value;
use tollgate_core::date;

/// Named in the credentials themselves.
const PROVIDER: &str = "role";

pub(super) fn read_json_credentials(body: &[u8]) -> Result<Credentials, &'static str> {
    let body: Value = serde_json::from_slice(body).map_err(|_| "its answer is not JSON")?;
    // The metadata service reports failures with status 200.
    if body["Code"].as_str().is_some_and(|code| code != "Success") {
        return Err("it reports that the role cannot be assumed");
    }
    let field = |key: &str| body[key].as_str().map(str::to_owned);
    credentials(field, "Token")
}

pub(super) fn read_xml_credentials(body: &[u8]) -> Result<Credentials, &'static str> {
    let text = std::str::from_utf8(body).map_err(|_| "its answer is not text")?;
    credentials(|key| xml_field(text, key), "SessionToken")
}

fn credentials(
    field: impl Fn(&str) -> Option<String>,
    token_key: &str,
) -> Result<Credentials, &'static str> {
    let filled = |key: &str| field(key).filter(|value| !value.is_empty());
    let key_id = filled("AccessKeyId").ok_or("`AccessKeyId` is missing")?;
    let secret = filled("SecretAccessKey").ok_or("`SecretAccessKey` is missing")?;
    let token = filled(token_key).ok_or("the session token is missing")?;
    let expiration = filled("Expiration").ok_or("`Expiration` is missing")?;
    let expiration = date::parse(&expiration).ok_or("`Expiration` is not a time")?;
    Ok(Credentials::new(key_id, secret, Some(token), Some(expiration), PROVIDER))
}

/// The text of the first element of this name. Credentials have no character that XML escapes.
pub(super) fn xml_field(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (value, _) = rest.split_once(&format!("</{name}>"))?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{read_json_credentials, read_xml_credentials};

    const JSON: &str = r#"{"Code":"Success","AccessKeyId":"ASIA","SecretAccessKey":"s","Token":"t","Expiration":"2026-11-19T21:00:00Z"}"#;

    #[test]
    fn credentials_are_whole_or_refused() {
        let read = read_json_credentials(JSON.as_bytes()).unwrap();
        assert_eq!((read.access_key_id(), read.session_token()), ("ASIA", Some("t")));
        for (from, to) in [
            ("Success", "Failed"),
            ("AccessKeyId", "Id"),
            ("\"s\"", "\"\""),
            ("\"t\"", "7"),
            ("2026-11-19T21:00:00Z", "tomorrow"),
            ("Expiration", "Expires"),
            ("{", "["),
        ] {
            assert!(read_json_credentials(JSON.replace(from, to).as_bytes()).is_err(), "{to}");
        }
        let xml = "<R><Credentials><AccessKeyId> ASIA </AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
                   <SessionToken>t</SessionToken><Expiration>2026-11-19T21:00:00Z</Expiration></Credentials></R>";
        assert_eq!(read_xml_credentials(xml.as_bytes()).unwrap(), read);
        assert!(read_xml_credentials(xml.replace("</SessionToken>", "").as_bytes()).is_err());
    }
}
