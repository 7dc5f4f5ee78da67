use super::*;

#[test]
fn s_05_a_limit_is_never_raised() {
    let check = |requested: u64, most: Option<u64>, expected: u64| {
        let requested = Rlimit { current: Some(requested), maximum: Some(requested) };
        let limit = below(requested, most);
        assert_eq!((limit.current, limit.maximum), (Some(expected), Some(expected)));
    };
    check(1024, None, 1024);
    check(1024, Some(4096), 1024);
    check(1024, Some(256), 256);
}

#[test]
fn s_05_what_is_not_limited_is_left_alone_but_core_files_never_are() {
    let none = ProcessLimits {
        memory_bytes: None,
        cpu_seconds: None,
        open_files: None,
        processes: None,
        file_bytes: None,
    };
    let names = |limits: &ProcessLimits| -> Vec<&str> {
        of(limits).into_iter().map(|limit| limit.name).collect()
    };
    assert_eq!(names(&none), ["core files"]);
    let usual = ["memory", "open files", "file size", "core files"];
    assert_eq!(names(&ProcessLimits::default()), usual);
}
