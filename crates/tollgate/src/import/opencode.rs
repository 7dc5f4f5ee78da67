//! opencode: `mcp`, with `local` and `remote` servers and `{env:NAME}`.

use super::plain;
use super::sheet::Sheet;
use super::source::Source;
use super::spelling::Spelling;
use crate::clients::Client;

pub(super) fn read(mut top: Source, sheet: &mut Sheet<'_>) {
    sheet.spelling = Spelling::Braces;
    sheet.client = Client::find("opencode");
    for (name, mut server) in top.named("mcp") {
        server.rename("environment", "env");
        // `false` only says that none is tried.
        if server.peek("oauth").as_bool() == Some(false) {
            server.forget(&["oauth"]);
        }
        plain::server(&name, server, sheet);
    }
    sheet.blame(top);
}
