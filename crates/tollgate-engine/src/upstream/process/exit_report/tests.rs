use super::*;

fn check(raw: i32, lines: &[&str], expected: &str) {
    let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    let ended = ExitReport {
        status: Some(ExitStatus::from_raw(raw)),
        last_words: lines.last().cloned(),
        never_began: None,
        limits: ProcessLimits { cpu_seconds: Some(7), ..ProcessLimits::default() },
        short_of_memory: complains_of_memory(&lines),
    };
    assert_eq!(ended.to_string(), expected);
}

#[test]
fn s_05_the_limit_that_ended_a_server_is_named() {
    check(24, &[], "exceeded its CPU time (`sandbox.cpu_s` is 7)");
    check(25, &[], "exceeded its file size limit (`sandbox.file_size_mb` is 4096)");
    check(
        9,
        &[],
        "was killed by signal 9: it exceeded its CPU time (`sandbox.cpu_s` is 7), the machine ran \
         out of memory, or somebody killed it",
    );
    check(11, &[], "was killed by signal 11");
}

#[test]
fn s_05_a_server_short_of_memory_is_told_from_one_that_just_failed() {
    check(
        1 << 8,
        &["Traceback", "MemoryError"],
        "exited with status 1; it ran out of memory (`sandbox.memory_mb` is 4096); last line of \
         stderr: MemoryError",
    );
    check(
        6,
        &["FATAL ERROR: Ineffective mark-compacts JavaScript heap out of memory", "----"],
        "was killed by signal 6; it ran out of memory (`sandbox.memory_mb` is 4096); last line of \
         stderr: ----",
    );
    check(1 << 8, &["no key"], "exited with status 1; last line of stderr: no key");
}
