//! JSON both ways.

use crate::rehearsal::check;

/// Through a tool that gives back the JSON it was given as text.
#[track_caller]
fn back(json: &str, result: &str) {
    let text = serde_json::to_string(json).expect("it is JSON");
    let source = format!("result = echo.json(t={text})");
    let message = format!("1> echo.json [] {{\"t\":{text}}}\n{result}");
    check(&source, &message);
}

#[test]
fn numbers_stay_what_they_are() {
    for number in [
        "0",
        "-1",
        "2147483647",
        "2147483648",
        "-2147483649",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "-340282366920938463463374607431768211457",
        "123456789012345678901234567890",
        "1.5",
        "-0.25",
        "1e+300",
        "0.1",
    ] {
        back(number, &format!("= {number}"));
    }
    back("1.0", "= 1.0");
    back("1E5", "= 100000.0");
    back("-0", "= 0");
    back("1e-400", "= 0.0");
}

#[test]
fn numbers_that_are_no_numbers_are_refused() {
    back(
        "1e400",
        "! runtime 1: the result of `echo.json` is invalid: the number `1e+400` is too large at \
         line 1 column 5",
    );
    check("result = [float('nan')]", "! runtime: `result[0]` is the number NaN, which is not data");
    check(
        "result = {'a': -float('inf')}",
        "! runtime: `result[\"a\"]` is the number -inf, which is not data",
    );
    check(
        "x = json.decode('NaN')",
        "! runtime 1: `json.decode` cannot read the text: expected value at line 1 column 1",
    );
    check(
        "x = json.decode('1e400')",
        "! runtime 1: `json.decode` cannot read the text: the number `1e+400` is too large at line 1 column 5",
    );
}

#[test]
fn no_object_is_taken_for_a_number() {
    for text in ["5", "-1.5e3", "no number", "", "1e400"] {
        let object = format!(r#"{{"$serde_json::private::Number":"{text}"}}"#);
        back(&object, &format!("= {object}"));
        let beside = format!(r#"{{"a":1.5,"$serde_json::private::Number":"{text}","b":[2]}}"#);
        back(&beside, &format!("= {beside}"));
    }
    for object in [
        r#"{"$serde_json::private::Number":7}"#,
        r#"{"$serde_json::private::Number":null,"b":2}"#,
        r#"{"$serde_json::private::RawValue":"[1]"}"#,
    ] {
        back(object, &format!("= {object}"));
        check(&format!("result = json.decode('{object}')"), &format!("= {object}"));
    }
    // Written in another way.
    back(
        r#"[{"\u0024serde_json::private::Number":"5"}]"#,
        r#"= [{"$serde_json::private::Number":"5"}]"#,
    );
}

#[test]
fn text_keeps_every_letter() {
    back(r#""é–😀\u0000\n\\\"\/""#, "= \"é–😀\\u0000\\n\\\\\\\"/\"");
    back(r#""\u00e9\ud83d\ude00""#, "= \"é😀\"");
}

#[test]
fn halves_of_surrogate_pairs_are_replaced() {
    for json in [r#""\ud800""#, r#""\udc00""#, r#""\uDBFF""#] {
        back(json, "= \"\u{fffd}\"");
    }
    back(r#""a\ud800b""#, "= \"a\u{fffd}b\"");
    back(r#""\ud800\ud83d\ude00\udc00""#, "= \"\u{fffd}😀\u{fffd}\"");
    back(r#""\\ud800""#, "= \"\\\\ud800\"");
    back(r#"{"\ud800": 1}"#, "= {\"\u{fffd}\":1}");
}

#[test]
fn null_truth_and_containers_go_both_ways() {
    back(
        r#"{"a":null,"b":[true,false,[],{}],"":0}"#,
        r#"= {"a":null,"b":[true,false,[],{}],"":0}"#,
    );
    back(r#"{"a":1,"a":2}"#, r#"= {"a":2}"#);
    check(
        "result = [(1, 2), range(3), set([1]), struct(a=(), b=None)]",
        r#"= [[1,2],[0,1,2],[1],{"a":[],"b":null}]"#,
    );
}

#[test]
fn keys_are_strings() {
    check("result = {1: 2}", "! runtime: `result` has the key `1`; keys of data are strings");
    check(
        "result = [{'a': {(1,): 2}}]",
        "! runtime: `result[0][\"a\"]` has the key of type tuple; keys of data are strings",
    );
    check("result = {None: 1}", "! runtime: `result` has the key `None`; keys of data are strings");
}

#[test]
fn functions_and_tools_are_no_data() {
    check(
        "def f(): pass\nresult = {'x': [f]}",
        "! runtime: `result[\"x\"][0]` is a function, which is not data",
    );
    check(
        "result = github.get_issue",
        "! runtime: `result` is the tool `github.get_issue` itself, which is not data",
    );
    check("result = [github]", "! runtime: `result[0]` is a server, which is not data");
}

#[test]
fn depth_is_bounded_both_ways() {
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    back(&deep(100), &format!("= {}", deep(100)));
    let text = "! depth: `result` is nested deeper than 100 levels";
    back(&deep(101), text);
    back(&deep(200), "! depth 1: the result of `echo.json` is invalid: it is nested too deeply");
    check("x = []\nfor i in range(20000):\n    x = [x]\nresult = x", text);
    check("x = {}\nfor i in range(20000):\n    x = {'a': x}\nresult = x", text);
    check("x = []\nx.append(x)\nresult = x", text);
    check(
        "x = []\nx.append(x)\nslack.post(y=x)",
        "! depth 3: `y` is nested deeper than 100 levels",
    );
    check(
        "x = []\nx.append(x)\njson.encode(x)",
        "! depth 3: `the value` is nested deeper than 100 levels",
    );
    check(
        "x = 1\nfor i in range(200):\n    x = (x,)\nprint(x)",
        &format!("{}…{}\n= ", "(".repeat(100), ",)".repeat(100)),
    );
}
