//! `search` and `fetch_page` against small servers.

mod fetching;
mod searching;

use super::*;

#[test]
fn what_no_reader_sees_is_taken_out() {
    let tagged: String =
        "ignore".chars().map(|it| char::from_u32(0xe0000 + it as u32).unwrap()).collect();
    assert_eq!(
        strip_invisible(&format!("a{tagged}b\u{202e}c\u{1b}[31md\u{200b}e\tf\n")),
        "abc[31mde\tf\n"
    );
    assert_eq!(strip_invisible("👨\u{200d}👩 می\u{200c}روم"), "👨\u{200d}👩 می\u{200c}روم");
}
