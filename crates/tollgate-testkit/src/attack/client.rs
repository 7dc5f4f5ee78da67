//! One HTTP/1.1 connection that waits for each answer.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Of an answer no more is read.
const MAX_BODY: usize = 64 << 20;

pub struct BlockingHttpClient {
    stream: BufReader<TcpStream>,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    /// A header, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl BlockingHttpClient {
    pub fn connect(address: SocketAddr, timeout: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    pub fn post(
        &mut self,
        path: &str,
        headers: &[(&'static str, String)],
        body: &str,
    ) -> io::Result<Reply> {
        self.send(&format!("POST {path}"), headers, body)
    }

    /// `line` is the method and the path.
    pub fn send(
        &mut self,
        line: &str,
        headers: &[(&'static str, String)],
        body: &str,
    ) -> io::Result<Reply> {
        let mut head = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        if body.len() < 64 << 10 {
            head.push_str(body);
            self.stream.get_mut().write_all(head.as_bytes())?;
        } else {
            self.stream.get_mut().write_all(head.as_bytes())?;
            // Whoever refuses a large body may close before all of it is sent, and has answered.
            let _ = self.stream.get_mut().write_all(body.as_bytes());
        }
        self.read()
    }

    fn read(&mut self) -> io::Result<Reply> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("no status"))?;
        let mut reply = Reply { status, head, body: Vec::new() };
        let length = reply.header("content-length").and_then(|word| word.parse().ok());
        let length: usize = length.unwrap_or(0);
        reply.body.resize(length.min(MAX_BODY), 0);
        self.stream.read_exact(&mut reply.body)?;
        Ok(reply)
    }
}
