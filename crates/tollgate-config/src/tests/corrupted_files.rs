//! Files that were good once: cut, doubled, overwritten. Whatever comes out, nothing breaks.

use std::path::Path;

use super::super::{ColorMode, ConfigRequest, DEFAULT, load_text};
use super::Fake;

const EXAMPLE: &str = include_str!("../../../../docs/tollgate.example.yaml");
/// What tends to matter to YAML and to us.
const BITS: &[&str] = &[
    "\t", "\n", ": ", "- ", "[", "]", "{", "}", "\"", "'", "|", ">", "&a ", "*a", "<<: ", "!!x ",
    "#", "${", "}", "$${A}", "~", "é", "日", "\u{feff}", "\u{0}", "\r\n", "---\n", "  ", "0", "-1",
    "%", "@", "?",
];

#[test]
fn mangled_files_are_refused_or_read_but_never_break_the_reader() {
    let mut random = Random(0x5eed);
    for round in 0..3_000 {
        let mut bytes = if round % 2 == 0 { EXAMPLE } else { DEFAULT }.as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            mangle(&mut bytes, &mut random);
        }
        let environment = Fake::default();
        let loaded = load_text(Path::new("t"), &bytes, &ConfigRequest::default(), &environment);
        let report = loaded.map_or_else(|report| report, |loaded| loaded.report);
        let _ = (report.render(ColorMode::Plain), report.to_json());
    }
}

fn mangle(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(40)).min(bytes.len());
    match random.below(5) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        3 => drop(bytes.splice(at..at, [random.below(256) as u8])),
        _ => drop(bytes.splice(at..at, BITS[random.below(BITS.len())].bytes())),
    }
}

/// Always the same numbers, so that a failure comes back.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}
