//! Entries of the registry as they are, and as nobody would like them to be.

use serde_json::{Value, json};

use super::entry::{entry, page};
use super::{InstallOption, short_name};

#[expect(clippy::needless_pass_by_value, reason = "it is written where it is called")]
fn choices(server: Value) -> Vec<InstallOption> {
    let mut named =
        json!({"name": "io.github.a/mcp-weather", "description": "d", "version": "1.0.0"});
    for (key, value) in server.as_object().into_iter().flatten() {
        named[key] = value.clone();
    }
    entry(&json!({ "server": named })).map(|it| it.choices).unwrap_or_default()
}

#[expect(clippy::needless_pass_by_value, reason = "it is written where it is called")]
fn package(package: Value) -> Option<InstallOption> {
    choices(json!({ "packages": [package] })).into_iter().next()
}

#[test]
fn a_package_is_run_by_what_runs_its_kind() {
    for (kind, identifier, version, command) in [
        ("npm", "@a/weather", "1.0.2", json!(["npx", "-y", "@a/weather@1.0.2"])),
        ("pypi", "weather-mcp", "0.5.0", json!(["uvx", "weather-mcp@0.5.0"])),
        ("nuget", "A.Weather", "1.0.0", json!(["dnx", "--yes", "A.Weather@1.0.0"])),
        (
            "oci",
            "docker.io/a/weather",
            "1.0.0",
            json!(["docker", "run", "-i", "--rm", "docker.io/a/weather:1.0.0"]),
        ),
        (
            "oci",
            "ghcr.io/a/weather:2.1",
            "",
            json!(["docker", "run", "-i", "--rm", "ghcr.io/a/weather:2.1"]),
        ),
    ] {
        let made = package(
            json!({"registryType": kind, "identifier": identifier, "version": version, "transport": {"type": "stdio"}}),
        );
        assert_eq!(made.unwrap().server["command"], command);
    }
}

#[test]
fn arguments_and_variables_are_filled_or_asked_for() {
    let made = package(json!({
        "registryType": "npm", "identifier": "w", "version": "1.0.0", "runtimeHint": "npx",
        "transport": {"type": "stdio"},
        "runtimeArguments": [{"type": "named", "name": "--silent", "value": ""}],
        "packageArguments": [
            {"type": "positional", "value": "serve"},
            {"type": "named", "name": "--port", "default": "80"},
            {"type": "named", "name": "--city", "isRequired": true, "description": "Where"},
            {"type": "positional", "valueHint": "folder", "value": "{root}/x", "variables": {"root": {"isRequired": true, "description": "Root"}}},
            {"type": "named", "name": "--optional"},
        ],
        "environmentVariables": [
            {"name": "WEATHER_KEY", "isRequired": true, "isSecret": true, "description": "The key"},
            {"name": "LOG", "default": "info"}, {"name": "UNUSED"}, {"name": "MAYBE_TOKEN", "isSecret": true},
        ],
    }))
    .unwrap();
    assert_eq!(
        made.server["command"],
        json!([
            "npx",
            "-y",
            "--silent",
            "w@1.0.0",
            "serve",
            "--port",
            "80",
            "--city",
            "${WEATHER_CITY}",
            "${WEATHER_ROOT}/x"
        ])
    );
    assert_eq!(
        made.server["env"],
        json!({"WEATHER_KEY": "${WEATHER_KEY}", "LOG": "info", "MAYBE_TOKEN": "${MAYBE_TOKEN:-}"})
    );
    let needs: Vec<(&str, bool)> =
        made.needs.iter().map(|it| (it.name.as_str(), it.secret)).collect();
    assert_eq!(
        needs,
        [
            ("WEATHER_KEY", true),
            ("MAYBE_TOKEN", true),
            ("WEATHER_CITY", false),
            ("WEATHER_ROOT", false)
        ]
    );
}

#[test]
fn a_container_gets_its_variables_by_name() {
    let made = package(json!({
        "registryType": "oci", "identifier": "a/w", "version": "1.0.0", "transport": {"type": "stdio"},
        "runtimeArguments": [{"type": "named", "name": "--mount", "value": "type=bind,src={src},dst=/d", "variables": {"src": {"isRequired": true}}}],
        "environmentVariables": [{"name": "TOKEN", "isRequired": true, "isSecret": true}],
    }));
    assert_eq!(
        made.unwrap().server["command"],
        json!([
            "docker",
            "run",
            "-i",
            "--rm",
            "-e",
            "TOKEN",
            "--mount",
            "type=bind,src=${WEATHER_SRC},dst=/d",
            "a/w:1.0.0"
        ])
    );
}

/// Containers hold a stranger's program only as long as the stranger does not say how they are run.
#[test]
fn no_flag_of_a_stranger_opens_a_container() {
    let made = |words: &[&str]| {
        let word = |word: &&str| json!({"type": "positional", "value": word, "variables": {"mine": {"isRequired": true}}});
        package(json!({
            "registryType": "oci", "identifier": "a/w", "version": "1.0.0", "transport": {"type": "stdio"},
            "runtimeArguments": words.iter().map(word).collect::<Vec<_>>(),
            "environmentVariables": [{"name": "TOKEN", "isRequired": true, "isSecret": true}],
        }))
    };
    for good in [
        &["run", "-i", "--rm", "--init", "--read-only"][..],
        &["-e", "A=b", "--env=C={mine}", "-e", "TOKEN"],
        &["-v", "{mine}:/data:ro", "--volume={mine}"],
        &["--mount", "type=bind,source={mine},target=/d,readonly"],
        &["--network", "none", "--network=tools", "--net", "{mine}"],
    ] {
        assert!(made(good).is_some(), "{good:?}");
    }
    for bad in [
        &["--privileged"][..],
        &["-v", "/:/host"],
        &["-v", "{mine}/../..:/host"],
        &["-v", "${HOME}:/host"],
        &["-v/:/host"],
        &["--volume=/var/run/docker.sock:/var/run/docker.sock"],
        &["--mount", "type=bind,src=/,dst=/d"],
        &["--mount", "type=bind,src={mine},src=/,dst=/d"],
        &["--mount", "type=volume,dst=/d,volume-opt=device=/"],
        &["--network", "host"],
        &["--network=container:db"],
        &["--network", "--privileged"],
        &["--pid=host"],
        &["--cap-add", "ALL"],
        &["-e", "AWS_SECRET_ACCESS_KEY"],
        &["-e"],
        &["evil/image"],
        &["--rm=false"],
    ] {
        assert_eq!(made(bad), None, "{bad:?}");
    }
}

#[test]
fn a_remote_is_reached_where_it_is() {
    let made = choices(json!({"remotes": [
        {"type": "streamable-http", "url": "https://{region}.w.test/mcp", "variables": {"region": {"default": "eu", "description": "d"}},
         "headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isRequired": true, "isSecret": true}}},
                     {"name": "X-Key", "isRequired": true, "isSecret": true}, {"name": "X-Optional"}]},
        {"type": "sse", "url": "https://w.test/sse"},
    ]}));
    assert_eq!(
        json!(made[0].server),
        json!({"url": "https://eu.w.test/mcp", "headers": {"Authorization": "Bearer ${WEATHER_TOKEN}", "X-Key": "${WEATHER_X_KEY}"}})
    );
    assert_eq!(json!(made[1].server), json!({"transport": "sse", "url": "https://w.test/sse"}));
    // What the gateway has for others is nobody's to name.
    let greedy = choices(
        json!({"remotes": [{"type": "streamable-http", "url": "https://w.test/mcp",
        "headers": [{"name": "X", "value": "{OPENAI_API_KEY}", "variables": {"OPENAI_API_KEY": {"isRequired": true}}}]}]}),
    );
    assert_eq!(greedy[0].server["headers"]["X"], "${WEATHER_OPENAI_API_KEY}");
    assert!(made.iter().all(|it| it.kind == "remote"));
}

#[test]
fn no_word_of_a_stranger_is_expanded_or_started() {
    // What is harmless without a shell stays as it is; what would be expanded here does not.
    let made = package(json!({
        "registryType": "npm", "identifier": "w", "version": "1.0.0", "transport": {"type": "stdio"},
        "packageArguments": [
            {"type": "positional", "value": "; rm -rf / #"}, {"type": "positional", "value": "$(id)`id`|sh"},
            {"type": "positional", "value": "${OPS_KEY}"}, {"type": "positional", "value": "{no}"},
        ],
        "environmentVariables": [{"name": "A", "value": "${OPS_KEY}"}],
    }))
    .unwrap();
    assert_eq!(
        made.server["command"],
        json!(["npx", "-y", "w@1.0.0", "; rm -rf / #", "$(id)`id`|sh", "$${OPS_KEY}", "{no}"])
    );
    assert_eq!(made.server["env"]["A"], "$${OPS_KEY}");
    for bad in [
        json!({"registryType": "npm", "identifier": "--registry=https://evil.test", "version": "1"}),
        json!({"registryType": "npm", "identifier": "w", "version": "1 --evil"}),
        json!({"registryType": "npm", "identifier": "-w", "version": "1"}),
        json!({"registryType": "npm", "identifier": "https://evil.test/x.tgz", "version": "1"}),
        json!({"registryType": "npm", "identifier": "a b", "version": "1"}),
        json!({"registryType": "mcpb", "identifier": "https://x.test/a.mcpb", "version": "1"}),
        json!({"registryType": "sh", "identifier": "x", "version": "1"}),
        json!({"registryType": "npm", "identifier": "w", "version": "1", "packageArguments": [{"type": "positional", "value": "a\nb"}]}),
        json!({"registryType": "npm", "identifier": "w", "version": "1", "packageArguments": [{"type": "positional", "value": "x".repeat(9_999)}]}),
        json!({"registryType": "npm", "identifier": "w", "version": "1", "environmentVariables": [{"name": "A=B", "value": "x"}]}),
        json!({"registryType": "npm", "identifier": "w", "version": "1", "transport": {"type": "streamable-http", "url": "http://127.0.0.1/"}}),
    ] {
        assert_eq!(package(bad.clone()), None, "{bad}");
    }
    let hinted = package(
        json!({"registryType": "npm", "identifier": "w", "version": "1", "runtimeHint": "/bin/sh"}),
    );
    assert_eq!(
        hinted.unwrap().server["command"][0],
        "npx",
        "a hint only chooses among what is known"
    );
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://u:p@x.test/",
        "https://x.test/ y",
        "//x.test",
    ] {
        assert!(choices(json!({"remotes": [{"type": "sse", "url": url}]})).is_empty(), "{url}");
    }
    let headers = json!([{"name": "X: y\r\nZ", "value": "v"}]);
    assert!(
        choices(json!({"remotes": [{"type": "sse", "url": "https://x.test", "headers": headers}]}))
            .is_empty()
    );
}

#[test]
fn what_makes_no_sense_is_left_out_and_the_rest_stays() {
    let listed = page(&json!({
        "servers": [
            5, {}, {"server": {"name": 5}}, {"server": {"name": "<script>alert(1)</script>/x"}},
            {"server": {"name": "a/gone"}, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}}},
            {"server": {"name": "a/b", "title": "<img src=x onerror=alert(1)>", "description": "x\u{1b}[2Jy".repeat(200),
                        "version": "1", "websiteUrl": "javascript:alert(1)", "packages": 5, "remotes": [7]}},
            {"name": "a/old", "description": "flat", "version": "0", "websiteUrl": "https://x.test/a?b=c"},
        ],
        "metadata": {"nextCursor": "a/old:0", "count": 7},
    }))
    .unwrap();
    let names: Vec<&str> = listed.servers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, listed.next.as_deref()), (vec!["a/b", "a/old"], Some("a/old:0")));
    let odd = &listed.servers[0];
    assert_eq!((odd.website.as_deref(), odd.choices.len()), (None, 0));
    assert!(odd.description.chars().count() <= 401 && !odd.description.contains('\u{1b}'));
    assert_eq!(odd.title.as_deref(), Some("<img src=x onerror=alert(1)>"), "text is text");
    assert_eq!(listed.servers[1].website.as_deref(), Some("https://x.test/a?b=c"));
    for strange in [json!(null), json!([]), json!({}), json!({"servers": {}})] {
        assert_eq!(page(&strange), None);
    }
}

#[test]
fn names_are_short_here() {
    assert_eq!(short_name("io.github.a/mcp-weather"), "weather");
    assert_eq!(short_name("com.example/fetch-server"), "fetch");
}
