use std::collections::BTreeMap;

use tollgate_core::id::ServerId;
use tollgate_core::mask::SecretMasker;
use tollgate_core::secret::Secret;

use super::describe_target;
use crate::settings::{HttpEndpoint, Server, ServerAuth, ServerTransport, StdioCommand};

fn server(transport: ServerTransport) -> Server {
    Server::new(ServerId::parse("aside").unwrap(), transport)
}

#[test]
fn the_trail_is_told_what_is_started_and_no_secret() {
    let masker = SecretMasker::new(&[], Vec::new());
    let words = ["npx", "-y", "thing", "--token", "canary", "--password=canary", "--port=8", "x"];
    let words = words.map(str::to_owned).to_vec();
    let env = BTreeMap::from([("KEY".to_owned(), Secret::new("canary"))]);
    let command = StdioCommand { env, ..StdioCommand::new(words) };
    let text = describe_target(&server(ServerTransport::Stdio(command)), &masker);
    assert_eq!(text, "npx -y thing --token [masked] [masked] --port=8 x");
    for (url, expected) in [
        ("https://a.test:8443/mcp?key=canary", "https://a.test:8443"),
        ("http://me:canary@127.0.0.1/", "http://127.0.0.1"),
        ("not a url canary", "no URL"),
    ] {
        let headers = BTreeMap::from([("x-key".to_owned(), Secret::new("canary"))]);
        let endpoint = HttpEndpoint { url: url.to_owned(), headers, auth: ServerAuth::None };
        assert_eq!(
            describe_target(&server(ServerTransport::StreamableHttp(endpoint)), &masker),
            expected
        );
    }
}
