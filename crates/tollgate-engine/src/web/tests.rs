//! Outgoing requests against small servers that speak raw HTTP, with names that a test makes up.

mod bodies;
mod namespace;
mod redirects;
mod urls;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tollgate_mcp::tasks::{self, Task};

use super::dial::Dialer;
use super::egress::{Egress, FetchedPage, PageRequest};
use super::resolve::Resolve;
use super::{AllowedHost, FetchError};

/// Names with the answers that they get, one after the other; the last one stays.
#[derive(Default)]
pub(crate) struct Names {
    known: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    lookups: AtomicUsize,
}

impl Names {
    /// `one.example 127.0.0.1,::1 then 10.0.0.5`, a name a line.
    fn read(text: &str) -> Arc<Self> {
        let names = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, answers) = line.split_once(' ').unwrap();
            let answers = answers.split(" then ").map(|answer| {
                answer.split(',').map(|it| it.trim().parse().unwrap()).collect::<Vec<IpAddr>>()
            });
            names.known.lock().insert(name.to_owned(), answers.collect());
        }
        Arc::new(names)
    }

    fn lookups(&self) -> usize {
        self.lookups.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Resolve for Names {
    async fn addresses(&self, name: &str) -> Vec<IpAddr> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        if name == "silent.example" {
            std::future::pending::<()>().await;
        }
        let mut known = self.known.lock();
        let Some(answers) = known.get_mut(name.trim_end_matches('.')) else { return Vec::new() };
        if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
    }
}

/// What a server does with a connection once it has read a request.
#[derive(Clone)]
pub(crate) enum Script {
    Says(Vec<u8>),
    Late(Duration, Vec<u8>),
    /// The first part, then the second one again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// A byte a second.
    Drips(Vec<u8>),
    Silent,
}

/// A server on this machine.
pub(crate) struct Site {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    _task: Task,
}

impl Site {
    /// By the path that is asked for.
    pub(crate) async fn start(answer: impl Fn(&str) -> Script + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0", answer).await
    }

    pub(crate) async fn at(
        address: &str,
        answer: impl Fn(&str) -> Script + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        let answer = Arc::new(answer);
        let task = tasks::spawn("site", async move {
            let group = tasks::TaskGroup::new("visitor", 100);
            while let Ok((stream, _)) = listener.accept().await {
                // A connection is a hit, whatever comes of it.
                let at = {
                    let mut noted = noted.lock();
                    noted.push(String::new());
                    noted.len() - 1
                };
                let noted = Arc::clone(&noted);
                let answer = Arc::clone(&answer);
                let _ =
                    group.spawn(async move { session_request(stream, &*answer, &noted, at).await });
            }
        });
        Self { port, requests, _task: task }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The requests, whole, one for each connection.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

/// One request and what the script says to it.
async fn session_request(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &(dyn Fn(&str) -> Script + Send + Sync),
    noted: &Mutex<Vec<String>>,
    at: usize,
) {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    while !complete(&request) {
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(read) => request.extend_from_slice(&chunk[..read]),
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    noted.lock()[at] = request;
    match answer(&path) {
        Script::Says(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Script::Late(time, bytes) => {
            tokio::time::sleep(time).await;
            let _ = stream.write_all(&bytes).await;
        }
        Script::Endless(first, again) => {
            let mut well = stream.write_all(&first).await;
            while well.is_ok() {
                well = stream.write_all(&again).await;
            }
        }
        Script::Drips(bytes) => {
            for byte in bytes {
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        Script::Silent => std::future::pending().await,
    }
}

fn complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    body.len() >= length.unwrap_or(0)
}

pub(crate) fn response(head: &str, body: impl AsRef<[u8]>) -> Script {
    let mut bytes = format!("HTTP/1.1 {}\r\n\r\n", head.replace('\n', "\r\n")).into_bytes();
    bytes.extend_from_slice(body.as_ref());
    Script::Says(bytes)
}

pub(crate) fn html(body: impl AsRef<[u8]>) -> Script {
    response("200 OK\ncontent-type: text/html", body)
}

pub(crate) fn redirect(location: &str) -> Script {
    response(&format!("302 Found\nlocation: {location}\ncontent-length: 0"), "")
}

/// An egress that knows these names, with `site.example` opened at the site's port.
pub(crate) fn egress(names: &Arc<Names>, site: &Site) -> Egress {
    let opened = AllowedHost::parse(&format!("site.example:{}", site.port())).unwrap();
    let names: Arc<Names> = Arc::clone(names);
    Egress::over(Dialer::with(names, None), &[opened])
}

pub(crate) fn here() -> Arc<Names> {
    Names::read("site.example 127.0.0.1")
}

pub(super) const ANYTHING: PageRequest =
    PageRequest { accept: "*/*", takes: |_| true, most_bytes: 1 << 20, until: None };

/// The page at a path of the site.
pub(super) async fn got(
    site: &Site,
    path: &str,
    wish: &PageRequest,
) -> Result<FetchedPage, FetchError> {
    let url = format!("http://site.example:{}{path}", site.port());
    egress(&here(), site).get(&url, wish).await
}

/// All that has to be refused before anything is connected to (B-FE 1, and 2 as far as it is
/// about where a URL leads).
pub(super) const INNER: &[&str] = &[
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:169.254.169.254]/latest/meta-data/",
    "http://[::ffff:10.0.0.5]/",
    "http://[::ffff:0:a9fe:a9fe]/",
    "http://[::7f00:1]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://[2002:7f00:1::1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b::10.0.0.5]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2001:0:a00:5::f5ff:fffa]/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[fd00::5]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://2130706433/",
    "http://2852039166/latest/meta-data/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://%31%32%37.0.0.1/",
    "http://①②⑦.0.0.1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://localhost/",
    "http://localhost./",
    "http://LOCALHOST/",
    "http://ⓛocalhost/",
    "http://10.0.0.5/",
    "http://167772165/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://100.100.100.200/latest/meta-data/",
    "http://168.63.129.16/",
    "http://169.254.169.254/latest/meta-data/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://METADATA.google.internal./",
    "http://intranet.example/",
    "http://both.example/",
    "http://six.example/",
    "https://10.0.0.5/",
    "https://[::1]/",
];
