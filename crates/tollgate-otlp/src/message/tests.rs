use super::{OtlpMessage, OtlpValue};

fn check(message: &OtlpMessage, protobuf: &str, json: &str) {
    let bytes = message.to_protobuf();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, protobuf.replace(' ', ""));
    assert_eq!(message.to_json(), json);
}

#[test]
fn every_kind_of_field_has_both_forms() {
    let one = |value: OtlpValue| OtlpMessage::default().with(1, "f", value);
    check(&one(OtlpValue::Text("é\"".to_owned())), "0a 03 c3a922", r#"{"f":"é\""}"#);
    check(&one(OtlpValue::Text(String::new())), "0a 00", r#"{"f":""}"#);
    check(&one(OtlpValue::Id(vec![0, 0xab])), "0a 02 00ab", r#"{"f":"00ab"}"#);
    check(&one(OtlpValue::Flag(true)), "08 01", r#"{"f":true}"#);
    check(&one(OtlpValue::Small(300)), "08 ac02", r#"{"f":300}"#);
    check(&one(OtlpValue::Signed(-1)), "08 ffffffffffffffffff01", r#"{"f":"-1"}"#);
    check(&one(OtlpValue::Fixed32(1)), "0d 01000000", r#"{"f":1}"#);
    check(
        &one(OtlpValue::Fixed64(u64::MAX)),
        "09 ffffffffffffffff",
        r#"{"f":"18446744073709551615"}"#,
    );
    check(&one(OtlpValue::Double(1.5)), "09 000000000000f83f", r#"{"f":1.5}"#);
    check(&one(OtlpValue::Double(f64::NAN)), "09 000000000000f87f", r#"{"f":"NaN"}"#);
    check(
        &one(OtlpValue::Fixed64s(vec![1, 2])),
        "0a 10 0100000000000000 0200000000000000",
        r#"{"f":["1","2"]}"#,
    );
    check(&one(OtlpValue::Doubles(vec![2.0])), "0a 08 0000000000000040", r#"{"f":[2.0]}"#);
}

#[test]
fn messages_stand_in_messages() {
    let inner = |text: &str| OtlpMessage::default().with(2, "g", OtlpValue::Text(text.to_owned()));
    let both = OtlpMessage::default().with(16, "one", OtlpValue::One(inner("a"))).with(
        3,
        "many",
        OtlpValue::Many(vec![inner("b"), OtlpMessage::default()]),
    );
    check(&both, "8201 03 120161 1a 03 120162 1a 00", r#"{"one":{"g":"a"},"many":[{"g":"b"},{}]}"#);
}
