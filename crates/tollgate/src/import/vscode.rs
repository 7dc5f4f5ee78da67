//! VS Code: `servers` beside `inputs` that a person is asked for; in `settings.json` below `mcp`.

use std::collections::HashMap;

use super::plain;
use super::sheet::Sheet;
use super::source::Source;

pub(super) fn read_settings(mut top: Source, sheet: &mut Sheet<'_>) {
    if let Some(mcp) = top.inner("mcp") {
        read(mcp, sheet);
    }
}

pub(super) fn read(mut top: Source, sheet: &mut Sheet<'_>) {
    let asked: HashMap<String, String> = top
        .named("inputs")
        .into_iter()
        .filter_map(|(id, mut input)| Some((id, input.text("description")?)))
        .collect();
    for (name, mut server) in top.named("servers") {
        let text = server.written();
        server.drop("dev", "is for the author of the server");
        server.forget(&["sandboxEnabled", "sandbox"]);
        let before = sheet.servers();
        plain::server(&name, server, sheet);
        if sheet.servers() == before {
            continue;
        }
        let mut used: Vec<(&String, &String)> =
            asked.iter().filter(|(id, _)| text.contains(&format!("${{input:{id}}}"))).collect();
        used.sort();
        for (id, description) in used {
            let name = super::name::variable(id);
            sheet.last_note(format!(
                "`TOLLGATE_INPUT_{name}`: {}",
                super::sheet::shown(description)
            ));
        }
    }
    sheet.leave(top);
}
