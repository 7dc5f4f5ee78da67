//! Starts the program and calls its tool, as any client would.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

struct Gateway {
    child: Child,
    address: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(data: &tempfile::TempDir) -> Gateway {
    let mut child = Command::new(env!("CARGO_BIN_EXE_berths"))
        .args(["127.0.0.1:0", &data.path().to_string_lossy()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("serving http://").and_then(|it| it.strip_suffix("/mcp"));
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    Gateway { child, address }
}

fn execute(gateway: &Gateway, arguments: &Value) -> Value {
    let body = json!({ "name": "free_berths", "arguments": arguments }).to_string();
    let Gateway { address, .. } = gateway;
    let head = format!(
        "POST /v1/tools/execute HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| panic!("not JSON: {answer}"))
}

#[test]
fn its_tool_is_called_like_any_other() {
    let data = tempfile::tempdir().unwrap();
    let gateway = serve(&data);
    let told = execute(&gateway, &json!({ "harbour": "Oslo" }));
    assert_eq!((&told["status"], &told["data"]["free"]), (&json!("ok"), &json!(12)), "{told}");
    assert_eq!(told["message"], "Oslo has 12 free berths.");
    let unknown = execute(&gateway, &json!({ "harbour": "Atlantis" }));
    assert_eq!(unknown["status"], "error", "{unknown}");
    assert_eq!(unknown["message"], "there is no `Atlantis`; ask for Bergen, Oslo");
    let refused = execute(&gateway, &json!({ "harbor": "Oslo" }));
    assert_eq!(refused["status"], "invalid_arguments", "{refused}");
}
