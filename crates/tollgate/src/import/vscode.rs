//! Imports VS Code: `servers` with `inputs` that the user is prompted for. In `settings.json` below
//! `mcp`.

use std::collections::HashMap;

use super::collector::ImportCollector;
use super::common_keys;
use super::source_map::SourceMap;

pub(super) fn read_settings(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    if let Some(mcp) = top.inner("mcp") {
        read(mcp, sheet);
    }
}

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    let requests: HashMap<String, String> = top
        .named_maps("inputs")
        .into_iter()
        .filter_map(|(id, mut input)| Some((id, input.text("description")?)))
        .collect();
    for (name, mut server) in top.named_maps("servers") {
        let text = server.to_json_text();
        server.drop("dev", "is only for the author of the server");
        server.forget(&["sandboxEnabled", "sandbox"]);
        let before = sheet.servers();
        common_keys::server(&name, server, sheet);
        if sheet.servers() == before {
            continue;
        }
        let mut used: Vec<(&String, &String)> =
            requests.iter().filter(|(id, _)| text.contains(&format!("${{input:{id}}}"))).collect();
        used.sort();
        for (id, description) in used {
            let name = super::name::variable(id);
            sheet.last_note(format!(
                "`TOLLGATE_INPUT_{name}`: {}",
                super::name::shorten_name(description)
            ));
        }
    }
    sheet.leave(top);
}
