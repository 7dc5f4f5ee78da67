//! A fake gateway with fixed answers that records its requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    requests: Receiver<String>,
}

impl Gateway {
    /// Everything asked so far: the first line, the authorization and our own headers if any, the
    /// body.
    pub(crate) fn make_request(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

/// Answers a request whose line begins like a route's with the body of that route. A body of
/// events is sent as a stream, an empty one by hanging up.
pub(crate) fn serve(routes: &'static [(&'static str, &'static str)]) -> Gateway {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (sender, requests) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || while answer(&stream, routes, &sender).is_some() {});
        }
    });
    Gateway { address, requests }
}

/// What it was asked is known before the answer is.
fn answer(stream: &TcpStream, routes: &[(&str, &str)], sender: &Sender<String>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let first = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut length = 0;
    let mut key = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let lower = line.trim_end().to_lowercase();
        match lower.split_once(": ") {
            Some(("content-length", value)) => length = value.parse().ok()?,
            Some(("authorization", value)) => key.push_str(&format!(" [{value}]")),
            Some((name, value)) if name.starts_with("x-tollgate-") => {
                key.push_str(&format!(" [{name}: {value}]"));
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request = format!("{first}{key} {}", String::from_utf8_lossy(&body));
    sender.send(request.trim_end().to_owned()).ok()?;
    let route = routes.iter().find(|(line, _)| first.starts_with(line));
    let (status, text) = route.map_or(("404 Not Found", "{}"), |(_, text)| ("200 OK", *text));
    let kind = if text.starts_with("event:") { "text/event-stream" } else { "application/json" };
    let size = text.len();
    let mut stream = stream;
    if text.is_empty() {
        stream.shutdown(Shutdown::Both).ok()?;
    } else {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {size}");
        write!(stream, "{head}\r\n\r\n{text}").ok()?;
    }
    Some(())
}
