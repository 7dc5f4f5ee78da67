//! Which paths are refused, and why.

use super::{RelativePath, RelativePathError};

fn check(text: &str, expected: Result<&str, RelativePathError>) {
    let shown = RelativePath::parse(text).map(|path| path.to_string());
    assert_eq!(shown, expected.map(str::to_owned), "{text:?}");
}

#[test]
fn relative_paths_are_taken_as_they_are() {
    for text in ["a", "notes/today.md", ".hidden", "a b/c", "größe.txt", "...a", "a..b/c"] {
        check(text, Ok(text));
    }
    check("./a/b", Ok("a/b"));
}

#[test]
fn paths_that_point_elsewhere_are_refused() {
    for text in ["..", "../x", "a/../b", "a/..", "./../x"] {
        check(text, Err(RelativePathError::Parent));
    }
    for text in ["/", "//", "/etc/passwd", "C:/x", "c:x", "./C:x", "./c:/x"] {
        check(text, Err(RelativePathError::Absolute));
    }
    for text in ["..\\x", "a\\..\\b", "C:\\x", "\\\\host\\s"] {
        check(text, Err(RelativePathError::Backslash));
    }
}

#[test]
fn paths_that_name_no_file_are_refused() {
    for text in ["", ".", "./"] {
        check(text, Err(RelativePathError::Empty));
    }
    for text in ["a/", "a//b", "a/./b", "././a"] {
        check(text, Err(RelativePathError::EmptyName));
    }
}

#[test]
fn names_that_look_like_others_are_refused() {
    for text in ["a\0b", "a\nb", "a\u{202e}txt", "a\u{200b}", "\u{feff}a", "a\u{7f}"] {
        check(text, Err(RelativePathError::Invisible));
    }
    for text in ["a.", "a ", " a", "a /b", "a\u{a0}"] {
        check(text, Err(RelativePathError::Edge));
    }
    check(".tollgate-1.tmp", Err(RelativePathError::Reserved));
    check("a/.tollgate-1.tmp/b", Err(RelativePathError::Reserved));
}

#[test]
fn long_and_deep_paths_are_refused() {
    check(&"a".repeat(255), Ok(&"a".repeat(255)));
    check(&"a".repeat(256), Err(RelativePathError::NameTooLong));
    check(&"é".repeat(128), Err(RelativePathError::NameTooLong));
    check(&"a/".repeat(600), Err(RelativePathError::TooLong));
    let deepest = ["a"; 32].join("/");
    check(&deepest, Ok(&deepest));
    check(&["a"; 33].join("/"), Err(RelativePathError::TooDeep));
}
