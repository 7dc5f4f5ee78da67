//! Imports Zed: `context_servers`, in older files with a map as `command`.

use super::collector::ImportCollector;
use super::common_keys;
use super::source_map::SourceMap;

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    for (name, mut server) in top.named_maps("context_servers") {
        if server.peek("command").is_object()
            && let Some(mut command) = server.inner("command")
        {
            for (from, to) in [("path", "command"), ("args", "args"), ("env", "env")] {
                if let Some(value) = command.take(from) {
                    server.put(to, value);
                }
            }
            sheet.leave(command);
        }
        let is_extension = !["command", "url"].iter().any(|key| server.has(key));
        if is_extension {
            sheet.drop(server.at, "is an extension of Zed, not a server");
            continue;
        }
        server.drop("settings", "is read by an extension of Zed");
        common_keys::server(&name, server, sheet);
    }
    sheet.blame(top);
}
