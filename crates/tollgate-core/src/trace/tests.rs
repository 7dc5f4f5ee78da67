use super::{Sampling, SpanContext, Trace, TraceFlags, TraceHeaders, TraceId};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn parent(head: &str) -> Option<String> {
    let text = head.replace('T', TRACE).replace('S', SPAN);
    SpanContext::parse(&text).map(|context| context.to_string())
}

#[test]
fn a_parent_is_read_and_written_as_the_specification_says() {
    let check = |text: &str, expected: &str| {
        let expected = expected.replace('T', TRACE).replace('S', SPAN);
        assert_eq!(parent(text).as_deref(), Some(&*expected), "{text}");
    };
    check("00-T-S-00", "00-T-S-00");
    check("00-T-S-01", "00-T-S-01");
    check("00-T-S-03", "00-T-S-03");
    // Flags that nobody knows yet are not handed on.
    check("00-T-S-ff", "00-T-S-03");
    // A newer version is read as far as it is known.
    check("01-T-S-01", "00-T-S-01");
    check("cc-T-S-01-what-comes-then", "00-T-S-01");
}

#[test]
fn a_parent_that_is_malformed_is_none() {
    for text in [
        "",
        "00",
        "00-T-S",
        "00-T-S-",
        "00-T-S-1",
        "00-T-S-01-",
        "00-T-S-01-more",
        "00-T-S-01 ",
        " 00-T-S-01",
        "ff-T-S-01",
        "FE-T-S-01",
        "0-T-S-01",
        "01-T-S-01more",
        "00-00000000000000000000000000000000-S-01",
        "00-T-0000000000000000-01",
        "00-T-S-0g",
        "00_T_S_01",
        "00-T-S-0A",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-S-01",
        "00-T-00F067AA0BA902B7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473-S-011",
        "00-T-00f067aa0ba902é-01",
        "00-T-S-01\r\nx-evil: 1",
    ] {
        assert_eq!(parent(text), None, "{text}");
    }
    assert_eq!(parent(&"0".repeat(100_000)), None);
}

#[test]
fn state_is_a_short_list_or_nothing() {
    let check = |state: &str, expected: Option<&str>| {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let said = TraceHeaders { parent: Some(&parent), state: Some(state), baggage: None };
        let context =
            Trace::read(said).and_then(|trace| trace.context).expect("the parent is fine");
        assert_eq!(context.state.as_deref(), expected, "{state}");
    };
    check(
        "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
        Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
    );
    check(" a=1 ,\tb=2,, ,c=3", Some("a=1,b=2,c=3"));
    check("1tenant@system=x y", Some("1tenant@system=x y"));
    check("", None);
    check(",", None);
    check("a", None);
    check("a=", None);
    check("A=1", None);
    check("1a=1", None);
    check("a@1b=1", None);
    check("a@b@c=1", None);
    check("a=1=2", None);
    check("a=1,a=2", None);
    check("a=é", None);
    check("a=1\r\nx: y", None);
    check("a=\u{7f}", None);
    check(&format!("{}=1", "a".repeat(257)), None);
    check(&format!("a={}", "1".repeat(257)), None);
    let many = |count: usize| (0..count).map(|at| format!("k{at}=v")).collect::<Vec<_>>().join(",");
    check(&many(32), Some(&many(32)));
    check(&many(33), None);
}

#[test]
fn of_too_much_state_long_members_go_first_and_then_the_last() {
    let read = |state: &str| super::state::normalize(state).expect("a list");
    let long = format!("long={}", "x".repeat(200));
    let short: Vec<String> = (0..10).map(|at| format!("k{at}={}", "v".repeat(40))).collect();
    let stored = read(&format!("{long},{}", short.join(",")));
    assert_eq!(stored, short.join(","));
    let more: Vec<String> = (0..20).map(|at| format!("k{at}={}", "v".repeat(40))).collect();
    let stored = read(&more.join(","));
    assert!(stored.len() <= 512, "{}", stored.len());
    assert!(more.join(",").starts_with(&stored), "{stored}");
}

#[test]
fn baggage_is_handed_on_as_it_came_if_it_is_some() {
    let check = |text: &str, passes: bool| {
        let said = TraceHeaders { baggage: Some(text), ..TraceHeaders::default() };
        let read = Trace::read(said).and_then(|trace| trace.baggage);
        assert_eq!(read.as_deref(), passes.then(|| text.trim()), "{text}");
    };
    check("userId=alice,serverNode=DF%2028,isProduction=false", true);
    check("key1=value1;property1;property2, key2 = value2, key3=value3; p=v", true);
    check("empty=", true);
    check("", false);
    check("novalue", false);
    check("=x", false);
    check("a b=c", false);
    check("a=b c", false);
    check("a=\"b\"", false);
    check("a=b,", false);
    check("a=é", false);
    check("a=b\r\nx: y", false);
    check(&format!("a={}", "x".repeat(8 << 10)), false);
    check(&(0..65).map(|at| format!("k{at}=v")).collect::<Vec<_>>().join(","), false);
}

#[test]
fn the_inner_one_wins_and_the_outer_one_fills_in() {
    let read = |parent: &str, baggage: Option<&str>| {
        let parent = parent.replace('T', TRACE).replace('S', SPAN);
        Trace::read(TraceHeaders { parent: Some(&parent), state: None, baggage })
    };
    let outer = read("00-T-S-01", Some("a=1"));
    let inner = read("00-T-1111111111111111-00", None).expect("it is fine");
    let both = inner.or(outer.as_ref());
    let fields: Vec<_> = both.fields().collect();
    let parent = format!("00-{TRACE}-1111111111111111-00");
    assert_eq!(fields, [("traceparent", parent), ("baggage", "a=1".to_owned())]);
    assert_eq!(read("00-T-S", None), None);
    let state = TraceHeaders { state: Some("a=1"), ..TraceHeaders::default() };
    assert_eq!(Trace::read(state), None);
}

#[test]
fn flags_say_whether_a_span_is_kept() {
    let fresh = TraceFlags::new(Sampling::Sampled);
    assert_eq!(fresh.bits(), 3);
    assert_eq!(fresh.with(Sampling::Dropped).bits(), 2);
    let id = TraceId::new([0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 1, 2]);
    assert_eq!(id.expect("it is not zero").randomness(), 0x102);
}
