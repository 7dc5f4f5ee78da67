//! Whatever the words are, they leave less or are refused.

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_core::filter::RequestFilter;
use tollgate_core::json::Object;

use super::{FilterFlags, RequestFilterError, by_headers, by_meta};

fn render(read: Result<RequestFilter, RequestFilterError>) -> String {
    match read {
        Ok(narrow) => {
            let RequestFilter { include_servers, exclude_servers, include_tools, exclude_tools } =
                narrow;
            format!("{include_servers:?} {exclude_servers:?} {include_tools:?} {exclude_tools:?}")
        }
        Err(bad) => bad.to_string(),
    }
}

fn headers(sent: &[(&str, &[u8])]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in sent {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_bytes(value).unwrap());
    }
    headers
}

fn check(sent: &[(&str, &str)], expected: &str) {
    let sent: Vec<_> = sent.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    assert_eq!(render(by_headers(&headers(&sent))), expected, "{sent:?}");
}

#[test]
fn lists_have_commas_and_both_spellings_must_agree() {
    check(&[], "[] [] [] []");
    check(&[("accept", "*/*"), ("x-tollgate-agent", "sage")], "[] [] [] []");
    check(&[("x-tollgate-include-tools", "roll, world_*")], r#"[] [] [["roll", "world_*"]] []"#);
    check(&[("X-Tollgate-Exclude-Servers", "\ta ,\t b")], r#"[] ["a", "b"] [] []"#);
    check(&[("x-bf-mcp-include-clients", "*")], r#"[["*"]] [] [] []"#);
    check(
        &[("x-bf-mcp-include-tools", "world-find"), ("x-tollgate-include-tools", "roll")],
        r#"[] [] [["roll"], ["world-find"]] []"#,
    );
    check(&[("x-tollgate-include-servers", "größe")], r#"[["größe"]] [] [] []"#);
}

#[test]
fn an_include_list_without_items_lets_nothing_in() {
    for empty in ["", " ", ",", " , ,,\t"] {
        check(&[("x-tollgate-include-tools", empty)], "[] [] [[]] []");
        check(&[("x-bf-mcp-include-clients", empty)], "[[]] [] [] []");
        check(&[("x-tollgate-exclude-tools", empty)], "[] [] [] []");
    }
}

#[test]
fn s_12_a_header_that_stands_twice_takes_away_or_is_refused() {
    let name = "x-tollgate-exclude-tools";
    check(&[(name, "a"), (name, "b,c"), (name, "")], r#"[] [] [] ["a", "b", "c"]"#);
    for name in [
        "x-tollgate-include-tools",
        "x-tollgate-include-servers",
        "x-bf-mcp-include-clients",
        "x-bf-mcp-include-tools",
    ] {
        let expected = format!("`{name}` appears twice; send one list");
        check(&[(name, "a"), (name, "*")], &expected);
        check(&[(name, "a"), (name, "a")], &expected);
        check(&[(name, ""), (name, "")], &expected);
    }
}

#[test]
fn s_12_b_hh_names_that_look_like_filters_are_refused() {
    for name in [
        "x_tollgate_include_tools",
        "x-tollgate-include_tools",
        "X_Tollgate-Exclude-Tools",
        "x-tollgate-include-tool",
        "x-tollgate-include",
        "x-tollgate-exclude-clients",
        "x-tollgate-include-tools-2",
        "x-bf-mcp-exclude-tools",
        "x-bf-mcp-exclude-clients",
        "x-bf-mcp-include_clients",
    ] {
        let read = by_headers(&headers(&[(name, b"a")])).unwrap_err().to_string();
        let name = name.to_ascii_lowercase();
        assert!(read.starts_with(&format!("there is no header `{name}`; ")), "{read}");
    }
}

#[test]
fn what_is_no_name_is_refused_and_not_ignored() {
    let name = "x-tollgate-exclude-tools";
    for item in ["a;b", "a b", "\"a\"", "!a", "a|b", "a\tb", "[ab]", "a=b", "{a}", "a%2Cb", "(a)"] {
        check(&[(name, item)], &format!("`{name}`: `{item}` is neither a name nor a glob"));
    }
    let not_utf8 = by_headers(&headers(&[(name, b"a,\xff")]));
    assert_eq!(render(not_utf8), format!("`{name}` is not UTF-8"));
    let latin = by_headers(&headers(&[(name, b"caf\xe9")]));
    assert_eq!(render(latin), format!("`{name}` is not UTF-8"));
}

#[test]
fn filters_are_bounded_together() {
    let many = |count: usize| vec!["a"; count].join(",");
    let read = |sent: &[(&str, &str)]| {
        let sent: Vec<_> = sent.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        by_headers(&headers(&sent)).map(|_| ())
    };
    let one = "x-tollgate-exclude-tools";
    let two = "x-tollgate-include-servers";
    assert!(read(&[(one, &many(256))]).is_ok());
    assert!(read(&[(one, &many(257))]).is_err());
    assert!(read(&[(one, &many(128)), (two, &many(128))]).is_ok());
    assert!(read(&[(one, &many(128)), (one, &many(64)), (two, &many(65))]).is_err());
    assert!(read(&[(one, &" ".repeat(9000))]).is_err(), "blanks count");
    assert!(read(&[(one, &",".repeat(9000))]).is_err(), "so do commas");
    assert!(read(&[(one, &"a".repeat(257))]).is_err(), "no name is so long");
}

#[test]
fn meta_says_the_same_as_strings_or_lists() {
    let check = |meta: &str, expected: &str| {
        assert_eq!(render(by_meta(&Object::parse(meta).unwrap())), expected, "{meta}");
    };
    check("{}", "[] [] [] []");
    check(r#"{"dev.tollgate/tier": "fast", "other/include-tools": 5}"#, "[] [] [] []");
    check(r#"{"dev.tollgate/include-tools": "a, b"}"#, r#"[] [] [["a", "b"]] []"#);
    check(r#"{"dev.tollgate/include-tools": ["a", "b,c"]}"#, r#"[] [] [["a", "b", "c"]] []"#);
    check(r#"{"dev.tollgate/include-servers": []}"#, "[[]] [] [] []");
    check(r#"{"dev.tollgate/exclude-servers": ""}"#, "[] [] [] []");
    for bad in ["null", "5", "{}", "[5]", "[[\"a\"]]", "true"] {
        let expected = "`dev.tollgate/include-tools` of `_meta` must be a list of strings";
        check(&format!(r#"{{"dev.tollgate/include-tools": {bad}}}"#), expected);
    }
    for name in ["dev.tollgate/include_tools", "dev.tollgate/Exclude-tool", "Dev.Tollgate/include"]
    {
        let read = by_meta(&Object::parse(&format!(r#"{{"{name}": "a"}}"#)).unwrap());
        assert!(render(read).starts_with(&format!("there is no key `{name}`; ")));
    }
}

#[test]
fn flags_are_read_like_headers_and_become_them() {
    let [some, more] = [["a,b".to_owned(), "c".to_owned()], [String::new(), "d".to_owned()]];
    let flags = FilterFlags {
        include_tools: Some(&some),
        exclude_servers: &more,
        ..FilterFlags::default()
    };
    assert_eq!(render(flags.read()), r#"[] ["d"] [["a", "b", "c"]] []"#);
    let sent = flags.headers();
    let sent: Vec<_> = sent.iter().map(|(name, list)| (*name, list.as_str())).collect();
    check(&sent, r#"[] ["d"] [["a", "b", "c"]] []"#);
    assert_eq!(render(FilterFlags::default().read()), "[] [] [] []");
    let nothing = FilterFlags { include_servers: Some(&[]), ..FilterFlags::default() };
    assert_eq!(render(nothing.read()), "[[]] [] [] []");
}
