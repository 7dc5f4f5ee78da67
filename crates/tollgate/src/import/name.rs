//! Converts foreign names to valid names of this config.

/// A valid id: letters, digits, `_` and `-`, a letter first, at most 64 characters.
pub(super) fn fitting(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let mut id = String::new();
    for c in name.trim().chars().map(letter) {
        if !(c == '_' && id.ends_with('_')) {
            id.push(c);
        }
    }
    let id = id.trim_matches('_');
    let id = match id.chars().next() {
        None => "server".to_owned(),
        Some(first) if first.is_ascii_alphabetic() => id.to_owned(),
        Some(_) => format!("s_{id}"),
    };
    id[..id.len().min(64)].to_owned()
}

/// Normalizes a name for its section: servers and agents must differ in more than case, `-` and
/// `_`.
pub fn fold_name(section: &str, name: &str) -> String {
    match section {
        "servers" | "agents" => name.to_ascii_lowercase().replace('-', "_"),
        _ => name.to_owned(),
    }
}

/// As a shell variable: `my-server` is `MY_SERVER`.
pub fn variable(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = name.chars().map(letter).collect();
    let bare = name.trim_matches('_');
    match bare.chars().next() {
        None => "VALUE".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{bare}"),
        Some(_) => bare.to_owned(),
    }
}

/// A short name for a package or an image: `@scope/mcp-server-git@1.2` is `git`.
pub fn of_package(package: &str) -> String {
    let bare = package.trim_end_matches('/');
    let bare = bare.rsplit(['/', '\\']).next().unwrap_or(bare);
    let bare = bare.split(['@', ':', '=', '[']).find(|part| !part.is_empty()).unwrap_or(bare);
    let bare = [".git", ".js", ".mjs", ".ts", ".py", ".sh", ".exe"]
        .iter()
        .find_map(|ending| bare.strip_suffix(ending))
        .unwrap_or(bare);
    let begins = ["mcp-server-", "mcp_server_", "server-", "mcp-", "mcp_"];
    let bare = begins.iter().find_map(|word| bare.strip_prefix(word)).unwrap_or(bare);
    let ends = ["-mcp-server", "_mcp_server", "-server", "-mcp", "_mcp"];
    let bare = ends.iter().find_map(|word| bare.strip_suffix(word)).unwrap_or(bare);
    fitting(bare)
}

/// A short name for a host: `mcp.example.com` is `example`.
pub(super) fn of_host(host: &str) -> String {
    let labels: Vec<&str> = host.split('.').collect();
    let common = ["mcp", "api", "www", "server", "gateway", "tools"];
    let stored = labels.iter().take(labels.len().max(2) - 1).find(|it| !common.contains(it));
    let is_address = host.parse::<std::net::Ipv4Addr>().is_ok() || host.starts_with('[');
    match stored {
        Some(label) if !is_address => fitting(label),
        _ => "server".to_owned(),
    }
}

/// A name from the source, truncated for display.
pub(super) fn shorten_name(name: &str) -> String {
    tollgate_core::text::truncate_chars(name, 60)
}
