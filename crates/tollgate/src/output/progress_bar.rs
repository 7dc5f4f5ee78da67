//! Progress bar on one line of a terminal.

use super::{clean, to_stderr};

/// Cells of the bar itself.
const CELLS: usize = 24;
/// Limit on the label of the current step.
const MAX_LABEL_CHARACTERS: usize = 40;

/// Clears its line when dropped.
#[derive(Debug, Default)]
pub struct ProgressBar {
    shown: bool,
}

impl ProgressBar {
    pub fn show(&mut self, done: u64, total: u64, doing: &str) {
        to_stderr(&format!("\r\u{1b}[K{}", line(done, total, doing)));
        self.shown = true;
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        if self.shown {
            to_stderr("\r\u{1b}[K");
        }
    }
}

fn line(done: u64, total: u64, doing: &str) -> String {
    let done = done.min(total);
    let filled = match total {
        0 => CELLS,
        total => usize::try_from(u128::from(done) * (CELLS as u128) / u128::from(total))
            .expect("a part of the cells"),
    };
    let bar = "█".repeat(filled) + &"░".repeat(CELLS - filled);
    let doing: String =
        clean(doing).chars().filter(|c| *c != '\n').take(MAX_LABEL_CHARACTERS).collect();
    format!("{bar} {done}/{total} {doing}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_bar_fills_and_never_overflows() {
        for (done, total, doing, filled, text) in [
            (0, 4, "roll", 0, " 0/4 roll"),
            (1, 4, "a\u{1b}\nb", 6, " 1/4 a\u{fffd}b"),
            (9, 4, "", 24, " 4/4"),
            (0, 0, "", 24, " 0/0"),
            (u64::MAX, u64::MAX, "x", 24, " 18446744073709551615/18446744073709551615 x"),
        ] {
            let expected = "█".repeat(filled) + &"░".repeat(24 - filled) + text;
            assert_eq!(line(done, total, doing), expected);
        }
        assert_eq!(line(0, 1, &"y".repeat(90)).chars().filter(|c| *c == 'y').count(), 40);
    }
}
