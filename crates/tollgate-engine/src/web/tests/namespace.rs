//! The whole way, with the system's own resolver, in a network of its own: there, everything that
//! must not be reached is there and listens. S-19, B-FE 1, 3 and 4.
//!
//! The test starts itself again inside the namespaces. Where they cannot be made, the tests beside
//! this one ask the same without real addresses.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::Command;

use tokio::net::UdpSocket;
use tollgate_testkit::skip::{self, Requirement};

use super::super::fetch::OperatorHttpClient;
use super::*;
use crate::clock::{Clock as _, SystemClock};

const INSIDE: &str = "TOLLGATE_TEST_INSIDE_NAMESPACE";
/// The exit code that says: no namespaces here.
const CANNOT: i32 = 77;

const INNER_ADDRESSES: &[&str] =
    &["127.0.0.1", "169.254.169.254", "10.0.0.5", "100.64.0.1", "[::1]", "[fd00::5]"];
const PUBLIC: &str = "8.8.4.4";

const PREPARE: &str = r#"
    set -e
    ip link set lo up
    for it in 169.254.169.254 10.0.0.5 100.64.0.1 8.8.4.4; do ip addr add $it/32 dev lo; done
    for it in fd00::5 2606:4700::1111; do ip -6 addr add $it/128 dev lo nodad; done
    cd "$1"
    printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' > resolv.conf
    printf '127.0.0.1 localhost\n::1 localhost\n' > hosts
    printf 'hosts: files dns\n' > nsswitch.conf
    for it in resolv.conf hosts nsswitch.conf; do mount --bind $it /etc/$it; done
"#;

#[test]
fn s_19_nothing_private_is_reached_from_a_network_where_all_of_it_listens() {
    if !skip::require_namespaces() || !skip::require_program("ip") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let script = format!("({PREPARE}) || exit {CANNOT}\nexec \"$2\" --exact {NAME} --nocapture");
    let run = Command::new("unshare")
        .args(["--map-root-user", "--net", "--mount", "sh", "-c", &script, "sh"])
        .arg(scratch.path())
        .arg(std::env::current_exe().unwrap())
        .env(INSIDE, "yes")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    if run.status.code() == Some(CANNOT) {
        return skip::report(Requirement::Namespaces, &errors);
    }
    assert!(run.status.success() && text.contains("all of it was tried"), "{text}\n{errors}");
}

const NAME: &str = "web::tests::namespace::inside";

/// Does nothing unless it was started by the test above.
#[tokio::test]
async fn inside() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let _names = tasks::spawn("names", answer_names());
    let mut inner = Vec::new();
    for address in INNER_ADDRESSES {
        for port in [80, 443] {
            inner.push((address, Site::at(&format!("{address}:{port}"), |_| html("inner")).await));
        }
    }
    let answer = |path: &str| match path.strip_prefix("/to/").and_then(|nth| nth.parse().ok()) {
        Some(nth) => redirect(INNER.get::<usize>(nth).unwrap()),
        None => html("public"),
    };
    let _public = Site::at(&format!("{PUBLIC}:80"), answer).await;
    let _public_six = Site::at("[2606:4700::1111]:80", answer).await;

    what_is_public_is_reached().await;
    what_is_not_is_refused().await;
    names_that_lie_are_refused().await;
    for (address, site) in &inner {
        assert_eq!(site.requests(), [""; 0], "{address}");
    }
    // Or nothing would be shown by nobody having come.
    tokio::net::TcpStream::connect("10.0.0.5:80").await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(inner.iter().map(|(_, site)| site.requests().len()).sum::<usize>(), 1);
    let _ = writeln!(std::io::stdout(), "all of it was tried");
}

async fn text(url: &str) -> Result<String, FetchError> {
    let until = Some(SystemClock.now() + Duration::from_secs(5));
    let page = Egress::new(&[]).get(url, &PageRequest { until, ..ANYTHING }).await?;
    Ok(String::from_utf8(page.bytes).unwrap())
}

async fn what_is_public_is_reached() {
    for url in [
        "http://8.8.4.4/",
        "http://134743044/",
        "http://[::ffff:8.8.4.4]/",
        "http://public.example/",
        "http://PUBLIC.example.:80/",
        "http://[2606:4700::1111]/",
        "http://short.chain.example/",
    ] {
        // A mapped address is connected to as the one it is, or not at all.
        let got = text(url).await;
        assert!(matches!(&got, Ok(text) if text == "public"), "{url}: {got:?}");
    }
}

async fn what_is_not_is_refused() {
    let fetch = OperatorHttpClient::new("http://public.example/mcp").unwrap();
    for (nth, url) in INNER.iter().enumerate() {
        let refused = text(url).await.unwrap_err();
        assert!(matches!(refused, FetchError::Private(_)), "{url}: {refused:?}");
        let refused = text(&format!("http://public.example/to/{nth}")).await.unwrap_err();
        assert!(matches!(refused, FetchError::Private(_)), "redirected to {url}: {refused:?}");
        // As a server would tell us where its tokens are issued.
        assert!(fetch.get(url).await.is_err(), "{url}");
        assert!(fetch.get(&url.replace("http:", "https:")).await.is_err(), "{url}");
    }
}

async fn names_that_lie_are_refused() {
    assert_eq!(text("http://rebound.example/").await, Ok("public".to_owned()));
    let again = text("http://rebound.example/").await.unwrap_err();
    assert_eq!(again, FetchError::Private("rebound.example".to_owned()));
    let chain = text("http://long.chain.example/").await.unwrap_err();
    assert!(matches!(chain, FetchError::Private(_) | FetchError::Unknown(_)), "{chain:?}");
    let nobody = text("http://nobody.example/").await.unwrap_err();
    assert_eq!(nobody, FetchError::Unknown("nobody.example".to_owned()));
    let until = Some(SystemClock.now() + Duration::from_millis(500));
    let wish = PageRequest { until, ..ANYTHING };
    let silent = Egress::new(&[]).get("http://silent.example/", &wish).await.unwrap_err();
    assert_eq!(silent, FetchError::TooSlow);
}

/// A server of names, as small as the questions are.
async fn answer_names() {
    let socket = UdpSocket::bind("127.0.0.1:53").await.unwrap();
    let mut rebound = 0;
    let mut packet = [0; 1500];
    while let Ok((length, from)) = socket.recv_from(&mut packet).await {
        let question = &packet[..length];
        let (name, kind) = read_question(question);
        let records = match (name.as_str(), kind) {
            ("silent.example", _) => continue,
            ("public.example", A) => vec![address(&name, PUBLIC)],
            ("metadata.google.internal", A) => vec![address(&name, "169.254.169.254")],
            ("localhost", A) => vec![address(&name, "127.0.0.1")],
            ("intranet.example", A) => vec![address(&name, "10.0.0.5")],
            ("both.example", A) => vec![address(&name, PUBLIC), address(&name, "10.0.0.5")],
            ("six.example", AAAA) => vec![address(&name, "fd00::5")],
            ("rebound.example", A) => {
                rebound += 1;
                vec![address(&name, if rebound == 1 { PUBLIC } else { "127.0.0.1" })]
            }
            ("short.chain.example", A) => chain(&name, 5, PUBLIC),
            ("long.chain.example", A) => chain(&name, 50, "127.0.0.1"),
            _ => Vec::new(),
        };
        reply(&socket, question, from, &records).await;
    }
}

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

fn read_question(question: &[u8]) -> (String, u16) {
    let mut labels = Vec::new();
    let mut at = 12;
    while question[at] != 0 {
        let end = at + 1 + usize::from(question[at]);
        labels.push(String::from_utf8_lossy(&question[at + 1..end]).to_ascii_lowercase());
        at = end;
    }
    (labels.join("."), u16::from_be_bytes([question[at + 1], question[at + 2]]))
}

fn chain(name: &str, length: usize, end: &str) -> Vec<Vec<u8>> {
    let link = |nth: usize| if nth == 0 { name.to_owned() } else { format!("c{nth}.example") };
    let mut records: Vec<Vec<u8>> =
        (0..length).map(|nth| record(&link(nth), CNAME, &encode_name(&link(nth + 1)))).collect();
    records.push(address(&link(length), end));
    records
}

fn address(name: &str, address: &str) -> Vec<u8> {
    match address.parse().unwrap() {
        IpAddr::V4(address) => record(name, A, &address.octets()),
        IpAddr::V6(address) => record(name, AAAA, &address.octets()),
    }
}

/// With no time to live: it may be another one the next time.
fn record(name: &str, kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap();
    let fixed = [&kind.to_be_bytes()[..], &[0, 1, 0, 0, 0, 0], &length.to_be_bytes()].concat();
    [encode_name(name), fixed, data.to_vec()].concat()
}

fn encode_name(name: &str) -> Vec<u8> {
    let labels = name
        .split('.')
        .flat_map(|label| [&[u8::try_from(label.len()).unwrap()][..], label.as_bytes()].concat());
    labels.chain([0]).collect()
}

async fn reply(socket: &UdpSocket, question: &[u8], from: SocketAddr, records: &[Vec<u8>]) {
    let count = u16::try_from(records.len()).unwrap().to_be_bytes();
    let end = 12 + question[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
    // No error, recursion available; the question again, without what follows it.
    let head = [&question[..2], &[0x81, 0x80, 0, 1], &count, &[0, 0, 0, 0], &question[12..end]];
    let answer = [head.concat(), records.concat()].concat();
    socket.send_to(&answer, from).await.unwrap();
}
