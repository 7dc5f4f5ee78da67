//! What models write: programs, dice, paths.

use std::path::{Component, Path};

use tollgate_engine::fuzzing;
use tollgate_sandbox::limits::Limits;
use tollgate_sandbox::source;

/// A program that passes is small and flat; a refusal is short.
pub(crate) fn starlark_source(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    let limits = Limits::default();
    match source::check(text, &limits) {
        Ok(()) => {
            assert!(text.len() <= limits.source_bytes);
            assert!(text.chars().all(|c| matches!(c, '\n' | '\r' | '\t') || !c.is_control()));
            assert!(source::check(&text.replace("\r\n", "\n"), &limits).is_ok());
        }
        Err(failed) => assert!(failed.message.len() < 2 << 10, "{}", failed.message),
    }
}

/// However the dice fall, a roll is bounded and its total is a number.
pub(crate) fn dice(data: &[u8]) {
    let Some((seed, text)) = data.split_first() else { return };
    let Some(text) = crate::text(text) else { return };
    let mut state = u32::from(*seed);
    let mut random = |sides: u32| match seed {
        0 => 1,
        1 => sides,
        _ => {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            1 + (state >> 8) % sides
        }
    };
    match fuzzing::roll(text, &mut random) {
        Ok(rolled) => {
            assert!(rolled.kept_dice + rolled.dropped <= 2_000, "{rolled:?}");
            assert!(rolled.sentence.len() < 64 << 10);
            assert!(rolled.sentence.contains(&rolled.total.to_string()), "{rolled:?}");
        }
        Err(refused) => {
            let refused = refused.to_string();
            assert!(refused.len() < 1 << 10, "{refused}");
            let example = refused.rsplit('`').nth(1).expect("an example that works");
            assert!(fuzzing::roll(example, &mut |_| 1).is_ok(), "{example}");
        }
    }
}

/// A path that passes stays below its folder and means what it says.
pub(crate) fn file_path(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    let Ok(path) = fuzzing::relative_path(text) else { return };
    assert!(
        Path::new(&path).components().all(|part| matches!(part, Component::Normal(_))),
        "{path:?}"
    );
    assert_eq!(text.strip_prefix("./").unwrap_or(text), path, "nothing is decoded");
    assert_eq!(fuzzing::relative_path(&path).as_ref(), Ok(&path));
    assert!(!path.contains(['\0', '\\']) && path.len() <= 1_024);
}
