//! The reports as people see them, whole.

use super::check;

#[test]
fn a_misspelt_key_is_answered_with_the_right_one() {
    check(
        r#"
servers:
  files_1:
    comand: npx -y files
    trasport: stdio
"#,
        r#"
error: unknown key `comand`
 --> t.yaml:3:5
   |
 3 |     comand: npx -y files
   |     ^^^^^^
   = did you mean `command`?
   = known here: transport, command, args, env, cwd, sandbox, url, headers, auth, protocol, trusted, trust, results, enabled, start, restart, code_mode, calibrate, category, limits, defaults, allow, deny, tools

error: unknown key `trasport`
 --> t.yaml:4:5
   |
 4 |     trasport: stdio
   |     ^^^^^^^^
   = did you mean `transport`?
   = known here: transport, command, args, env, cwd, sandbox, url, headers, auth, protocol, trusted, trust, results, enabled, start, restart, code_mode, calibrate, category, limits, defaults, allow, deny, tools

2 errors in t.yaml
"#,
    );
}

#[test]
fn an_open_address_without_keys_is_pointed_out() {
    check(
        r#"
environment: home
listen: 0.0.0.0:8655
"#,
        r#"
warning: `0.0.0.0:8655` can be reached from outside, but the config has no keys
 --> t.yaml:2:9
   |
 2 | listen: 0.0.0.0:8655
   |         ^^^^^^^^^^^^
   = the gateway does not start without keys: add `keys:`, or run `tollgate keys create`

1 warning in t.yaml
"#,
    );
}

#[test]
fn a_server_is_reached_in_exactly_one_way() {
    check(
        r#"
servers:
  a: { command: x, url: "http://h/" }
  b: {}
  c: { transport: stdio, url: "http://h/" }
  d: { transport: sse, command: x }
"#,
        r#"
error: server `a` has both `command` and `url`
 --> t.yaml:2:3
   |
 2 |   a: { command: x, url: "http://h/" }
   |   ^
   = keep `command` for a process, `url` for an endpoint

error: server `b` needs either `url` or `command`
 --> t.yaml:3:3
   |
 3 |   b: {}
   |   ^
   = `command: ["program", "argument"]` or `url: https://tools.example.com/mcp`

error: server `c` has a `url`, but `transport: stdio`
 --> t.yaml:4:3
   |
 4 |   c: { transport: stdio, url: "http://h/" }
   |   ^
   = remove `transport`, or set `command` instead

error: server `d` has a `command`, but not `transport: stdio`
 --> t.yaml:5:3
   |
 5 |   d: { transport: sse, command: x }
   |   ^
   = remove `transport`, or set `url` instead

4 errors in t.yaml
"#,
    );
}

#[test]
fn a_missing_variable_names_the_key_and_the_line() {
    check(
        r#"
servers:
  search:
    url: https://tools.example.com/mcp
    auth:
      token: ${WORLD_SEARCH_TOKEN}
"#,
        r#"
error: `servers.search.auth.token`: the variable `WORLD_SEARCH_TOKEN` is not set
 --> t.yaml:5:14
   |
 5 |       token: ${WORLD_SEARCH_TOKEN}
   |              ^^^^^^^^^^^^^^^^^^^^^
   = set it, or give a default: `${WORLD_SEARCH_TOKEN:-something}`

1 error in t.yaml
"#,
    );
}

#[test]
fn a_key_in_the_wrong_place_is_sent_to_the_right_one() {
    check(
        r#"
servers:
  a:
    command: x
    timeout_ms: 5000
    agents: {}
    apiKey: abc
"#,
        r#"
error: unknown key `timeout_ms`
 --> t.yaml:4:5
   |
 4 |     timeout_ms: 5000
   |     ^^^^^^^^^^
   = it belongs under `defaults`
   = known here: transport, command, args, env, cwd, sandbox, url, headers, auth, protocol, trusted, trust, results, enabled, start, restart, code_mode, calibrate, category, limits, defaults, allow, deny, tools

error: unknown key `agents`
 --> t.yaml:5:5
   |
 5 |     agents: {}
   |     ^^^^^^
   = it belongs at the top level: remove the indentation
   = known here: transport, command, args, env, cwd, sandbox, url, headers, auth, protocol, trusted, trust, results, enabled, start, restart, code_mode, calibrate, category, limits, defaults, allow, deny, tools

error: unknown key `apiKey`
 --> t.yaml:6:5
   |
 6 |     apiKey: ***
   |     ^^^^^^
   = write `auth: { apiKey: … }` for the header x-api-key, `auth: { token: … }` for a bearer token
   = known here: transport, command, args, env, cwd, sandbox, url, headers, auth, protocol, trusted, trust, results, enabled, start, restart, code_mode, calibrate, category, limits, defaults, allow, deny, tools

3 errors in t.yaml
"#,
    );
}

#[test]
fn variables_in_braces_need_quotes() {
    check(
        r#"
servers:
  a: { command: run, cwd: ${DIR} }
"#,
        r#"
error: this is not YAML: while parsing a flow mapping, did not find expected ',' or '}'
 --> t.yaml:2:28
   |
 2 |   a: { command: run, cwd: ${DIR} }
   |                            ^
   = inside `{ }` and `[ ]` a variable needs quotes: "${NAME}"

1 error in t.yaml
"#,
    );
}

#[test]
fn tabs_are_named() {
    check(
        r#"
servers:
  a:
	command: x
"#,
        r#"
error: a tab cannot indent a line of YAML
 --> t.yaml:3:1
   |
 3 |  command: x
   | ^
   = use two spaces for each level

1 error in t.yaml
"#,
    );
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    check(
        r#"
agents:
  sage: { tools: [rol, roll], budget_tier: FASTEST, models: [gpt] }
default_agent: sag
"#,
        r#"
warning: no tool can be named `rol`
 --> t.yaml:2:19
   |
 2 |   sage: { tools: [rol, roll], budget_tier: FASTEST, models: [gpt] }
   |                   ^^^
   = did you mean `roll`?

error: `budget_tier` must be one of `fast`, `standard`, `deep`, not `FASTEST`
 --> t.yaml:2:44
   |
 2 |   sage: { tools: [rol, roll], budget_tier: FASTEST, models: [gpt] }
   |                                            ^^^^^^^
   = did you mean `fast`?

error: there is no model `gpt`
 --> t.yaml:2:62
   |
 2 |   sage: { tools: [rol, roll], budget_tier: FASTEST, models: [gpt] }
   |                                                              ^^^
   = there are: offline

error: there is no agent `sag`
 --> t.yaml:3:16
   |
 3 | default_agent: sag
   |                ^^^
   = did you mean `sage`?
   = there are: sage

3 errors, 1 warning in t.yaml
"#,
    );
}

#[test]
fn other_products_words_are_translated() {
    check(
        r#"
mcp:
  servers: []
npcs: []
"#,
        r#"
error: unknown key `mcp`
 --> t.yaml:1:1
   |
 1 | mcp:
   | ^^^
   = move the keys under `mcp` to the top level: `servers:`
   = known here: listen, hosts, origins, trusted_proxies, environment, data, tls, database, redis, names, limits, shutdown, approvals, builtin, servers, tools, trust, budget, code, memory, audit, telemetry, telephony, secrets, registry, providers, models, prices, incoming_calls, default_agent, agents, auth, keys

error: unknown key `npcs`
 --> t.yaml:3:1
   |
 3 | npcs: []
   | ^^^^
   = write `agents:`
   = known here: listen, hosts, origins, trusted_proxies, environment, data, tls, database, redis, names, limits, shutdown, approvals, builtin, servers, tools, trust, budget, code, memory, audit, telemetry, telephony, secrets, registry, providers, models, prices, incoming_calls, default_agent, agents, auth, keys

2 errors in t.yaml
"#,
    );
}

#[test]
fn numbers_say_their_range() {
    check(
        r#"
servers:
  a: { command: x, defaults: { timeout_ms: 5 parsecs } }
  b: { command: x, defaults: { timeout_ms: "5" } }
"#,
        r#"
error: `timeout_ms` must be a whole number from 1 to 3600000 milliseconds, not `5 parsecs`
 --> t.yaml:2:44
   |
 2 |   a: { command: x, defaults: { timeout_ms: 5 parsecs } }
   |                                            ^^^^^^^^^

error: `timeout_ms` must be a whole number from 1 to 3600000 milliseconds, not `5`
 --> t.yaml:3:44
   |
 3 |   b: { command: x, defaults: { timeout_ms: "5" } }
   |                                            ^^^
   = write the number without quotes

2 errors in t.yaml
"#,
    );
}

#[test]
fn secrets_are_covered_in_the_lines_that_are_shown() {
    check(
        r#"
servers:
  a:
    url: https://user:password@example.com/
  b:
    url: https://example.com/
    auth: { tokn: abc }
keys:
  - { name: ops, key: "0123456789abcdef0123", rol: admin }
"#,
        r#"
error: `url` must not contain a user and a password
 --> t.yaml:3:10
   |
 3 |     url: **********************************
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = use `auth:` or `headers:`, which are not logged

error: unknown key `tokn`
 --> t.yaml:6:13
   |
 6 |     auth: { tokn: *** }
   |             ^^^^
   = did you mean `token`?
   = known here: token, apiKey, oauth, login, client_id, client_secret, issuer, scopes

error: unknown key `rol`
 --> t.yaml:8:47
   |
 8 |   - { name: ops, key: **********************, rol: ***** }
   |                                               ^^^
   = did you mean `role`?
   = known here: name, key, hash, role, agents, rights, tools, rate_limit, model_limits, concurrent, tenant, expires

3 errors in t.yaml
"#,
    );
}

#[test]
fn prose_with_a_variable_is_pointed_out() {
    check(
        r#"
agents:
  a:
    description: "Welcome to ${PLACE}"
    tools: [roll]
"#,
        r#"
warning: `${PLACE}` is not expanded in `description`
 --> t.yaml:3:18
   |
 3 |     description: "Welcome to ${PLACE}"
   |                  ^^^^^^^^^^^^^^^^^^^^^
   = variables are expanded in settings, not in texts for people and models

1 warning in t.yaml
"#,
    );
}

#[test]
fn a_colon_in_a_text_needs_quotes() {
    check(
        r#"
agents:
  a:
    description: note: this
"#,
        r#"
error: this is not YAML: mapping values are not allowed in this context
 --> t.yaml:3:22
   |
 3 |     description: note: this
   |                      ^
   = a text with `: ` in it needs quotes; or the indentation is off

1 error in t.yaml
"#,
    );
}

#[test]
fn a_star_needs_quotes() {
    check(
        r#"
agents:
  a:
    tools: [*]
"#,
        r#"
error: this is not YAML: while scanning an anchor or alias, did not find expected alphabetic or numeric character
 --> t.yaml:3:13
   |
 3 |     tools: [*]
   |             ^
   = a text that begins with `*` needs quotes: "*"

1 error in t.yaml
"#,
    );
}

#[test]
fn required_keys_say_what_they_are_for() {
    check(
        r#"
tls: { cert: /c.pem }
providers:
  p: {}
keys:
  - role: admin
"#,
        r#"
error: `key` is missing
 --> t.yaml:1:1
   |
 1 | tls: { cert: /c.pem }
   | ^^^
   = `tls` needs it: PEM file with the private key

error: `kind` is missing
 --> t.yaml:3:3
   |
 3 |   p: {}
   |   ^
   = `providers.p` needs it: `openai` is any compatible API, `deepgram` is its voice agent, `offline` is the small built-in model

error: `name` is missing
 --> t.yaml:5:5
   |
 5 |   - role: admin
   |     ^
   = `keys[0]` needs it: name of the holder; shown in the audit trail

error: `key` is missing
 --> t.yaml:5:5
   |
 5 |   - role: admin
   |     ^
   = `keys[0]` requires it, or `hash`

4 errors in t.yaml
"#,
    );
}

#[test]
fn yes_and_no_are_not_switches() {
    check(
        r#"
servers:
  a: { command: x, trusted: yes, enabled: off }
"#,
        r#"
error: `trusted` must be `true` or `false`, not `yes`
 --> t.yaml:2:29
   |
 2 |   a: { command: x, trusted: yes, enabled: off }
   |                             ^^^
   = write `true`

error: `enabled` must be `true` or `false`, not `off`
 --> t.yaml:2:43
   |
 2 |   a: { command: x, trusted: yes, enabled: off }
   |                                           ^^^
   = write `false`

2 errors in t.yaml
"#,
    );
}

#[test]
fn tiers_must_rise() {
    check(
        r#"
budget:
  tiers: { fast_ms: 1500, standard_ms: 1500 }
"#,
        r#"
error: the tiers must be increasing: fast 1500, standard 1500, deep 4000
 --> t.yaml:2:3
   |
 2 |   tiers: { fast_ms: 1500, standard_ms: 1500 }
   |   ^^^^^
   = the defaults are 500, 1500 and 4000

1 error in t.yaml
"#,
    );
}

#[test]
fn estimates_fit_their_limits() {
    check(
        r#"
servers:
  a:
    command: x
    tools:
      t: { estimated_duration_ms: 900, max_duration_ms: 800, rate_limit: often, expose_as: "2x", probe: 5 }
"#,
        r#"
error: `estimated_duration_ms` (900) is more than `max_duration_ms` (800)
 --> t.yaml:5:35
   |
 5 |       t: { estimated_duration_ms: 900, max_duration_ms: 800, rate_limit: often, expose_as: "2x", probe: 5 }
   |                                   ^^^
   = the median cannot exceed the maximum

error: `rate_limit` must be like `30/min`, not `often`
 --> t.yaml:5:74
   |
 5 |       t: { estimated_duration_ms: 900, max_duration_ms: 800, rate_limit: often, expose_as: "2x", probe: 5 }
   |                                                                          ^^^^^
   = a number from 1 to 1000000, then `/s`, `/min`, `/h` or `/day`

error: `expose_as`: `2x` has the character '2'; use letters, digits and `_`, with a letter first
 --> t.yaml:5:92
   |
 5 |       t: { estimated_duration_ms: 900, max_duration_ms: 800, rate_limit: often, expose_as: "2x", probe: 5 }
   |                                                                                            ^^^^
   = like `search_world`: at most 64 characters

error: `probe` must be a map of arguments
 --> t.yaml:5:105
   |
 5 | …e_limit: often, expose_as: "2x", probe: 5 }
   |                                          ^
   = like `probe: { icao: EDDF }`

4 errors in t.yaml
"#,
    );
}

#[test]
fn one_name_is_not_given_twice() {
    check(
        r#"
servers:
  a: { command: x, tools: { t: { expose_as: same }, u: { expose_as: Same } } }
"#,
        r#"
error: another tool is already named `Same`
 --> t.yaml:2:69
   |
 2 |   a: { command: x, tools: { t: { expose_as: same }, u: { expose_as: Same } } }
   |                                                                     ^^^^
   = names must differ in more than case

1 error in t.yaml
"#,
    );
}

#[test]
fn bad_names_say_what_is_allowed() {
    check(
        r#"
servers:
  my server: { command: x }
agents:
  ../etc: { tools: [roll] }
names: { pattern: "mcp_{server}" }
"#,
        r#"
error: invalid server id: `my server` has the character ' '; use letters, digits, `_` and `-`, with a letter first
 --> t.yaml:2:3
   |
 2 |   my server: { command: x }
   |   ^^^^^^^^^
   = like `world_search`: at most 64 characters

error: invalid agent name: `../etc` has the character '.'; use letters, digits, `_` and `-`, with a letter first
 --> t.yaml:4:3
   |
 4 |   ../etc: { tools: [roll] }
   |   ^^^^^^
   = like `sage`: at most 64 characters

error: the pattern must contain `{tool}`
 --> t.yaml:5:19
   |
 5 | names: { pattern: "mcp_{server}" }
   |                   ^^^^^^^^^^^^^^
   = otherwise all tools of a server would have one name: `{server}_{tool}`

3 errors in t.yaml
"#,
    );
}

#[test]
fn credentials_that_are_empty_are_no_credentials() {
    check(
        r#"
servers:
  a: { url: https://h/, auth: { token: "Bearer " } }
keys:
  - { name: ops, key: "${OPS_KEY:-}" }
"#,
        r#"
error: `token` is empty
 --> t.yaml:2:40
   |
 2 |   a: { url: https://h/, auth: { token: ********* } }
   |                                        ^^^^^^^^^
   = check the value of the variable

error: the key is empty
 --> t.yaml:4:23
   |
 4 |   - { name: ops, key: ************** }
   |                       ^^^^^^^^^^^^^^
   = an empty key would allow everyone; is the variable set?

2 errors in t.yaml
"#,
    );
}

#[test]
fn two_ways_to_authorize_are_one_too_many() {
    check(
        r#"
servers:
  a:
    url: https://h/
    headers: { Authorization: abc }
    auth: { token: abc, oauth: { client_id: a, client_secret: b } }
"#,
        r#"
error: two ways to authorize
 --> t.yaml:4:5
   |
 4 |     headers: { Authorization: *** }
   |     ^^^^^^^
   = remove `authorization` from `headers`, or remove `auth`

warning: `token` is not used
 --> t.yaml:5:20
   |
 5 |     auth: { token: ***, oauth: { client_id: a, client_secret: * } }
   |                    ^^^
   = `oauth` takes precedence; remove one of them

1 error, 1 warning in t.yaml
"#,
    );
}

#[test]
fn models_and_providers_must_exist() {
    check(
        r#"
providers: { open: { kind: openai, base_url: "ftp://x/" } }
models:
  m: { provider: opn, context_window: 1000, max_output: 1000 }
"#,
        r#"
error: `base_url` must begin with http:// or https://: `ftp://x/`
 --> t.yaml:1:46
   |
 1 | providers: { open: { kind: openai, base_url: "ftp://x/" } }
   |                                              ^^^^^^^^^^
   = like `https://tools.example.com/mcp`

error: there is no provider `opn`
 --> t.yaml:3:18
   |
 3 |   m: { provider: opn, context_window: 1000, max_output: 1000 }
   |                  ^^^
   = did you mean `open`?
   = there are: open

error: `max_output` (1000) uses the whole context window (1000)
 --> t.yaml:3:57
   |
 3 |   m: { provider: opn, context_window: 1000, max_output: 1000 }
   |                                                         ^^^^
   = it is a part of `context_window`

3 errors in t.yaml
"#,
    );
}

#[test]
fn stores_have_their_schemes() {
    check(
        r#"
database: mysql://h/db
redis: localhost:6379
"#,
        r#"
error: `database` must be `sqlite` or begin with postgres://
 --> t.yaml:1:11
   |
 1 | database: ************
   |           ^^^^^^^^^^^^
   = like `postgres://user@host/db`

error: `redis` must begin with redis:// or rediss://
 --> t.yaml:2:8
   |
 2 | redis: **************
   |        ^^^^^^^^^^^^^^
   = like `redis://127.0.0.1:6379`

2 errors in t.yaml
"#,
    );
}

#[test]
fn the_wrong_shape_says_the_right_one() {
    check(
        r#"
servers: [a]
agents: sage
budget: []
keys: {}
"#,
        r#"
error: an entry of `servers` must be a map with a `name`, not `a`
 --> t.yaml:1:11
   |
 1 | servers: [a]
   |           ^

error: `agents` must be a map of names, or a list of entries with a `name`, not `sage`
 --> t.yaml:2:9
   |
 2 | agents: sage
   |         ^^^^

error: `budget` must be a map, not a list
 --> t.yaml:3:1
   |
 3 | budget: []
   | ^^^^^^

error: `keys` must be a list of maps
 --> t.yaml:4:1
   |
 4 | keys: {}
   | ^^^^

4 errors in t.yaml
"#,
    );
}

#[test]
fn what_no_shell_will_do_is_pointed_out() {
    check(
        r#"
servers:
  a: { command: "cat x | sort" }
  b: { command: ["~/bin/x"], env: { PATH: /x } }
"#,
        r#"
warning: `|` is passed to the program unchanged
 --> t.yaml:2:17
   |
 2 |   a: { command: "cat x | sort" }
   |                 ^^^^^^^^^^^^^^
   = no shell runs the command; if you need one: ["sh", "-c", "…"]

warning: `~` in `~/bin/x` is not expanded
 --> t.yaml:3:8
   |
 3 |   b: { command: ["~/bin/x"], env: { PATH: ** } }
   |        ^^^^^^^
   = write `${HOME}` instead

warning: `PATH` decides which programs the server finds
 --> t.yaml:3:37
   |
 3 |   b: { command: ["~/bin/x"], env: { PATH: ** } }
   |                                     ^^^^
   = an absolute path in `command` is safer

3 warnings in t.yaml
"#,
    );
}

#[test]
fn what_needs_the_same_call_twice_needs_a_tool_that_bears_it() {
    check(
        r#"
servers:
  a:
    command: x
    tools:
      t: { cacheable_seconds: 60, hedge: true }
      u: { hegde: true }
"#,
        r#"
warning: results will not be cached
 --> t.yaml:5:31
   |
 5 |       t: { cacheable_seconds: 60, hedge: true }
   |                               ^^
   = this requires `idempotent: true`

warning: there will be no retries
 --> t.yaml:5:42
   |
 5 |       t: { cacheable_seconds: 60, hedge: true }
   |                                          ^^^^
   = this requires `idempotent: true`

error: unknown key `hegde`
 --> t.yaml:6:12
   |
 6 |       u: { hegde: true }
   |            ^^^^^
   = did you mean `hedge`?
   = known here: expose_as, description, speech_field, speech_template, estimated_duration_ms, max_duration_ms, idempotent, cacheable_seconds, probe, hedge, delivery, rate_limit, effect, approval

1 error, 2 warnings in t.yaml
"#,
    );
}

#[test]
fn words_that_will_never_be_spoken_are_named() {
    check(
        r#"
servers:
  a:
    command: x
    tools:
      t: { speech_template: "It is {a.b", speech_field: "" }
      u: { speech_template: "{{{}" }
      v: { speech_template: "{{ {a} }} }", speech_field: a }
"#,
        r#"
warning: `speech_template` will never be spoken
 --> t.yaml:5:29
   |
 5 |       t: { speech_template: "It is {a.b", speech_field: "" }
   |                             ^^^^^^^^^^^^
   = a `{` is not closed; a brace itself is `{{`

warning: `speech_field` will never be spoken
 --> t.yaml:5:57
   |
 5 |       t: { speech_template: "It is {a.b", speech_field: "" }
   |                                                         ^^
   = it is empty; name a field of the result, or remove it

warning: `speech_template` will never be spoken
 --> t.yaml:6:29
   |
 6 |       u: { speech_template: "{{{}" }
   |                             ^^^^^^
   = `{}` names no field; like `{icao}`

3 warnings in t.yaml
"#,
    );
}

#[test]
fn keywords_that_cannot_work_are_named() {
    check(
        r#"
budget:
  keywords: { deep: ["?!"], languages: [de, germn], replace: true }
agents:
  a: { tools: [roll], keywords: { slow: [x] } }
"#,
        r#"
error: the keyword `?!` can never match
 --> t.yaml:2:22
   |
 2 |   keywords: { deep: ["?!"], languages: [de, germn], replace: true }
   |                      ^^^^
   = it has no letter and no digit; remove it

warning: no keyword list is left
 --> t.yaml:2:29
   |
 2 |   keywords: { deep: ["?!"], languages: [de, germn], replace: true }
   |                             ^^^^^^^^^
   = `replace: true` removes the built-in keywords of every language

error: an entry of `languages` must be one of `de`, `en`, not `germn`
 --> t.yaml:2:45
   |
 2 |   keywords: { deep: ["?!"], languages: [de, germn], replace: true }
   |                                             ^^^^^

error: unknown key `slow`
 --> t.yaml:4:35
   |
 4 |   a: { tools: [roll], keywords: { slow: [x] } }
   |                                   ^^^^
   = known here: deep, standard, replace, languages

3 errors, 1 warning in t.yaml
"#,
    );
}

#[test]
fn s_05_rules_that_could_be_lifted_are_refused() {
    check(
        r#"
servers:
  notes:
    command: notes
    sandbox: { network: deny, no_new_privileges: false }
"#,
        r#"
error: `read`, `write` and `network: deny` need `no_new_privileges`
 --> t.yaml:4:50
   |
 4 |     sandbox: { network: deny, no_new_privileges: false }
   |                                                  ^^^^^
   = a program that gains privileges could bypass them; remove it

1 error in t.yaml
"#,
    );
}

#[test]
fn s_05_a_sandbox_is_a_map_or_none() {
    check(
        r#"
servers:
  notes: { command: notes, sandbox: off }
"#,
        r#"
error: `sandbox` must be a map, or `none`, not `off`
 --> t.yaml:2:37
   |
 2 |   notes: { command: notes, sandbox: off }
   |                                     ^^^

1 error in t.yaml
"#,
    );
}
