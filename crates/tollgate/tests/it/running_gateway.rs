//! Commands that talk to a running gateway.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::fake::{self, Gateway};
use crate::{Run, tollgate, tollgate_with};

const HEALTHY: (&str, &str) = ("GET /healthz", r#"{"tollgate":"0.1.0"}"#);
const ROUTES: &[(&str, &str)] = &[
    HEALTHY,
    (
        "GET /v1/tools?leaderboard=true",
        r#"{"agent":"sage","categories":[
            {"category":"other","tools":[{"rank":1,"name":"roll","p50_ms":0.4,"badge":"lightning"}]},
            {"category":"search","tools":[{"rank":1,"name":"a_d","p50_ms":90,"badge":"fast"},
             {"rank":2,"name":"a_c","p50_ms":12345,"badge":"slow"}]}]}"#,
    ),
    (
        "GET /v1/tools",
        r#"{"agent":"sage","tier":"standard","catalog_version":3,
            "tools":[
              {"name":"roll","server":"dice","tool":"roll","title":null,"description":"Roll dice\nmore",
               "estimated_duration_ms":5,"max_duration_ms":20,"tier":"fast","reason":"measured p50 0.4 ms over 37 calls",
               "measured":{"calls":37,"errors":0,"p50_ms":0.4,"p95_ms":12,"p99_ms":640},"health":"healthy",
               "badge":"lightning","compatibility":"fast compatible","bimodal":true,"hash":"00","effect":"read_only",
               "input_schema":{"type":"object","properties":{"expression":{"type":"string"},"times":{"type":"integer"}}}},
              {"name":"a_b","server":"a","tool":"b","description":"\u001b[2Jevil","tier":"standard",
               "reason":"not measured yet","measured":null,"health":"healthy","badge":null,
               "bimodal":false,"effect":"mutating"},
              {"name":"a_c","server":"a","tool":"c","category":"search","tier":"deep","measured":{"calls":5,"errors":0,
               "p50_ms":12345,"p95_ms":12345,"p99_ms":12345},"health":"unhealthy","badge":"slow","compatibility":"deep only",
               "reason":"measured p50 12345 ms over 5 calls","bimodal":false},
              {"name":"a_d","server":"a","tool":"d","category":"search","tier":"fast","measured":{"calls":9,"errors":0,
               "p50_ms":90,"p95_ms":95,"p99_ms":99},"health":"healthy","badge":"fast","compatibility":"fast compatible",
               "reason":"measured p50 90 ms over 9 calls, with a reason so long that no table of a terminal would ever hold it","bimodal":false}],
            "problems":[{"server":"a","tool":"c","problem":"`a/c`: its description hides text"},
              {"server":"a","tool":"e","left_out":true,"problem":"`a/e` is left out: the name is taken"},
              {"server":"a","tool":"f","problem":"the config names `a/f`, but the server has no such tool"}]}"#,
    ),
    (
        "POST /v1/tools/execute",
        r#"{"status":"ok","message":"You rolled 9.","data":{"total":9},"retryable":false,"duration_ms":3,"cached":false}"#,
    ),
    (
        "GET /mcp/status",
        r#"{"servers":[{"id":"dice","transport":"in-process","state":"ready","reason":"","since":"2026-11-15T05:00:00Z",
            "restarts":0,"protocol":null,"tools":2,"last_error":null},
            {"id":"files","transport":"stdio","state":"failed","reason":"","since":"2026-11-15T05:00:00Z",
            "restarts":5,"protocol":"2025-11-25","tools":0,"last_error":"exit status 1, after it had written a last line that says in many words what it missed"}]}"#,
    ),
    (
        "POST /mcp/test/files",
        r#"{"ok":false,"message":"exit status 1","protocol":null,"tools":0,"took_ms":12}"#,
    ),
    (
        "POST /mcp/test/dice",
        r#"{"ok":true,"message":"works","protocol":"2025-11-25","tools":2,"took_ms":1}"#,
    ),
];

fn at(gateway: &Gateway, folder: &Path, arguments: &[&str]) -> Run {
    let address = gateway.address.to_string();
    tollgate(folder, &[arguments, &["--listen", &address]].concat())
}

#[test]
fn tools_are_a_table_for_people_and_json_for_programs() {
    let gateway = fake::serve(ROUTES);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["tools", "--agent", "sage", "--tier", "standard"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        run.stdout,
        "\
TOOL  SERVER  TIER      P50     P95     P99     CALLS  HEALTH     BADGE      WHY
roll  dice    fast      0.4 ms  12 ms   640 ms  37     healthy    lightning  bimodal; measured p50 0.4 ms over 37 calls
a_b   a       standard  –       –       –       0      healthy    –          not measured yet
a_c   a       deep      12.4 s  12.4 s  12.4 s  5      unhealthy  slow       measured p50 12345 ms over 5 calls
a_d   a       fast      90 ms   95 ms   99 ms   9      healthy    fast       measured p50 90 ms over 9 calls, with a reason so long that no table of a terminal would ever hold it
"
    );
    assert_eq!(
        run.stderr,
        "\
4 tools for `sage` at `standard`
note: a/c: its description hides text
left out: a/e: the name is taken
note: the config names `a/f`, but the server has no such tool
"
    );
    let requests = gateway.make_request();
    assert_eq!(requests, ["GET /healthz", "GET /v1/tools?agent=sage&tier=standard"]);
    let run = at(&gateway, folder.path(), &["--json", "tools"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["catalog_version"], 3);
    let run = at(&gateway, folder.path(), &["tools", "--long"]);
    let first = run.stdout.lines().nth(1).unwrap();
    assert_eq!(first, "roll  dice    fast      20 ms    read_only  Roll dice more");
    assert!(run.stdout.contains("\u{fffd}[2Jevil"), "{}", run.stdout);
}

#[test]
fn the_leaderboard_ranks_what_was_measured_within_its_category() {
    let gateway = fake::serve(ROUTES);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["tools", "--leaderboard"]);
    assert_eq!(
        run.stdout,
        "\
CATEGORY  RANK  TOOL  SERVER  P50     P95     CALLS  BADGE      FITS
other     1     roll  dice    0.4 ms  12 ms   37     lightning  fast compatible
search    1     a_d   a       90 ms   95 ms   9      fast       fast compatible
search    2     a_c   a       12.4 s  12.4 s  5      slow       deep only
"
    );
    let run = at(&gateway, folder.path(), &["tools", "--leaderboard", "--json", "--tier", "deep"]);
    let requests = gateway.make_request();
    assert_eq!(requests.last().unwrap(), "GET /v1/tools?leaderboard=true&tier=deep");
    let board: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(board["categories"][1]["category"], "search");
    assert_eq!(board["categories"][1]["tools"][1]["name"], "a_c");
    assert_eq!(board["categories"][1]["tools"][1]["rank"], 2);
    let empty = fake::serve(&[HEALTHY, ("GET /v1/tools", r#"{"tools":[],"categories":[]}"#)]);
    let run = at(&empty, folder.path(), &["tools", "--leaderboard"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert!(run.stderr.starts_with("no tool has been measured yet"), "{}", run.stderr);
}

#[test]
fn a_call_types_its_arguments_by_the_schema_and_speaks() {
    let gateway = fake::serve(ROUTES);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["call", "roll", "expression=2", "times=3"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "You rolled 9.\n"), "{}", run.stderr);
    let requests = gateway.make_request();
    assert_eq!(
        requests[2],
        r#"POST /v1/tools/execute {"name":"roll","arguments":{"expression":"2","times":3}}"#
    );
    let run = at(&gateway, folder.path(), &["call", "roll", "times=many"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(run.stderr, "error: `times` must be of type integer, not `many`\n");
    let run = at(&gateway, folder.path(), &["call", "roll", r#"{"times":1}"#, "--json"]);
    let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(outcome["data"]["total"], 9);
}

#[test]
fn what_is_no_text_is_named_and_warnings_stand_beside_it() {
    const MIXED: &[(&str, &str)] = &[
        HEALTHY,
        ("GET /v1/tools", r#"{"tools":[]}"#),
        (
            "POST /v1/tools/execute",
            r#"{"status":"ok","message":"A map.","data":null,"content":[
                {"type":"text","text":"A map."},
                {"type":"image","mimeType":"image/png","data":"AAAAAAAA"},
                {"type":"audio","mimeType":"audio/\u001bwav"},
                {"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"four"}},
                {"type":"resource_link","uri":"https://h/b","name":"b"},
                {"type":"hologram"}, 5],
               "warning":"`n` is no number","retryable":false,"duration_ms":3,"cached":false}"#,
        ),
    ];
    let gateway = fake::serve(MIXED);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["call", "map"]);
    let expected = "A map.\n[image/png, 6 B]\n[audio/\u{fffd}wav, 0 B]\n\
        [text/plain, 4 B] file:///a\nhttps://h/b\n[hologram]\n[?]\n";
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), expected), "{}", run.stderr);
    assert_eq!(run.stderr, "note: `n` is no number\nok in 3 ms\n");
}

#[test]
fn a_call_that_does_not_work_out_ends_with_one() {
    const REFUSED: &[(&str, &str)] = &[
        HEALTHY,
        ("GET /v1/tools", r#"{"tools":[]}"#),
        (
            "POST /v1/tools/execute",
            r#"{"status":"timeout","message":"It took too long.","retryable":true}"#,
        ),
    ];
    let gateway = fake::serve(REFUSED);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["call", "slow"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr, "timeout: It took too long.\n");
    let run = at(&gateway, folder.path(), &["call", "slow", "--json"]);
    assert_eq!(run.code, Some(1));
    let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(outcome["status"], "timeout");
}

#[test]
fn servers_are_listed_and_tested() {
    let gateway = fake::serve(ROUTES);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["servers", "list"]);
    assert_eq!(
        run.stdout,
        "\
SERVER  STATE   TRANSPORT   PROTOCOL    TOOLS  RESTARTS  SINCE                 WHY
dice    ready   in-process  –           2      0         2026-11-15T05:00:00Z
files   failed  stdio       2025-11-25  0      5         2026-11-15T05:00:00Z  exit status 1, after it had written a last line that says in many words what it missed
"
    );
    let run = at(&gateway, folder.path(), &["servers", "test", "dice"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("message        works\n"), "{}", run.stdout);
    let run = at(&gateway, folder.path(), &["servers", "test", "files"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    let run = at(&gateway, folder.path(), &["servers", "test", "unknown"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr, "error: the gateway answered 404 Not Found\n");
}

#[test]
fn the_key_is_shown_to_a_tollgate_only() {
    let config = "keys: [{ name: a, key: caller-0123456789abcdef }, { name: b, key: admin-0123456789abcdef, role: admin }]";
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    let gateway = fake::serve(ROUTES);
    at(&gateway, folder.path(), &["servers", "list"]);
    assert_eq!(
        gateway.make_request(),
        ["GET /healthz", "GET /mcp/status [bearer admin-0123456789abcdef]"]
    );

    let stranger = fake::serve(&[("GET /healthz", r#"{"status":"up"}"#)]);
    at(&stranger, folder.path(), &["servers", "list"]);
    assert_eq!(stranger.make_request(), ["GET /healthz"]);
}

#[test]
fn an_utterance_gets_a_tier_and_a_reason() {
    const TIER: &[(&str, &str)] = &[
        HEALTHY,
        (
            "POST /v1/tier",
            r#"{"tier":"deep","reason":"\"in detail\" was said","tools":["roll","a_b"]}"#,
        ),
    ];
    let gateway = fake::serve(TIER);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["tier", "Tell me, in detail"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout, "deep: \"in detail\" was said\nroll a_b\n");
    assert_eq!(gateway.make_request()[1], r#"POST /v1/tier {"text":"Tell me, in detail"}"#);
    let words = "tier hm --agent sage --conversation c --queue-depth 3 --override fast --partial";
    let words: Vec<&str> = words.split(' ').chain(["--json"]).collect();
    let run = at(&gateway, folder.path(), &words);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["tools"][1], "a_b");
    assert_eq!(
        gateway.make_request()[1],
        r#"POST /v1/tier {"text":"hm","agent":"sage","conversation":"c","queue_depth":3,"override":"fast","partial":true}"#
    );
}

#[test]
fn a_result_that_comes_later_is_read_by_its_handle() {
    const LATE: &[(&str, &str)] = &[
        HEALTHY,
        ("GET /v1/tools", r#"{"tools":[]}"#),
        (
            "POST /v1/tools/execute",
            r#"{"status":"pending","message":"It takes longer.","data":null,"retryable":true,"retry_hint":"look behind r_1","handle":"r_1","duration_ms":500,"cached":false}"#,
        ),
        (
            "GET /v1/results/r_1?page=2",
            r#"{"status":"ready","outcome":"ok","page":2,"pages":2,"next":null,"data":{"rows":[1,2]}}"#,
        ),
        (
            "GET /v1/results/r_1?page=1",
            r#"{"status":"ready","outcome":"ok","page":1,"pages":2,"next":2,"data":"one"}"#,
        ),
        ("GET /v1/results/r_2", r#"{"status":"pending","since_ms":1200}"#),
        (
            "GET /v1/results/r_3",
            r#"{"status":"ready","outcome":"error","page":1,"pages":1,"data":"no such city"}"#,
        ),
    ];
    let gateway = fake::serve(LATE);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["call", "slow", "--no-cache"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "it is on its way");
    assert_eq!(
        run.stderr,
        "pending: It takes longer.\npending in 500 ms\nthe result: tollgate result r_1\n"
    );
    let requests = gateway.make_request();
    assert!(
        requests[2].starts_with("POST /v1/tools/execute [x-tollgate-no-cache: 1] {"),
        "{requests:?}"
    );
    let run = at(&gateway, folder.path(), &["result", "r_1"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "one\n"));
    assert_eq!(run.stderr, "page 1 of 2; next page: --page 2\n");
    let run = at(&gateway, folder.path(), &["result", "r_1", "--page", "2"]);
    assert!(run.stdout.contains("\"rows\""), "{}", run.stdout);
    assert_eq!(run.stderr, "page 2 of 2, the last\n");
    let run = at(&gateway, folder.path(), &["result", "r_2"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "not there yet");
    assert_eq!(run.stderr, "pending for 1200 ms\n");
    let run = at(&gateway, folder.path(), &["result", "r_3"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "no such city\n"));
    assert_eq!(run.stderr, "the call ended with `error`\n");
    let run = at(&gateway, folder.path(), &["result", "r_1", "--page", "0"]);
    assert_eq!(run.code, Some(2), "pages count from 1");
}

#[test]
fn results_stay_with_a_gateway_that_runs() {
    let folder = TempDir::new().unwrap();
    let run = tollgate(folder.path(), &["result", "r_1", "--listen", "127.0.0.1:1"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.stderr,
        "error: no gateway is running at 127.0.0.1:1; a result is kept only by the gateway that \
         made the call\n"
    );
}

#[test]
fn a_gateway_that_hangs_up_is_named_by_its_address() {
    let gateway = fake::serve(&[HEALTHY, ("GET /mcp/status", "")]);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["servers", "list"]);
    assert_eq!(run.code, Some(1));
    let url = format!("http://{}/mcp/status", gateway.address);
    let expected = format!("error: the gateway did not answer at {url}: connection ");
    assert!(run.stderr.starts_with(&expected), "{}", run.stderr);
}

#[test]
fn one_command_says_only_what_it_was_asked_for() {
    let folder = TempDir::new().unwrap();
    let call = ["call", "roll", "expression=1d1", "--listen", "127.0.0.1:0"];
    let run = tollgate(folder.path(), &call);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.starts_with("ok in ") && run.stderr.lines().count() == 1, "{}", run.stderr);
    let run = tollgate_with(folder.path(), &call, &[("TOLLGATE_LOG", "debug")]);
    assert!(run.stderr.contains("call done"), "unless it was asked for more: {}", run.stderr);
}

const CALIBRATION: &[(&str, &str)] = &[
    HEALTHY,
    ("GET /mcp/status", r#"{"servers":[{"id":"pace"}]}"#),
    (
        "GET /v1/tools",
        r#"{"agent":"sage","tools":[{"name":"pace_look_up","tier":"standard"},{"name":"pace_flaky","tier":"fast"}]}"#,
    ),
    (
        "POST /api/calibrate",
        r#"event: step
data: {"tool":"pace_look_up","server":"pace","outcome":"probed","took_ms":5.2,"done":1,"total":5}

event: step
data: {"tool":"pace_write","server":"pace","outcome":"skipped","why":"not probed: it may have side effects","done":3,"total":5}

event: step
data: {"tool":"pace_look_up","server":"pace","outcome":"probed","took_ms":5.4,"done":4,"total":5}

: a comment

event: step
data: {"tool":"pace_flaky","server":"pace","outcome":"failed","why":"no such\u001b city","done":5,"total":5}

event: done
data: {"tools":[{"name":"pace_look_up","tier":"fast","reason":"measured p50 5 ms over 5 calls","measured":{"p50_ms":5.2,"calls":5}},
data: {"name":"pace_write","tier":"standard","reason":"not measured yet","measured":null},
data: {"name":"pace_flaky","tier":"fast","reason":"declared 10 ms","measured":null}]}

"#,
    ),
];

#[test]
fn calibration_says_what_was_measured_and_what_was_left_alone() {
    let gateway = fake::serve(CALIBRATION);
    let folder = TempDir::new().unwrap();
    let run = at(&gateway, folder.path(), &["calibrate"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        run.stdout,
        "\
TOOL          PROBES  P50     TIER             WHY
pace_look_up  2       5.2 ms  standard → fast  measured p50 5 ms over 5 calls
pace_write    0       –       standard         not probed: it may have side effects
pace_flaky    0       –       fast             failed: no such\u{fffd} city
"
    );
    assert_eq!(run.stderr, "measured 1 of 3 tools\n", "no bar where nobody watches");
    assert_eq!(gateway.make_request().last().unwrap(), "POST /api/calibrate {}");
    let run = at(&gateway, folder.path(), &["calibrate", "pace", "--times", "7", "--json"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["tools"][0]["tier_before"], "standard");
    assert_eq!(answer["tools"][0]["tier"], "fast");
    assert_eq!(answer["tools"][1]["outcome"], "skipped");
    assert_eq!(answer["tools"][1]["why"], "not probed: it may have side effects");
    let requests = gateway.make_request();
    assert_eq!(requests.last().unwrap(), r#"POST /api/calibrate {"times":7,"server":"pace"}"#);
    at(&gateway, folder.path(), &["calibrate", "pace_look_up"]);
    assert_eq!(
        gateway.make_request().last().unwrap(),
        r#"POST /api/calibrate {"tool":"pace_look_up"}"#
    );
    for times in ["0", "101", "-1", "x"] {
        let run = at(&gateway, folder.path(), &["calibrate", "--times", times]);
        assert_eq!(run.code, Some(2), "{times}");
    }
}

#[test]
fn a_calibration_that_breaks_off_is_a_failure() {
    let folder = TempDir::new().unwrap();
    let check = |answer: &'static str, text: &str| {
        let routes = CALIBRATION.iter().copied().filter(|(route, _)| !route.starts_with("POST"));
        let routes: Vec<_> = routes.chain([("POST /api/calibrate", answer)]).collect();
        let gateway = fake::serve(routes.leak());
        let run = at(&gateway, folder.path(), &["calibrate", "pace_write"]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(1), text), "{answer}");
    };
    check(
        "event: step\ndata: {\"tool\":\"a\",\"outcome\":\"probed\"}\n\nevent: st",
        "error: the gateway disconnected before it was done\n",
    );
    check(
        "event: error\ndata: {\"detail\":\"the gateway stops\"}\n\n",
        "error: the gateway stops\n",
    );
    check(r#"{"tools":[]}"#, "error: the gateway's statistics are invalid\n");
    let nothing = "event: done\ndata: {\"tools\":[]}\n\n";
    check(nothing, "error: `pace_write` has nothing to measure\n");
    check(
        "event: step\ndata: {\"tool\":\"pace_write\",\"outcome\":\"skipped\",\"why\":\"no\"}\n\nevent: done\ndata: {}\n\n",
        "measured 0 of 1 tool\n",
    );
}
