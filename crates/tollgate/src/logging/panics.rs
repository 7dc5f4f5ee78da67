//! Panic hook: writes a panic as a log line, with secrets masked.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};

use super::{LogFormat, stderr};

/// Called once, before anything else can panic.
pub(super) fn write_as_lines(format: LogFormat) {
    panic::set_hook(Box::new(move |info| stderr::note(format, "ERROR", &describe(info))));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let message = info.payload_as_str().unwrap_or("of an unknown kind");
    let place = info.location().map_or_else(String::new, |place| format!(" at {place}"));
    let mut text = format!("thread `{name}` panicked{place}: {message}");
    // Only if RUST_BACKTRACE is set.
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("\n{trace}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::panic;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use serde_json::Value;
    use tollgate_core::secret_values;

    use super::{LogFormat, describe, stderr};

    #[test]
    fn s_23_a_panic_is_one_line_without_secrets() {
        secret_values::configure(["canary-of-a-panic"]);
        let received = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&received);
        panic::set_hook(Box::new(move |info| {
            let text = describe(info);
            lines.lock().extend([
                stderr::line(LogFormat::Text, "ERROR", &text),
                stderr::line(LogFormat::Json, "ERROR", &text),
            ]);
        }));
        let _ = panic::catch_unwind(|| panic!("key canary-of-a-panic\u{1b}[2J"));
        drop(panic::take_hook());
        let received = received.lock().clone();
        assert!(
            received[0].contains("panicked at") && received[0].contains("key [masked:secret]"),
            "{received:?}"
        );
        assert!(!received[0].contains('\u{1b}'));
        let event: Value = serde_json::from_str(&received[1]).unwrap();
        assert_eq!(event["level"], "ERROR");
        assert!(event["message"].as_str().unwrap().contains("key [masked:secret]"), "{received:?}");
        assert_eq!(received[1].matches('\n').count(), 1);
    }
}
