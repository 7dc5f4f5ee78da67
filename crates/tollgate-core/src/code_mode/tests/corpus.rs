//! Tools as real servers list them.

use serde_json::Value;

use super::book;

fn servers() -> Vec<(String, Vec<Value>)> {
    let text = include_str!("../../tool/prompt_injection/tests/clean.jsonl");
    let mut servers: Vec<(String, Vec<Value>)> = Vec::new();
    for line in text.lines() {
        let mut row: Value = serde_json::from_str(line).unwrap();
        let server = row["server"].as_str().unwrap().to_owned();
        let tool = row["tool"].take();
        match servers.iter_mut().find(|(name, _)| *name == server) {
            Some((_, tools)) => tools.push(tool),
            None => servers.push((server, vec![tool])),
        }
    }
    servers
}

#[test]
fn tools_of_real_servers_take_a_line_each_and_a_quarter_of_their_room() {
    let servers = servers();
    let named: Vec<(&str, Vec<Value>)> =
        servers.iter().map(|(name, tools)| (name.as_str(), tools.clone())).collect();
    let book = book(&named);
    let mut before = 0;
    let mut after = 0;
    for (server, tools) in &servers {
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            let text = book.read(&format!("{server}/{name}"), None, &|_| None).unwrap();
            assert_eq!(text.lines().filter(|it| it.starts_with("def ")).count(), 1, "{text}");
            let docs = book.docs(server, name, &|_| None).unwrap();
            assert!(docs.contains("\nresult = ") && !docs.contains("=..."), "{docs}");
            before += tool.to_string().len();
        }
        after += book.read(server, None, &|_| None).unwrap().len();
    }
    assert!(after * 4 < before, "{after} of {before} bytes");
}
