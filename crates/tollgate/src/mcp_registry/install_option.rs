//! Install options of a registry server: a package and its runner, or a remote URL. Only known
//! package runners are ever used, and containers stay isolated.

use serde_json::{Map, Value, json};
use tollgate_config::is_variable;

use super::docker_flag_allowlist;
use super::package_inputs::{FilledInput, InputFiller, literal};
use super::{InstallOption, RequiredVariable};

pub(super) fn package(own: &str, package: &Value) -> Option<InstallOption> {
    // A package that listens on a port cannot be reached over stdio.
    let transport = package["transport"]["type"].as_str().unwrap_or("stdio");
    if transport != "stdio" {
        return None;
    }
    let text = package["registryType"].as_str().or(package["registry_type"].as_str())?;
    let (kind, runner) = runner(text, package["runtimeHint"].as_str())?;
    let identifier = package["identifier"].as_str().filter(|it| is_identifier(it))?;
    let version = package["version"].as_str().filter(|it| !it.is_empty());
    if version.is_some_and(|it| !is_version(it)) {
        return None;
    }
    let mut blanks = InputFiller { own, needs: Vec::new() };
    let env = env(&mut blanks, &package["environmentVariables"])?;
    let before = blanks.words(&package["runtimeArguments"])?;
    if kind == "oci" && !docker_flag_allowlist::is_contained(&before, &env) {
        return None;
    }
    let after = blanks.words(&package["packageArguments"])?;
    let mut words = vec![runner.to_owned()];
    words.extend(runner_arguments(kind, identifier, version, before, &env));
    words.extend(after);
    let label = words.join(" ").replace("$${", "${");
    let mut server = Map::from_iter([("command".to_owned(), json!(words))]);
    if !env.is_empty() {
        server.insert("env".to_owned(), Value::Object(env));
    }
    Some(InstallOption { kind, label, server, needs: blanks.needs })
}

/// The runner for packages of this kind. A hint only selects among these.
fn runner(kind: &str, hint: Option<&str>) -> Option<(&'static str, &'static str)> {
    let (kind, known): (_, &[&'static str]) = match kind {
        "npm" => ("npm", &["npx", "bunx", "pnpx"]),
        "pypi" => ("pypi", &["uvx", "pipx"]),
        "oci" | "docker" => ("oci", &["docker", "podman"]),
        "nuget" => ("nuget", &["dnx"]),
        _ => return None,
    };
    let hinted = known.iter().find(|known| Some(**known) == hint);
    Some((kind, hinted.or(known.first())?))
}

/// The words between the runner and the package's own arguments.
fn runner_arguments(
    kind: &str,
    identifier: &str,
    version: Option<&str>,
    before: Vec<String>,
    env: &Map<String, Value>,
) -> Vec<String> {
    let has = |words: &[String], flag: &str| words.iter().any(|word| word == flag);
    let named = match (kind, version) {
        ("oci", Some(version)) if !is_tagged(identifier) => format!("{identifier}:{version}"),
        ("oci", _) | (_, None) => identifier.to_owned(),
        (_, Some(version)) => format!("{identifier}@{version}"),
    };
    let mut words = match kind {
        "npm" if !has(&before, "-y") && !has(&before, "--yes") => vec!["-y".to_owned()],
        "nuget" if !has(&before, "--yes") => vec!["--yes".to_owned()],
        "oci" => {
            let mut words: Vec<String> = vec!["run".to_owned()];
            let usual = ["-i", "--rm"].into_iter().filter(|flag| !has(&before, flag));
            words.extend(usual.map(str::to_owned));
            for name in env.keys() {
                words.extend(["-e".to_owned(), name.clone()]);
            }
            words
        }
        _ => Vec::new(),
    };
    let before = before.into_iter().filter(|word| !(kind == "oci" && word == "run"));
    words.extend(before);
    words.push(named);
    words
}

/// A name of a package or an image, which a runner cannot take for a flag or a path.
fn is_identifier(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "@._/:-".contains(c);
    !text.is_empty()
        && text.len() <= 255
        && text.chars().all(letter)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
        && !text.contains("//")
        && !text.contains("..")
}

fn is_version(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    text.len() <= 100
        && text.chars().all(letter)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_tagged(image: &str) -> bool {
    image.contains('@') || image.rsplit('/').next().is_some_and(|last| last.contains(':'))
}

fn env(blanks: &mut InputFiller<'_>, inputs: &Value) -> Option<Map<String, Value>> {
    let mut env = Map::new();
    for input in inputs.as_array().into_iter().flatten().take(64) {
        let name = input["name"].as_str().filter(|name| is_variable(name))?;
        let is_set = input["value"].is_string() || input["default"].is_string();
        let text = if is_set {
            match blanks.fill(input, name)? {
                FilledInput::Text(text) => text,
                FilledInput::Nothing => continue,
            }
        } else if input["isRequired"] == true {
            // Under its own name, which the operator knows.
            own(blanks, input, name, "")
        } else if input["isSecret"] == true {
            own(blanks, input, name, ":-")
        } else {
            continue;
        };
        env.insert(name.to_owned(), json!(text));
    }
    Some(env)
}

fn own(blanks: &mut InputFiller<'_>, input: &Value, name: &str, otherwise: &str) -> String {
    let description =
        input["description"].as_str().map(super::untrusted_text::sanitize_text).unwrap_or_default();
    let secret = input["isSecret"] == true;
    blanks.needs.push(RequiredVariable { name: name.to_owned(), description, secret });
    format!("${{{name}{otherwise}}}")
}

pub(super) fn remote(own: &str, remote: &Value) -> Option<InstallOption> {
    let transport = remote["type"].as_str().or(remote["transport_type"].as_str())?;
    let mut blanks = InputFiller { own, needs: Vec::new() };
    let template = remote["url"].as_str()?;
    literal(template)?;
    let url = blanks.template(template, &remote["variables"])?;
    let odd = |c: char| c.is_whitespace() || "\"'<>\\`@".contains(c);
    let is_web = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
    if !is_web || template.contains(odd) {
        return None;
    }
    let mut server = Map::new();
    match transport {
        "streamable-http" | "streamable" | "http" => {}
        "sse" => drop(server.insert("transport".to_owned(), json!("sse"))),
        _ => return None,
    }
    server.insert("url".to_owned(), json!(url));
    let mut headers = Map::new();
    for input in remote["headers"].as_array().into_iter().flatten().take(32) {
        let name = input["name"].as_str().filter(|name| is_header(name))?;
        match blanks.fill(input, name)? {
            FilledInput::Text(text) => drop(headers.insert(name.to_owned(), json!(text))),
            FilledInput::Nothing => {}
        }
    }
    if !headers.is_empty() {
        server.insert("headers".to_owned(), Value::Object(headers));
    }
    Some(InstallOption { kind: "remote", label: template.to_owned(), server, needs: blanks.needs })
}

fn is_header(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 100 && name.chars().all(letter)
}
