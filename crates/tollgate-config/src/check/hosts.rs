//! Host allowlist: the names by which clients may address the gateway. Without it a web page could
//! reach the gateway by DNS rebinding.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use tollgate_server::TrustedProxies;

use super::super::ConfigRequest;
use super::super::diagnostic::{DiagnosticLocation, Problems};
use super::super::raw::SectionFields;

/// The configured names, and the listen address if it is a specific one.
pub(super) fn hosts(
    top: &SectionFields,
    listen: Option<SocketAddr>,
    request: &ConfigRequest,
    problems: &mut Problems,
) -> Vec<String> {
    let mut hosts = Vec::new();
    for typed in top.texts("hosts") {
        match host(typed.value) {
            Some(host) => hosts.push(host),
            None => {
                let message = format!("`{}` is not the name of a host", typed.value);
                problems
                    .error(typed.at, "hosts", message)
                    .help("a name or an address without scheme and port: `tools.example.com`");
            }
        }
    }
    let Some(listen) = listen else { return hosts };
    if !listen.ip().is_unspecified() {
        hosts.push(format_host(listen.ip()));
    } else if !top.has("hosts") && (!top.entries("keys").is_empty() || top.has("auth")) {
        let place = match (&request.listen, top.text("listen")) {
            (None, Some(text)) => DiagnosticLocation::At(text.at),
            (None, None) => DiagnosticLocation::File,
            (Some(_), _) => DiagnosticLocation::Flag("--listen"),
        };
        let message = format!("`{listen}` is every interface, but `hosts` is not set");
        problems
            .warning(place, "hosts", message)
            .help("only `localhost` is accepted; add `hosts: [tools.example.com, 192.168.1.7]`");
    }
    hosts
}

/// Origins of web pages, as browsers write them.
pub(super) fn origins(top: &SectionFields, problems: &mut Problems) -> Vec<String> {
    let mut origins = Vec::new();
    for typed in top.texts("origins") {
        match origin(typed.value) {
            Some(origin) => origins.push(origin),
            None => {
                let message = format!("`{}` is not the origin of a page", typed.value);
                problems.error(typed.at, "origins", message).help(
                    "scheme, host and any unusual port, without a path: `https://app.example.com`",
                );
            }
        }
    }
    origins
}

fn origin(typed: &str) -> Option<String> {
    let (scheme, rest) = typed.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let usual = match scheme.as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let rest = rest.to_ascii_lowercase();
    let rest = rest.strip_suffix(usual).unwrap_or(&rest);
    // Without its port, if it has one.
    let name = match rest.rsplit_once(':') {
        Some((name, port)) if !rest.ends_with(']') => {
            port.parse::<u16>().ok()?;
            name
        }
        _ => rest,
    };
    let is_plain = host(name).is_some_and(|host| host == name);
    is_plain.then(|| format!("{scheme}://{rest}"))
}

/// Proxies whose forwarding headers are trusted.
pub(super) fn trusted_proxies(top: &SectionFields, problems: &mut Problems) -> TrustedProxies {
    let mut proxies = TrustedProxies::default();
    for typed in top.texts("trusted_proxies") {
        if let Err(why) = proxies.add(typed.value) {
            let message = format!("`{}` cannot be a trusted proxy", typed.value);
            problems.error(typed.at, "trusted_proxies", message).help(why.to_string());
        }
    }
    if proxies.is_everyone() {
        let message = "`trusted_proxies` trusts every address: any client can forge its address";
        problems
            .warning(top.place("trusted_proxies"), "trusted_proxies", message)
            .help("name the addresses of your proxies, or their network");
    }
    proxies
}

/// Normalized as in a `host` header.
fn host(typed: &str) -> Option<String> {
    let bare = typed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(inside) = bare {
        return inside.parse::<Ipv6Addr>().ok().map(|ip| format_host(ip.into()));
    }
    if let Ok(ip) = typed.parse::<IpAddr>() {
        return Some(format_host(ip));
    }
    let is_name = typed.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    (is_name && !typed.is_empty() && typed.len() <= 253).then(|| typed.to_ascii_lowercase())
}

fn format_host(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}
