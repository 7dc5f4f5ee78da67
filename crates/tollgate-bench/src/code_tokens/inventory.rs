//! Which tools there are in which round: names and descriptions of the public code mode benchmark
//! of Bifrost (`maximhq/bifrost-benchmarking`, `mcp_tools`), the longer descriptions cut to their
//! first sentence. Read by the world, which makes servers of them.

/// How a plan calls a server, what the benchmark calls it, and its id here.
const SERVERS: [(&str, &str, &str); 16] = [
    ("fs", "FileSystem", "filesystem"),
    ("fc", "Firecrawl", "firecrawl"),
    ("gh", "GitHub", "github"),
    ("no", "Notion", "notion"),
    ("sq", "SQLite", "sqlite"),
    ("tv", "Tavily", "tavily"),
    ("pw", "Playwright", "playwright"),
    ("li", "Linear", "linear"),
    ("ap", "Apollo", "apollo"),
    ("hn", "HackerNews", "hackernews"),
    ("gs", "GoogleSheets", "googlesheets"),
    ("gc", "GoogleCalendar", "googlecalendar"),
    ("gd", "GoogleDrive", "googledrive"),
    ("ca", "Calendly", "calendly"),
    ("fi", "Figma", "figma"),
    ("do", "GoogleDocs", "googledocs"),
];

/// Each round has the tools of those before it.
const LISTS: [&str; 3] = [
    include_str!("inventory_1.tsv"),
    include_str!("inventory_2.tsv"),
    include_str!("inventory_3.tsv"),
];

/// A tool, by the id of its server and its own name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ToolRef {
    pub(super) server: &'static str,
    pub(super) name: String,
}

#[derive(Debug, Clone)]
pub(super) struct InventoryTool {
    pub(super) tool: ToolRef,
    pub(super) description: &'static str,
}

/// All tools of a round, from 1.
pub(super) fn tools(round: usize) -> Vec<InventoryTool> {
    let mut tools = Vec::new();
    for list in &LISTS[..round] {
        let mut server = "";
        let mut prefix = "";
        for line in list.lines() {
            if let Some(head) = line.strip_prefix("# ") {
                let (name, begin) = head.split_once(' ').unwrap_or((head, ""));
                let known = SERVERS.iter().find(|(_, theirs, _)| *theirs == name);
                (server, prefix) = (known.expect("a server of the table").2, begin);
            } else if let Some((name, description)) = line.split_once('\t') {
                let tool = ToolRef { server, name: format!("{prefix}{name}") };
                tools.push(InventoryTool { tool, description });
            }
        }
    }
    tools
}

/// Their ids.
pub(super) fn servers() -> impl Iterator<Item = &'static str> {
    SERVERS.iter().map(|(_, _, id)| *id)
}

/// A tool as plans write it: `gh.list_issues`, `gc.EVENTS_LIST`.
pub(super) fn tool(written: &str) -> ToolRef {
    let (short, name) = written.split_once('.').expect("a server and a tool");
    let known = SERVERS.iter().find(|(alias, ..)| *alias == short);
    let (_, title, server) = known.expect("a server of the table");
    let is_prefixed = name.chars().all(|c| !c.is_ascii_lowercase());
    let prefix = if is_prefixed { format!("{}_", title.to_uppercase()) } else { String::new() };
    ToolRef { server, name: format!("{prefix}{name}") }
}
