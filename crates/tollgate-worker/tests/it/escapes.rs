//! Tricks to reach a tool past whoever looks at the text: each comes to the gateway as the call it
//! is, by its real place, so that the gateway's word counts. What it was not given cannot be named.

use crate::rehearsal::check;

/// Whatever the way, the gateway sees this.
#[track_caller]
fn is_seen(source: &str) {
    check(source, "1> slack.post [] {\"x\":1}\n= {\"ok\":true}");
}

/// Nothing is called.
#[track_caller]
fn leads_nowhere(source: &str, message: &str) {
    check(source, message);
}

#[test]
fn an_alias_of_a_tool_is_the_tool() {
    is_seen("f = slack.post; result = f(x=1)");
}

#[test]
fn an_alias_of_a_server_is_the_server() {
    is_seen("s = slack; result = s.post(x=1)");
}

#[test]
fn getattr_finds_what_a_dot_finds() {
    is_seen("result = getattr(slack, 'post')(x=1)");
}

#[test]
fn a_name_put_together_is_a_name() {
    is_seen("result = getattr(slack, 'po' + 'st')(**{'x': 1})");
}

#[test]
fn a_dict_of_tools_holds_tools() {
    is_seen("result = {'a': slack.post}['a'](x=1)");
    is_seen("result = {slack.post: slack.post}[slack.post](x=1)");
}

#[test]
fn a_list_of_servers_holds_servers() {
    is_seen("result = [slack][0].post(x=1)");
}

#[test]
fn a_closure_keeps_the_tool() {
    is_seen("result = (lambda s: lambda **k: s.post(**k))(slack)(x=1)");
}

#[test]
fn a_default_argument_keeps_the_tool() {
    is_seen("result = (lambda f=slack.post: f(x=1))()");
}

#[test]
fn a_partial_call_is_a_call() {
    is_seen("result = partial(slack.post, x=1)()");
}

#[test]
fn a_struct_keeps_the_tool() {
    is_seen("result = struct(f=slack.post).f(x=1)");
}

#[test]
fn a_comprehension_calls_like_any_other_place() {
    is_seen("result = [f(x=1) for f in [slack.post]][0]");
}

#[test]
fn a_function_of_higher_order_calls_like_any_other_place() {
    let text = "1> echo.value [1] {}\n1> echo.value [2] {}\n= [1,2]";
    check("result = map(echo.value, [1, 2])", text);
    check(
        "result = sorted([2, 1], key=echo.value)",
        "1> echo.value [2] {}\n1> echo.value [1] {}\n= [1,2]",
    );
}

#[test]
fn a_servers_name_given_to_something_else_gives_no_tool() {
    leads_nowhere(
        "slack = struct(drop=1)\nslack.drop()",
        "! runtime 2: operation `call()` not supported on type `int`",
    );
}

#[test]
fn a_tool_that_was_not_given_has_no_name() {
    leads_nowhere("result = getattr(slack, 'hidden')", "! runtime 1: `slack` has no tool `hidden`");
    leads_nowhere("result = hidden.tool()", "! syntax 1: variable `hidden` not found");
    leads_nowhere("result = slack.hidden()", "! syntax 1: `slack` has no tool `hidden`");
}

#[test]
fn a_tools_printed_form_is_no_tool() {
    leads_nowhere(
        "try_call('<tool slack.post>')",
        "! runtime 1: `try_call` needs a tool first, not string",
    );
    leads_nowhere(
        "parallel([('slack.post', {})])",
        "! runtime 1: `parallel` cannot run call 0: it is a pair that begins with a string, not \
         with a tool",
    );
}

#[test]
fn a_tools_attributes_are_no_way_out() {
    leads_nowhere("slack.post.names", "! runtime 1: a tool has no `names`");
    check("result = [dir(slack.post), hasattr(slack.post, 'place')]", "= [[],false]");
}

#[test]
fn a_comment_switches_nothing_on() {
    check("# @starlark-rust: typecheck\ndef f(x: int): return x\nresult = f('a')", "= \"a\"");
}
