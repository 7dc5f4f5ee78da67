//! OAuth login to an upstream server: a person consents in a browser, and the tokens are stored for
//! the gateway.
//!
//! The link is shown, never opened: a text of a server must not become part of a command line. Used
//! by the command and by the running gateway.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::Uri;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tollgate_engine::settings::{
    HttpEndpoint, OauthLoginSettings, Server, ServerAuth, ServerTransport,
};
use tollgate_engine::upstream::ConsentPromptError;
use tollgate_engine::upstream::authorize::{
    Authorization, AuthorizationCode, ConsentPrompt, OauthClientIdentity,
};
use tollgate_engine::upstream::login::LoginTokenStore;
use tollgate_store::Store;

/// Time limit for the person.
const CONSENT_TIMEOUT: Duration = Duration::from_secs(600);
/// Timeout for a browser's request.
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const LARGEST_HEAD: usize = 16 * 1024;
/// Concurrent connections. Browsers open some that they never use.
const MAX_VISITORS: usize = 32;
const PATH: &str = "/callback";

/// Receives the link to open.
pub(crate) type ShowLink = Box<dyn Fn(String) + Send + Sync>;

/// A server with OAuth login.
#[derive(Clone, Copy)]
pub(crate) struct OauthConsent<'a> {
    server: &'a Server,
    endpoint: &'a HttpEndpoint,
    login: &'a OauthLoginSettings,
}

/// Why a server needs no login.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NeedsNoLoginError {
    #[error("`{0}` is a local process and needs no login")]
    LocalProcess(String),
    #[error("`{0}` needs no login; set `auth: {{ login: true }}` if it does")]
    NotConfigured(String),
}

/// Why there is no consent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsentError {
    #[error("cannot listen: {0}")]
    Listen(io::Error),
    #[error("nobody completed the login within 10 minutes")]
    Timeout,
    /// A message of the authorization flow.
    #[error("{0}")]
    Flow(String),
}

impl<'a> OauthConsent<'a> {
    pub(crate) fn to(server: &'a Server) -> Result<Self, NeedsNoLoginError> {
        let name = || server.id.to_string();
        let endpoint = match &server.transport {
            ServerTransport::StreamableHttp(endpoint) | ServerTransport::Sse(endpoint) => endpoint,
            ServerTransport::Stdio(_) => {
                return Err(NeedsNoLoginError::LocalProcess(name()));
            }
        };
        match &endpoint.auth {
            ServerAuth::Login(login) => Ok(Self { server, endpoint, login }),
            _ => Err(NeedsNoLoginError::NotConfigured(name())),
        }
    }

    /// Waits for the consent, with a timeout. The browser is redirected to this machine.
    pub(crate) async fn ask(self, store: Arc<Store>, show: ShowLink) -> Result<(), ConsentError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(ConsentError::Listen)?;
        let port = listener.local_addr().map_err(ConsentError::Listen)?.port();
        let tokens = LoginTokenStore::new(store, &self.server.id, &self.endpoint.url)
            .map_err(|why| ConsentError::Flow(why.to_string()))?;
        let authorization = Authorization {
            server_url: self.endpoint.url.clone(),
            redirect_uri: format!("http://127.0.0.1:{port}{PATH}"),
            identity: identity(self.login),
            issuer: self.login.issuer.clone(),
            scopes: self.login.scopes.clone(),
        };
        let code =
            AuthorizationCode::new(authorization, open(listener, port, show)).keeping(tokens);
        match timeout(CONSENT_TIMEOUT, code.ask()).await {
            Ok(outcome) => outcome.map_err(|why| ConsentError::Flow(why.to_string())),
            Err(_) => Err(ConsentError::Timeout),
        }
    }
}

fn identity(login: &OauthLoginSettings) -> OauthClientIdentity {
    match &login.client_id {
        Some(client_id) => OauthClientIdentity::Registered {
            client_id: client_id.clone(),
            client_secret: login.client_secret.clone(),
        },
        None => {
            OauthClientIdentity::Unregistered { name: "tollgate".to_owned(), metadata_url: None }
        }
    }
}

/// Shows the link and waits for the redirect. Other connections do not block it.
fn open(listener: TcpListener, port: u16, show: ShowLink) -> ConsentPrompt {
    let listener = Arc::new(listener);
    Box::new(move |url| {
        let listener = Arc::clone(&listener);
        let state = query_value(&url, "state").unwrap_or_default().to_owned();
        let is_page = is_page(&url);
        if is_page {
            show(url);
        }
        Box::pin(async move {
            if !is_page {
                let message = "the authorization server has no valid login page";
                return Err(ConsentPromptError(message.to_owned()));
            }
            let mut visitors = FuturesUnordered::new();
            loop {
                tokio::select! {
                    accepted = listener.accept(), if visitors.len() < MAX_VISITORS => {
                        let (stream, _) = accepted.map_err(|error| ConsentPromptError(error.to_string()))?;
                        visitors.push(callback(stream, &state));
                    }
                    Some(target) = visitors.next() => if let Some(target) = target {
                        return Ok(format!("http://127.0.0.1:{port}{target}"));
                    }
                }
            }
        })
    })
}

/// The raw value of a query parameter.
fn query_value<'a>(url: &'a str, name: &str) -> Option<&'a str> {
    let query = url.split_once('?')?.1.split('#').next()?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// HTTPS, or on this machine.
fn is_page(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let host = uri.host().unwrap_or_default();
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let is_here = host == "localhost" || address.is_some_and(|it| it.is_loopback());
    match uri.scheme_str() {
        Some("https") => !host.is_empty(),
        Some("http") => is_here,
        _ => false,
    }
}

/// The redirect of a browser, if it belongs to the login with this state. `None` for any other
/// request, such as one of a page that guesses the port.
async fn callback(mut stream: TcpStream, state: &str) -> Option<String> {
    let head = timeout(REQUEST_HEAD_TIMEOUT, head(&mut stream)).await.ok()??;
    let target = head.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    let is_callback = target.split('?').next() == Some(PATH);
    let is_ours = is_callback && query_value(&target, "state") == Some(state);
    let (status, text) = match (is_ours, is_callback) {
        (true, _) => ("200 OK", "Login complete. You may close this page."),
        (false, true) => ("400 Bad Request", "This response does not belong to the current login."),
        (false, false) => ("404 Not Found", "Not found."),
    };
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}"
    );
    let _ = timeout(REQUEST_HEAD_TIMEOUT, stream.write_all(answer.as_bytes())).await;
    is_ours.then_some(target)
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        head.extend_from_slice(&part[..count]);
        if head.len() > LARGEST_HEAD {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn s_18_only_pages_over_tls_or_on_this_machine_are_shown() {
        for url in [
            "https://login.example.com/authorize?x=1",
            "http://127.0.0.1:8080/authorize",
            "http://[::1]/a",
            "http://localhost:9/a",
        ] {
            assert!(is_page(url), "{url}");
        }
        for url in [
            "http://login.example.com/authorize",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "a:$(touch x)",
            "--flag",
            "/authorize",
            "https://",
            "http://127.0.0.1.example.com/",
            "",
        ] {
            assert!(!is_page(url), "{url}");
        }
    }
}
