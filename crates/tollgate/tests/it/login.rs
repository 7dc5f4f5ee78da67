//! `tollgate servers login` with an authorization server that says yes, and a browser that is
//! these few lines.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::tollgate;

/// Metadata, registration and tokens; of MCP it knows nothing.
fn authorization_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let text = origin.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let origin = text.clone();
            thread::spawn(move || answer(stream, &origin));
        }
    });
    origin
}

fn answer(stream: TcpStream, origin: &str) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let path = line.split(' ').nth(1)?.to_owned();
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if header == "\r\n" {
                break;
            }
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        let (status, body) = match path.as_str() {
            "/.well-known/oauth-protected-resource/mcp" => (
                200,
                json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}),
            ),
            "/.well-known/oauth-authorization-server" => (200, metadata(origin)),
            "/register" => (201, json!({"client_id": "issued", "redirect_uris": []})),
            "/token" => (200, json!({"access_token": "canary", "token_type": "Bearer"})),
            _ => (404, Value::Null),
        };
        let body = body.to_string();
        let head = "content-type: application/json";
        let length = body.len();
        write!(
            reader.get_mut(),
            "HTTP/1.1 {status} X\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .ok()?;
    }
}

fn metadata(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    })
}

fn parameter(url: &str, name: &str) -> String {
    let pairs = url.split(['?', '&']).filter_map(|pair| pair.split_once('='));
    let found = pairs.into_iter().find(|(key, _)| *key == name).unwrap().1;
    found.replace("%3A", ":").replace("%2F", "/")
}

#[test]
fn s_21_b_oa_5_a_person_consents_once_and_others_who_knock_change_nothing() {
    let origin = authorization_server();
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "listen: 127.0.0.1:1\nservers:\n  web:\n    url: {origin}/mcp\n    auth: {{ login: true }}\n  pipe:\n    command: [\"true\"]\n    enabled: false\n"
    );
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    let before = tollgate(folder.path(), &["servers", "list"]);
    assert!(
        before.stdout.contains("needs login: run `tollgate servers login web`"),
        "{}",
        before.stdout
    );
    for (name, expected) in [("pipe", "is a local process"), ("none", "there is no server `none`")]
    {
        let refused = tollgate(folder.path(), &["servers", "login", name]);
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["servers", "login", "web"])
        .current_dir(folder.path())
        .env_clear()
        .envs(tollgate_testkit::coverage_profile())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let link = lines.find(|line| line.starts_with("http://127.0.0.1")).expect("a link");
    thread::spawn(move || lines.for_each(drop));
    assert_eq!(parameter(&link, "code_challenge_method"), "S256");
    let back = parameter(&link, "redirect_uri");
    let (_, rest) = back.split_once("://").unwrap();
    let (address, path) = rest.split_once('/').unwrap();
    let get = |target: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(get("/favicon.ico").starts_with("HTTP/1.1 404"));
    let state = parameter(&link, "state");
    // Whoever says nothing holds nobody up, and answers to other logins are none.
    let _silent = TcpStream::connect(address).unwrap();
    for other in ["code=evil&state=other", "code=evil", "error=access_denied&state=", ""] {
        let answer = get(&format!("/{path}?{other}"));
        assert!(answer.starts_with("HTTP/1.1 400"), "{other}: {answer}");
    }
    let answer = get(&format!("/{path}?code=yes&state={state}"));
    assert!(answer.ends_with("You may close this page."), "{answer}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "logged in to `web`\n");
    let after = tollgate(folder.path(), &["servers", "list"]);
    assert!(!after.stdout.contains("needs login"), "{}", after.stdout);
    assert!(!after.stdout.contains("canary") && !after.stderr.contains("canary"));
}
