//! Credentials of Bedrock that the gateway has where it runs: by the variables that AWS sets there.

use std::net::IpAddr;
use std::path::PathBuf;

use http::Uri;
use tollgate_core::secret::Secret;
use tollgate_llm::settings::{AwsCredentials, AwsRoleSource, ContainerToken};

use crate::check::endpoint;
use crate::diagnostic::Problems;
use crate::expand::Environment;
use crate::raw::{SectionFields, Spanned};

/// Where `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` is a path.
const ECS: &str = "http://169.254.170.2";
/// ECS and EKS Pod Identity. Elsewhere credentials are not sent in the clear.
const OPEN_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
const USUAL_SESSION_NAME: &str = "tollgate";

/// What `credentials` of a section `bedrock` says.
pub(super) struct RoleKey<'a> {
    pub(super) bedrock: &'a SectionFields,
    pub(super) named: Spanned<&'a str>,
    pub(super) environment: &'a dyn Environment,
}

impl RoleKey<'_> {
    pub(super) fn credentials(&self, problems: &mut Problems) -> Option<AwsCredentials> {
        let path = self.bedrock.path("credentials_url");
        let url = self.bedrock.text("credentials_url");
        let is_valid = url.map(|text| endpoint::url(text, &path, problems));
        let url = match is_valid {
            Some(None) => return None,
            Some(Some(url)) => Some(url),
            None => None,
        };
        match self.named.value {
            "container" => self.container(url, problems).map(AwsCredentials::Role),
            "instance" => Some(AwsCredentials::Role(AwsRoleSource::Instance { url })),
            "web_identity" => self.web_identity(url, problems).map(AwsCredentials::Role),
            _ => self.access_key(problems),
        }
    }

    /// `environment`: an access key, which may be temporary.
    fn access_key(&self, problems: &mut Problems) -> Option<AwsCredentials> {
        let access_key_id = self.require_variable("AWS_ACCESS_KEY_ID", problems)?;
        let secret_access_key = self.secret("AWS_SECRET_ACCESS_KEY", problems);
        let secret_access_key =
            secret_access_key.or_else(|| self.report_unset("AWS_SECRET_ACCESS_KEY", problems))?;
        let session_token = self.secret("AWS_SESSION_TOKEN", problems);
        Some(AwsCredentials::AccessKey { access_key_id, secret_access_key, session_token })
    }

    fn container(&self, url: Option<String>, problems: &mut Problems) -> Option<AwsRoleSource> {
        let of_task = || {
            let path = self.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")?;
            Some(format!("{ECS}{path}"))
        };
        let url =
            url.or_else(of_task).or_else(|| self.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
        let Some(url) = url else {
            let what =
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `AWS_CONTAINER_CREDENTIALS_FULL_URI";
            return self.report_unset(what, problems);
        };
        if !is_private_way(&url) {
            let message = format!("credentials must not come from `{url}` without TLS");
            self.error(message, problems)
                .help("only the addresses of ECS and EKS, and this machine, may be asked by http");
            return None;
        }
        let file = self.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        let token = match file {
            Some(path) => Some(ContainerToken::File(PathBuf::from(path))),
            None => {
                let token = self.secret("AWS_CONTAINER_AUTHORIZATION_TOKEN", problems);
                token.map(ContainerToken::Text)
            }
        };
        Some(AwsRoleSource::Container { url, token })
    }

    fn web_identity(&self, url: Option<String>, problems: &mut Problems) -> Option<AwsRoleSource> {
        let role_arn = self.require_variable("AWS_ROLE_ARN", problems)?;
        let token_file = self.require_variable("AWS_WEB_IDENTITY_TOKEN_FILE", problems)?;
        let session_name = self.variable("AWS_ROLE_SESSION_NAME");
        Some(AwsRoleSource::WebIdentity {
            role_arn,
            session_name: session_name.unwrap_or_else(|| USUAL_SESSION_NAME.to_owned()),
            token_file: PathBuf::from(token_file),
            url,
        })
    }

    fn variable(&self, name: &str) -> Option<String> {
        let value = self.environment.variable(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    fn secret(&self, name: &str, problems: &mut Problems) -> Option<Secret> {
        let value = self.variable(name)?;
        problems.values.note(name, &value);
        Some(Secret::new(value))
    }

    fn require_variable(&self, name: &str, problems: &mut Problems) -> Option<String> {
        self.variable(name).or_else(|| self.report_unset(name, problems))
    }

    fn report_unset<T>(&self, name: &str, problems: &mut Problems) -> Option<T> {
        let named = self.named.value;
        let message =
            format!("`credentials: {named}` needs the variable `{name}`, which is not set");
        self.error(message, problems).help(match named {
            "container" => "ECS and EKS Pod Identity set it; for a machine of EC2 write `instance`",
            "web_identity" => "EKS sets it for a service account with a role",
            _ => "set it, or write `container`, `instance` or `web_identity`",
        });
        None
    }

    fn error<'p>(
        &self,
        message: String,
        problems: &'p mut Problems,
    ) -> &'p mut crate::diagnostic::Diagnostic {
        problems.error(self.named.at, &self.bedrock.path("credentials"), message)
    }
}

/// TLS, this machine, or a network that AWS keeps within it.
fn is_private_way(url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else { return false };
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<IpAddr>();
    url.scheme_str() == Some("https")
        || host == "localhost"
        || OPEN_HOSTS.contains(&host)
        || address.is_ok_and(|address| address.is_loopback())
}
