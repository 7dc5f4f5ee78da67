use serde_json::{Value, json};

use super::{MAX_SHAPE_PARTS, ResultShape};

/// What is told of these results together.
fn check(results: &[Value], expected: &str) {
    let mut all = results.iter().map(ResultShape::of);
    let mut shape = all.next().unwrap();
    all.for_each(|it| shape.merge(it));
    assert_eq!(shape.render("Thing"), expected);
}

#[test]
fn plain_values_need_no_second_look() {
    check(&[json!("a")], "str");
    check(&[json!(1), json!(2.5)], "float");
    check(&[json!(null), json!(true)], "bool | None");
    check(&[json!([])], "list");
    check(&[json!([]), json!([1, null])], "list[int | None]");
    check(&[json!(null)], "Any");
    check(&[json!(1), json!("a"), json!([true])], "int | str | list[bool]");
}

#[test]
fn a_key_is_told_when_two_results_have_it() {
    let one = json!({"id": 1, "name": "a", "tags": ["x"]});
    check(std::slice::from_ref(&one), "dict[str, int | str | list[str]]");
    check(&[one.clone(), json!({"id": 2, "name": "b"})], r#"{"id": int, "name": str}"#);
    // Twenty objects in one result are one result.
    check(&[json!([one.clone(), one.clone(), one])], "list[dict[str, int | str | list[str]]]");
}

#[test]
fn what_is_not_always_there_is_marked() {
    let item = |extra: Value| json!({"id": 1, "x": [1], "name": extra});
    check(
        &[
            json!([item(json!("a")), {"id": 2, "x": []}]),
            json!([item(json!(null)), {"id": 2, "x": []}]),
        ],
        "class ThingItem(TypedDict):\n    id: int\n    x: list[int]\n    \
         name: NotRequired[str | None]\nlist[ThingItem]",
    );
}

#[test]
fn keys_that_are_data_are_never_told() {
    // No names.
    check(
        &[json!({"a@b.c": 1, "2024-01-01": 2}), json!({"a@b.c": 1, "2024-01-01": 2})],
        "dict[str, int]",
    );
    check(&[json!({"user_12345": 1}), json!({"user_12345": 1})], "dict[str, int]");
    check(&[json!({"x".repeat(41): 1}), json!({"x".repeat(41): 2})], "dict[str, int]");
    // They come and go.
    check(
        &[json!({"alice": 1, "bob": 2, "me": 3}), json!({"carol": 1, "dave": 2, "me": 4})],
        "dict[str, int]",
    );
    // They lead to the same things.
    let ages = json!({"alice": {"age": 1, "name": "a"}, "bob": {"age": 2, "name": "b"}});
    check(&[ages.clone(), ages], "dict[str, {\"age\": int, \"name\": str}]");
    // Beside names.
    check(
        &[json!({"id": 1, "n": 2, "x-ray": "a"}), json!({"id": 2, "n": 3, "x-yes": "b"})],
        "class Thing(TypedDict):\n    id: int\n    n: int\n    # other keys: str\nThing",
    );
}

#[test]
fn it_is_bounded_in_every_direction() {
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({"a": deep, "b": [deep]});
        if deep.to_string().len() > 100_000 {
            break;
        }
    }
    let wide: Value =
        (0..5_000).map(|at| (format!("key_{}", letters(at)), json!({"a": [at]}))).collect();
    let long: Value = (0..50_000).map(|at| json!({"id": at})).collect();
    for value in [deep, wide, long] {
        let mut shape = ResultShape::of(&value);
        shape.merge(ResultShape::of(&value));
        assert!(shape.render("x").len() < 20_000);
        assert!(shape.parts() <= MAX_SHAPE_PARTS);
    }
}

/// A number in letters: digits would make it data.
fn letters(mut number: u32) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(b'a' + u8::try_from(number % 26).unwrap()));
        number /= 26;
        if number == 0 {
            return text;
        }
    }
}
