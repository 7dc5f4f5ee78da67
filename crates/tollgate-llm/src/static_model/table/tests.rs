use serde_json::{Value, json};

use super::{TensorDtype, UnknownTokenRule, VectorTable, half, sample};

/// A file of the format, with these numbers behind the header.
fn file(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    let mut bytes = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn tensor(kind: &str, shape: &[usize], start: usize, end: usize) -> Value {
    json!({"dtype": kind, "shape": shape, "data_offsets": [start, end]})
}

fn row(table: &VectorTable, token: u32) -> Vec<f32> {
    let mut sum = vec![0.0; table.dimensions()];
    table.add(token, &mut sum);
    sum
}

#[test]
fn rows_of_every_kind_of_number_are_read() {
    let singles: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|it| it.to_le_bytes()).collect();
    let doubles: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|it| it.to_le_bytes()).collect();
    for (kind, data, expected) in [
        ("F32", singles, [1.5, -2.0]),
        ("F64", doubles, [1.5, -2.0]),
        ("F16", vec![0x00, 0x3e, 0x00, 0xc0], [1.5, -2.0]),
        ("BF16", vec![0xc0, 0x3f, 0x00, 0xc0], [1.5, -2.0]),
        ("I8", vec![3, 0xfc], [3.0, -4.0]),
    ] {
        let header = json!({"embeddings": tensor(kind, &[1, 2], 0, data.len())});
        let table = VectorTable::read(file(&header, &data)).unwrap();
        assert_eq!(row(&table, 0), expected, "{kind}");
        assert_eq!(row(&table, 1), [0.0, 0.0], "a token without a row adds nothing");
        assert_eq!(table.unknown(), UnknownTokenRule::Skipped);
    }
}

#[test]
fn half_numbers_are_what_they_should_be() {
    for (bits, expected) in [
        (0x0000, 0.0),
        (0x8000, -0.0),
        (0x0001, 5.960_464_5e-8),
        (0x03ff, 6.097_555e-5),
        (0x0400, 6.103_515_6e-5),
        (0x3c00, 1.0),
        (0x3555, 0.333_251_95),
        (0xfbff, -65_504.0),
        (0x7c00, f32::INFINITY),
    ] {
        assert_eq!(half(bits).to_bits(), f32::to_bits(expected), "{bits:#06x}");
    }
    assert!(half(0x7e00).is_nan());
}

#[test]
fn tokens_may_share_rows_and_count_differently() {
    let mut data = vec![1, 2, 3, 4];
    data.extend([2.0f32, 1.0, 0.5].iter().flat_map(|it| it.to_le_bytes()));
    data.extend([0i64, 1, 0].iter().flat_map(|it| it.to_le_bytes()));
    let header = json!({
        "__metadata__": {"made": "here"},
        "embeddings": tensor("I8", &[2, 2], 0, 4),
        "weights": tensor("F32", &[3], 4, 16),
        "mapping": tensor("I64", &[3], 16, 40),
    });
    let table = VectorTable::read(file(&header, &data)).unwrap();
    let rows: Vec<_> = (0..4).map(|token| row(&table, token)).collect();
    assert_eq!(rows, [[2.0, 4.0], [3.0, 4.0], [0.5, 1.0], [0.0, 0.0]]);
}

#[test]
fn what_is_no_table_is_told() {
    let check = |header: &Value, data: &[u8], why: &str| {
        let said = VectorTable::read(file(header, data)).err().unwrap().to_string();
        assert!(said.contains(why), "{header}: {said}");
    };
    for bytes in
        [&b""[..], b"1234567", b"\xff\xff\xff\xff\xff\xff\xff\xff{}", b"\x02\0\0\0\0\0\0\0{]"]
    {
        assert!(
            VectorTable::read(bytes.to_vec())
                .err()
                .unwrap()
                .to_string()
                .contains("not in `safetensors` format")
        );
    }
    check(&json!({}), &[], "neither tensor `embeddings` nor `embedding.weight`");
    check(&json!([]), &[], "neither tensor");
    let short = json!({"embeddings": tensor("F32", &[1, 2], 0, 8)});
    check(&short, &[0; 7], "the file may be truncated");
    let wrong = json!({"embeddings": tensor("F32", &[1, 3], 0, 8)});
    check(&wrong, &[0; 8], "`embeddings` is not where the header says");
    let vast = json!({"embeddings": tensor("F32", &[usize::MAX, usize::MAX], 0, 8)});
    check(&vast, &[0; 8], "is not where the header says");
    let backwards = json!({"embeddings": tensor("F32", &[1, 2], 8, 0)});
    check(&backwards, &[0; 8], "is not where the header says");
    let list = json!({"embeddings": tensor("F32", &[2], 0, 8)});
    check(&list, &[0; 8], "not a table");
    let empty = json!({"embeddings": tensor("F32", &[0, 2], 0, 0)});
    check(&empty, &[], "0 rows of 2 numbers");
    let odd = json!({"embeddings": tensor("F8_E4M3", &[1, 2], 0, 2)});
    check(&odd, &[0; 2], "of kind `F8_E4M3`");
    let whole = json!({"embeddings": tensor("I32", &[1, 1], 0, 4)});
    check(&whole, &[0; 4], "have an unsupported type");
    let far = json!({
        "embeddings": tensor("I8", &[1, 1], 0, 1),
        "mapping": tensor("I32", &[1], 1, 5),
    });
    check(&far, &[0, 1, 0, 0, 0], "refers to missing rows");
}

#[test]
fn a_sample_tells_files_apart_by_their_ends_and_size() {
    let bytes = vec![7; 300_000];
    let mut other = bytes.clone();
    other[299_999] = 8;
    assert_ne!(sample(&bytes), sample(&other));
    assert_ne!(sample(&bytes), sample(&bytes[1..]));
    assert_eq!(sample(&bytes[..10]).len(), 18);
    assert_eq!(TensorDtype::F16.number(&[1]), 0.0);
}
