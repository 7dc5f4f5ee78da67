//! libFuzzer, on the target that `TOLLGATE_FUZZ_TARGET` names. One program for all targets: linking one takes long enough.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tollgate_fuzz::FuzzTarget;

static TARGET: OnceLock<FuzzTarget> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("TOLLGATE_FUZZ_TARGET").unwrap_or_default();
        let known = || tollgate_fuzz::TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(" ");
        let target = tollgate_fuzz::find(&name).unwrap_or_else(|| panic!("TOLLGATE_FUZZ_TARGET is one of: {}", known()));
        TARGET.get_or_init(|| target);
    },
    |data: &[u8]| {
        if let Some(target) = TARGET.get() {
            (target.run)(data);
        }
    }
);
