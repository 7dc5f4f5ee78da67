//! Credentials of a role of AWS, from fakes of the places that have them, which refuse what AWS
//! refuses.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json as value;
use tempfile::NamedTempFile;
use tollgate_core::date;
use tollgate_core::secret::Secret;
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_llm::error::LlmErrorKind;
use tollgate_llm::provider::{ModelHandle, ModelRegistry, RetryTarget};
use tollgate_llm::settings::{
    AwsCredentials, AwsRoleSource, BedrockSettings, CloudSettings, ContainerToken, ProviderKind,
    ProviderSettings,
};

use crate::aws_fake::{KEY_ID, REGION, SECRET_KEY, answer_with};
use crate::clouds::one_provider;
use crate::fake::{Act, Fake, Seen, json, response};
use crate::stage::{provider, read_stream, request};

const ROLE: &str = "gateway-role";
const ROLE_ARN: &str = "arn:aws:iam::123456789012:role/gateway";
const POD_TOKEN: &str = "pod-canary-0123456789";
const METADATA_SESSION: &str = "imds-canary-0123456789";

/// The places that have credentials of one role, and Bedrock, which only takes the last ones.
#[derive(Default)]
struct RoleHost {
    issued: AtomicU32,
    is_down: AtomicBool,
    has_no_role: bool,
}

impl RoleHost {
    async fn serve(self) -> (Arc<Self>, Fake) {
        let host = Arc::new(self);
        let served = Arc::clone(&host);
        (host, Fake::answering(move |seen| served.answer(seen)).await)
    }

    fn issued(&self) -> u32 {
        self.issued.load(Ordering::SeqCst)
    }

    fn answer(&self, seen: &Seen) -> Vec<Act> {
        let path = seen.path();
        if path.starts_with("/model/") {
            return answer_with(seen, Some(&format!("session-canary-{}", self.issued())));
        }
        if self.is_down.load(Ordering::SeqCst) {
            return json(500, r#"{"message":"down"}"#);
        }
        match path.strip_prefix("/latest/") {
            Some(path) => self.answer_metadata(seen, path),
            None if path == "/v1/credentials" => match seen.header("authorization") {
                Some(POD_TOKEN) if seen.head.starts_with("GET ") => self.issue(),
                _ => json(401, &value!({"message": format!("not {POD_TOKEN}")}).to_string()),
            },
            None if path == "/sts" => self.assume_role(seen),
            None => json(404, "{}"),
        }
    }

    /// IMDSv2, which the first version is refused.
    fn answer_metadata(&self, seen: &Seen, path: &str) -> Vec<Act> {
        let text =
            |body: &str| vec![Act::Send(response(200, &[("content-type", "text/plain")], body))];
        if path == "api/token" {
            let seconds = seen.header("x-aws-ec2-metadata-token-ttl-seconds");
            let seconds = seconds.and_then(|it| it.parse().ok()).unwrap_or(0);
            let is_right = seen.head.starts_with("PUT ") && (1..=21_600).contains(&seconds);
            return if is_right { text(METADATA_SESSION) } else { json(400, "{}") };
        }
        if seen.header("x-aws-ec2-metadata-token") != Some(METADATA_SESSION) {
            return json(401, "{}");
        }
        match path.strip_prefix("meta-data/iam/security-credentials/") {
            _ if self.has_no_role => json(404, "{}"),
            Some("") => text(&format!("{ROLE}\n")),
            Some(ROLE) => self.issue(),
            _ => json(404, "{}"),
        }
    }

    fn assume_role(&self, seen: &Seen) -> Vec<Act> {
        let expected = format!(
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}\
             &RoleSessionName=tollgate&WebIdentityToken={POD_TOKEN}",
            ROLE_ARN.replace(':', "%3A").replace('/', "%2F"),
        );
        let form = seen.header("content-type") == Some("application/x-www-form-urlencoded");
        if !form || seen.body != expected {
            let error =
                "<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error></ErrorResponse>";
            return vec![Act::Send(response(400, &[("content-type", "text/xml")], error))];
        }
        let (number, expiration) = self.next();
        let xml = format!(
            "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
             <AccessKeyId>{KEY_ID}</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>\
             <SessionToken>session-canary-{number}</SessionToken>\
             <Expiration>{expiration}</Expiration></Credentials>\
             </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
        );
        vec![Act::Send(response(200, &[("content-type", "text/xml")], &xml))]
    }

    /// Valid for an hour.
    fn next(&self) -> (u32, String) {
        let number = self.issued.fetch_add(1, Ordering::SeqCst) + 1;
        (number, date::format_rfc3339(SystemClock.wall() + Duration::from_secs(3_600)))
    }

    fn issue(&self) -> Vec<Act> {
        let (number, expiration) = self.next();
        let body = value!({
            "Code": "Success",
            "Type": "AWS-HMAC",
            "AccessKeyId": KEY_ID,
            "SecretAccessKey": SECRET_KEY,
            "Token": format!("session-canary-{number}"),
            "Expiration": expiration,
        });
        [vec![Act::Wait(Duration::from_millis(100))], json(200, &body.to_string())].concat()
    }
}

fn token_file(token: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    writeln!(file, "{token}").unwrap();
    file
}

fn container(fake: &Fake, token: ContainerToken) -> AwsRoleSource {
    let url = format!("http://{}/v1/credentials", fake.address);
    AwsRoleSource::Container { url, token: Some(token) }
}

fn instance(fake: &Fake) -> AwsRoleSource {
    AwsRoleSource::Instance { url: Some(format!("http://{}/", fake.address)) }
}

fn web_identity(fake: &Fake, token_file: &Path) -> AwsRoleSource {
    AwsRoleSource::WebIdentity {
        role_arn: ROLE_ARN.to_owned(),
        session_name: "tollgate".to_owned(),
        token_file: token_file.to_owned(),
        url: Some(format!("http://{}/sts", fake.address)),
    }
}

fn model(fake: &Fake, source: AwsRoleSource, clock: Arc<dyn Clock>) -> Arc<ModelHandle> {
    let credentials = AwsCredentials::Role(source);
    let bedrock = BedrockSettings { region: REGION.to_owned(), credentials };
    let settings = one_provider(ProviderSettings {
        api_key: None,
        cloud: Some(CloudSettings::Bedrock(bedrock)),
        ..provider(ProviderKind::Anthropic, fake.address)
    });
    ModelRegistry::new(&settings, clock, None).unwrap().find("m").unwrap()
}

/// A clock that a test puts forward. The time of day stays right: signatures have it.
#[derive(Default)]
struct ForwardedClock(Mutex<Duration>);

impl Clock for ForwardedClock {
    fn now(&self) -> Instant {
        SystemClock.now() + *self.0.lock()
    }

    fn wall(&self) -> SystemTime {
        SystemClock.wall()
    }
}

fn system() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

#[tokio::test]
async fn callers_at_once_share_the_credentials_of_each_place() {
    let file = token_file(POD_TOKEN);
    for source in [
        |fake: &Fake, _: &Path| container(fake, ContainerToken::Text(Secret::new(POD_TOKEN))),
        |fake: &Fake, path: &Path| container(fake, ContainerToken::File(path.to_owned())),
        |fake: &Fake, _: &Path| instance(fake),
        |fake: &Fake, path: &Path| web_identity(fake, path),
    ] {
        let (host, fake) = RoleHost::default().serve().await;
        let model = model(&fake, source(&fake, file.path()), system());
        let ask = async |number: usize| {
            let said = format!("caller {number}");
            let asked = request(&said);
            let text = if number.is_multiple_of(2) {
                model.ask(&asked).await.unwrap().text()
            } else {
                read_stream(model.stream(&asked).await.unwrap()).await.unwrap().text()
            };
            assert_eq!(text, format!("echo: {said}"));
        };
        join_all((0..8).map(ask)).await;
        assert_eq!(host.issued(), 1);
    }
}

#[tokio::test]
async fn credentials_are_renewed_before_they_expire() {
    let (host, fake) = RoleHost::default().serve().await;
    let file = token_file(POD_TOKEN);
    let clock = Arc::new(ForwardedClock::default());
    let source = container(&fake, ContainerToken::File(file.path().to_owned()));
    let model = model(&fake, source, Arc::clone(&clock) as Arc<dyn Clock>);
    let ask = async || model.ask(&request("hello")).await.map(|answer| answer.text());
    ask().await.unwrap();
    *clock.0.lock() = Duration::from_secs(3_200);
    ask().await.unwrap();
    assert_eq!(host.issued(), 1, "they are valid for another 400 seconds");
    *clock.0.lock() = Duration::from_secs(3_310);
    ask().await.unwrap();
    assert_eq!(host.issued(), 2);
    // They are used as long as they are valid if there are no others.
    host.is_down.store(true, Ordering::SeqCst);
    *clock.0.lock() = Duration::from_secs(3_310 + 3_400);
    ask().await.unwrap();
    *clock.0.lock() = Duration::from_secs(3_310 + 3_700);
    let error = ask().await.unwrap_err();
    let expected = "provider `fake` gives no access: the credentials endpoint of its container \
                    answered with HTTP 500; check `providers.fake.bedrock`";
    assert_eq!(error.failure.message, expected);
    assert!(matches!(error.again, RetryTarget::SameModel { .. }), "{error}");
    host.is_down.store(false, Ordering::SeqCst);
    ask().await.unwrap();
    assert_eq!(host.issued(), 3);
}

#[tokio::test]
async fn refused_credentials_are_replaced_once() {
    let (host, fake) = RoleHost::default().serve().await;
    let model = model(&fake, instance(&fake), system());
    model.ask(&request("hello")).await.unwrap();
    // Others have been issued, and so those of the gateway are not valid any more.
    host.issued.fetch_add(1, Ordering::SeqCst);
    assert_eq!(model.ask(&request("again")).await.unwrap().text(), "echo: again");
    assert_eq!(host.issued(), 3);
    let asked = fake.requests_seen().iter().filter(|it| it.path().starts_with("/model/")).count();
    assert_eq!(asked, 3);
}

#[tokio::test]
async fn why_there_are_no_credentials_is_told_without_secrets() {
    let (_, fake) = RoleHost::default().serve().await;
    let (_, bare) = RoleHost { has_no_role: true, ..RoleHost::default() }.serve().await;
    let wrong = token_file("wrong-canary-0123456789");
    let text = |token: &str| ContainerToken::Text(Secret::new(token));
    let nowhere = AwsRoleSource::Container { url: "http://127.0.0.1:1/".to_owned(), token: None };
    for (source, expected) in [
        (container(&fake, text("wrong")), "its container answered with HTTP 401;"),
        (
            container(&fake, ContainerToken::File("/nowhere/token".into())),
            "the file of its token, `/nowhere/token`, cannot be read",
        ),
        (container(&fake, text("two\nlines")), "its token has invalid characters"),
        (instance(&bare), "this machine of EC2 has no role"),
        (
            web_identity(&fake, wrong.path()),
            "the token service of AWS answered with HTTP 400 (InvalidIdentityToken);",
        ),
        (nowhere, "its container cannot be reached"),
    ] {
        let model = model(&fake, source, system());
        let failure = model.ask(&request("hello")).await.unwrap_err().failure;
        assert_eq!(failure.kind, LlmErrorKind::Provider);
        assert!(failure.message.contains(expected), "{failure}");
        assert!(!failure.message.contains("canary"), "{failure}");
    }
}

#[tokio::test]
async fn credentials_that_have_expired_are_no_credentials() {
    let body = value!({"AccessKeyId": KEY_ID, "SecretAccessKey": SECRET_KEY, "Token": "t",
        "Expiration": "2020-01-01T00:00:00Z"});
    let fake = Fake::start(vec![json(200, &body.to_string())]).await;
    let source = container(&fake, ContainerToken::Text(Secret::new(POD_TOKEN)));
    let failure = model(&fake, source, system()).ask(&request("hello")).await.unwrap_err().failure;
    assert!(failure.message.contains("sent no credentials: they have expired"), "{failure}");
}
