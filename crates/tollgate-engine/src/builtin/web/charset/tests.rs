//! B-FE 5: texts in the charset that they are in, whatever is said of them.

use super::text;

fn check(bytes: &[u8], header: Option<&str>, expected: &str) {
    assert_eq!(text(bytes, header).as_deref(), Some(expected), "{header:?}");
}

#[test]
fn b_fe_5_the_charset_is_found_and_a_wrong_one_does_no_harm() {
    check("grün".as_bytes(), None, "grün");
    check("grün".as_bytes(), Some("utf-8"), "grün");
    check(b"gr\xfcn", None, "grün");
    check(b"gr\xfcn", Some("iso-8859-1"), "grün");
    check(b"gr\xfcn", Some("utf-8"), "gr\u{fffd}n");
    check("grün".as_bytes(), Some("windows-1252"), "grÃ¼n");
    check(b"\xef\xbb\xbfgr\xc3\xbcn", Some("windows-1252"), "grün");
    check(b"\xff\xfeg\x00r\x00", Some("utf-8"), "gr");
    check(b"\x00g\x00r", Some("utf-16be"), "gr");
    check(b"\x93\xfa\x96\x7b", Some("Shift_JIS"), "日本");
    check(b"gr\xfcn", Some("no-such-charset"), "grün");
    // Cut in the middle of a character.
    check(b"gr\xc3", None, "gr\u{fffd}");
}

#[test]
fn pages_name_their_charset() {
    check(b"<meta charset=koi8-r>\xc4\xc1", None, "<meta charset=koi8-r>да");
    let content = "<meta http-equiv=Content-Type content='text/html; charset=\"koi8-r\"'>";
    check(&[content.as_bytes(), b"\xc4\xc1"].concat(), None, &format!("{content}да"));
    check(
        b"<?xml version='1.0' encoding='koi8-r'?>\xc4",
        None,
        "<?xml version='1.0' encoding='koi8-r'?>д",
    );
    check("<meta charset=utf-16>ü".as_bytes(), None, "<meta charset=utf-16>ü");
    check(b"charset charset= charset=\"", None, "charset charset= charset=\"");
}

#[test]
fn what_is_no_text_is_none() {
    assert_eq!(text(b"\x89PNG\r\n\x1a\n\x00\x00", None), None);
    assert_eq!(text(b"\x00\x01", Some("utf-8")), None);
}
