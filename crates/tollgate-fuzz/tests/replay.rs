//! Every target on its saved corpus.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use tollgate_fuzz::{FuzzTarget, TARGETS};

fn corpus(target: FuzzTarget) -> Vec<(String, Vec<u8>)> {
    let folder: PathBuf = tollgate_testkit::root().join("fuzz/corpus").join(target.name);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.expect("a readable folder"))
        .map(|entry| {
            let input = fs::read(entry.path()).expect("a readable file");
            (entry.file_name().to_string_lossy().into_owned(), input)
        })
        .collect();
    inputs.sort();
    inputs
}

fn run(target: FuzzTarget, name: &str, input: &[u8]) {
    let ran = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    assert!(ran.is_ok(), "{} fails on {name}: {:?}", target.name, String::from_utf8_lossy(input));
}

fn replay(target: FuzzTarget) {
    let inputs = corpus(target);
    assert!(inputs.len() >= 3, "{} has {} inputs in its corpus", target.name, inputs.len());
    run(target, "nothing", &[]);
    for (name, input) in &inputs {
        run(target, name, input);
    }
}

macro_rules! replays {
    ($($name:ident)*) => {
        /// One test for each target, so that they run side by side and fail by name.
        const REPLAYED: &[&str] = &[$(stringify!($name)),*];

        $(#[test]
        fn $name() {
            replay(tollgate_fuzz::find(stringify!($name)).unwrap());
        })*
    };
}

replays! {
    envelope json sse stdio_lines config config_edit interpolation transcripts url oauth_metadata headers tool_schema
    tool_names openai_chat openai_responses anthropic gemini realtime_openai realtime_gemini realtime_deepgram
    realtime_gpt_live realtime_openai_to_gemini realtime_gemini_to_openai ws_messages starlark_source dice file_path
    masking hidden_text
}

#[test]
fn every_target_is_replayed() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, REPLAYED);
}
