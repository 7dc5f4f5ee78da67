use std::collections::BTreeMap;

use tollgate_core::id::ServerId;
use tollgate_core::secret::Secret;

use super::described;
use crate::settings::{Auth, Command, Endpoint, Server, Transport};

fn server(transport: Transport) -> Server {
    Server::new(ServerId::parse("aside").unwrap(), transport)
}

#[test]
fn the_trail_is_told_what_is_started_and_no_secret() {
    let words = vec!["npx".to_owned(), "-y".to_owned(), "thing".to_owned()];
    let env = BTreeMap::from([("KEY".to_owned(), Secret::new("canary"))]);
    let command = Command { env, ..Command::new(words) };
    assert_eq!(described(&server(Transport::Stdio(command))), "npx -y thing");
    for (url, expected) in [
        ("https://a.test:8443/mcp?key=canary", "https://a.test:8443/mcp"),
        ("http://me:canary@127.0.0.1/", "http://127.0.0.1/"),
        ("not a url canary", "no URL"),
    ] {
        let headers = BTreeMap::from([("x-key".to_owned(), Secret::new("canary"))]);
        let endpoint = Endpoint { url: url.to_owned(), headers, auth: Auth::None };
        assert_eq!(described(&server(Transport::StreamableHttp(endpoint))), expected);
    }
}
