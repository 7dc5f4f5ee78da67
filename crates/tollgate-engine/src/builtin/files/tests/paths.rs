//! Paths that are meant to lead out: S-34 and the list B-FP, 1 to 5 and 10.

use std::fs;

use super::World;

#[tokio::test]
async fn b_fp_01_parents_roots_and_nothing_are_refused() {
    let world = World::new();
    for path in ["../x", "a/../../x", "..", "../outside/secret.txt"] {
        world.check_refused(path, "must not contain `..`").await;
    }
    for path in [".", ""] {
        world.check_refused(path, "must name a file").await;
    }
    let absolute = world.outside().join("secret.txt");
    for path in ["/", "//", "/etc/passwd", absolute.to_str().unwrap()] {
        world.check_refused(path, "must be relative").await;
    }
    assert!(!world.base().exists());
}

#[tokio::test]
async fn b_fp_02_paths_of_another_system_are_refused() {
    let world = World::new();
    for path in ["..\\x", "a\\..\\b", "C:\\x", "\\\\host\\s"] {
        world.check_refused(path, "not `\\`").await;
    }
    world.check_refused("C:/x", "must be relative").await;
}

#[tokio::test]
async fn b_fp_03_encoded_dots_are_names_like_any_other() {
    let world = World::new();
    for path in ["%2e%2e/x", "%252e%252e/x", "..%c0%afx", "%2e%2e%2fx", "．．/x", "‥/x"] {
        world.write(path, "inside").await.unwrap();
        assert_eq!(fs::read_to_string(world.base().join(path)).unwrap(), "inside");
        assert_eq!(world.read(path).await.unwrap().text, "inside");
    }
    let names = world.scratch.path().read_dir().unwrap().count();
    assert_eq!(names, 2, "only the base and what was outside");
    world.check_outside();
}

#[tokio::test]
async fn b_fp_04_control_characters_and_excess_are_refused() {
    let world = World::new();
    for path in ["a\0b", "\0", "a\nb", "a\r", "\u{1b}[2J"] {
        world.check_refused(path, "invisible characters").await;
    }
    world.check_refused(&"n".repeat(256), "longer than 255 bytes").await;
    world.check_refused(&"p".repeat(4_097), "longer than 1024 bytes").await;
    world.check_refused(&["c"; 2_000].join("/"), "longer than 1024 bytes").await;
    world.check_refused(&["c"; 500].join("/"), "more than 32 parts").await;
}

#[tokio::test]
async fn b_fp_05_a_sibling_with_the_same_beginning_is_out_of_reach() {
    let world = World::with_base();
    let sibling = world.scratch.path().join("base-evil");
    fs::create_dir(&sibling).unwrap();
    fs::write(sibling.join("x"), super::SECRET).unwrap();
    world.check_refused("../base-evil/x", "must not contain `..`").await;
    world.check_refused(sibling.join("x").to_str().unwrap(), "must be relative").await;
    world.check_refused("-evil/../../base-evil/x", "must not contain `..`").await;
    assert_eq!(fs::read_to_string(sibling.join("x")).unwrap(), super::SECRET);
}

#[tokio::test]
async fn b_fp_10_twins_do_not_overwrite_each_other() {
    let world = World::with_base();
    fs::write(world.base().join("Case"), "").unwrap();
    if world.base().join("case").exists() {
        return; // This file system takes both for one name.
    }
    for (one, other) in [("café", "cafe\u{301}"), ("a", "A")] {
        world.write(one, "one").await.unwrap();
        world.write(other, "other").await.unwrap();
        assert_eq!(world.read(one).await.unwrap().text, "one");
        assert_eq!(world.read(other).await.unwrap().text, "other");
    }
}

#[tokio::test]
async fn b_fp_10_names_with_a_dot_or_a_space_at_the_edge_are_refused() {
    let world = World::new();
    for path in ["a.", "a ", " a", "a./b", "a /b"] {
        world.check_refused(path, "must not end with a dot or start or end with a space").await;
    }
}

#[tokio::test]
async fn b_fp_10_content_that_is_no_text_is_refused() {
    let world = World::with_base();
    for (content, at) in [(&b"ab\xff"[..], 2), (b"\xc0\xaf", 0), (b"\xed\xa0\x80", 0)] {
        fs::write(world.base().join("a"), content).unwrap();
        let message = world.read("a").await.unwrap_err().message;
        assert_eq!(message, format!("`a` is not UTF-8 text: byte {at} is invalid"));
    }
}
