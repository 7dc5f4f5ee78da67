//! Calls of tools: alone, caught, side by side.

use crate::rehearsal::{check, check_hint};

#[test]
fn a_call_returns_data() {
    check(
        "x = echo.all(1, 'b', c=None)\nresult = x['named']",
        "1> echo.all [1,\"b\"] {\"c\":null}\n= {\"c\":null}",
    );
    check(
        "result = echo.value(v=[1, {'a': 2.5}])[1]['a']",
        "1> echo.value [] {\"v\":[1,{\"a\":2.5}]}\n= 2.5",
    );
    check(
        "result = echo.all(*[1, 2], **{'a': 3})",
        "1> echo.all [1,2] {\"a\":3}\n= {\"positional\":[1,2],\"named\":{\"a\":3}}",
    );
    check(
        "result = echo.all({'a': 1})",
        "1> echo.all [{\"a\":1}] {}\n= {\"positional\":[{\"a\":1}],\"named\":{}}",
    );
}

#[test]
fn prints_and_calls_come_in_their_order() {
    check("print('a')\nslack.post(x=1)\nprint('b')", "a\n2> slack.post [] {\"x\":1}\nb\n= ");
}

#[test]
fn a_failing_tool_ends_the_program_at_its_line() {
    check(
        "x = 1\ndef f():\n    return echo.fail(a=1)\nf()",
        "3> echo.fail [] {\"a\":1}\n! tool 3: `echo.fail` failed (tool_failed): no luck",
    );
    check_hint("echo.fail()", "try_call(");
}

#[test]
fn try_call_tells_of_a_failure() {
    check(
        "r = try_call(echo.fail, a=1)\nresult = [r.ok, r.value, r.error, r.status, r.retryable]",
        "1> echo.fail [] {\"a\":1}\n= [false,null,\"no luck\",\"tool_failed\",true]",
    );
    check(
        "r = try_call(echo.value, 7)\nresult = [r['ok'], r['value'], r['error'], 'ok' in r]",
        "1> echo.value [7] {}\n= [true,7,null,true]",
    );
    check(
        "result = try_call(echo.value, v=1)",
        "1> echo.value [] {\"v\":1}\n= {\"ok\":true,\"value\":1,\"error\":null,\"status\":\"ok\",\"retryable\":false}",
    );
    check(
        "r = try_call(echo.value, v='é')\nprint(r)",
        "1> echo.value [] {\"v\":\"é\"}\n{\"ok\": True, \"value\": \"é\", \"error\": None, \"status\": \"ok\", \"retryable\": False}\n= ",
    );
    check(
        "try_call(echo.value, v=1)['nope']",
        "1> echo.value [] {\"v\":1}\n! runtime 1: key `\"nope\"` was not found",
    );
}

#[test]
fn a_result_that_cannot_be_read_can_be_caught_too() {
    check(
        "r = try_call(echo.json, '1e400')\nresult = [r.ok, r.status, 'too large' in r.error]",
        "1> echo.json [\"1e400\"] {}\n= [false,\"error\",true]",
    );
}

#[test]
fn try_call_needs_the_tool_itself() {
    for source in [
        "try_call(echo.value(v=1))",
        "try_call()",
        "try_call(lambda: echo.value(v=1))",
        "try_call(5, a=1)",
    ] {
        check_hint(source, "try_call(server.tool, name=value)");
    }
}

#[test]
fn parallel_keeps_the_order() {
    check(
        "result = parallel([(echo.value, {'v': i}) for i in range(3)] + [echo.all])",
        "1> echo.value [] {\"v\":0}\n1> echo.value [] {\"v\":1}\n1> echo.value [] {\"v\":2}\n1> echo.all [] {}\n= [0,1,2,{\"positional\":[],\"named\":{}}]",
    );
    check("result = parallel([])", "= []");
    check("result = parallel([[echo.value, {'v': 1}]])", "1> echo.value [] {\"v\":1}\n= [1]");
}

#[test]
fn parallel_fails_if_one_does_unless_it_is_asked_to_catch() {
    check(
        "parallel([(echo.value, {'v': 1}), (echo.fail, {})])",
        "1> echo.value [] {\"v\":1}\n1> echo.fail [] {}\n! tool 1: `echo.fail` failed (tool_failed): no luck",
    );
    check(
        "result = [r.ok for r in parallel([(echo.value, {'v': 1}), (echo.fail, {})], catch=True)]",
        "1> echo.value [] {\"v\":1}\n1> echo.fail [] {}\n= [true,false]",
    );
}

#[test]
fn parallel_takes_pairs_only() {
    for source in [
        "parallel([lambda: echo.value(v=1)])",
        "parallel([echo.value(v=1)])",
        "parallel([(echo.value, 1)])",
        "parallel([(echo.value,)])",
        "parallel([(echo.value, {'a': 1}, 2)])",
        "parallel([('echo.value', {})])",
        "parallel([(echo.value, {1: 2})])",
        "parallel(echo.value)",
        "parallel({'a': 1})",
    ] {
        check_hint(source, "parallel([(server.tool, {\"name\": value}), …])");
    }
}

#[test]
fn what_is_no_data_is_named_where_it_stands() {
    check(
        "slack.post(x=slack.post)",
        "! runtime 1: `x` is the tool `slack.post` itself, which is not data",
    );
    check(
        "slack.post(x={'a': [1, len]})",
        "! runtime 1: `x[\"a\"][1]` is a function, which is not data",
    );
    check("slack.post(1, slack)", "! runtime 1: `argument 2` is a server, which is not data");
    check("slack.post(x={1: 2})", "! runtime 1: `x` has the key `1`; keys of data are strings");
    check(
        "slack.post(x=1.0 / 3 * float('inf'))",
        "! runtime 1: `x` is the number inf, which is not data",
    );
    check(
        "parallel([(slack.post, {'a': b'x'})])",
        "! runtime 1: `a` is a bytes, which is not data",
    );
}

#[test]
fn a_call_says_the_line_it_stands_in() {
    check(
        "\n\n\nslack.post()\nparallel([\n  (slack.post, {}),\n])",
        "4> slack.post [] {}\n5> slack.post [] {}\n= ",
    );
}
