//! What the config accepts and refuses. `check` compares whole reports, so that a message that
//! got worse is seen.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::{ColorMode, Config, ConfigReport, ConfigRequest, Environment, LoadedConfig, load_text};

mod access;
mod bad_input;
mod builtin;
mod clouds;
mod code;
mod corrupted_files;
mod files;
mod good;
mod live;
mod memory;
mod messages;
mod model_usage;
mod pools;
mod secrets;
mod telemetry;
mod telephony;
mod web;

/// Variables and files as a table.
#[derive(Default)]
struct Fake {
    variables: BTreeMap<&'static str, &'static str>,
    files: BTreeMap<&'static str, &'static str>,
}

impl Environment for Fake {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|&text| text.to_owned())
    }

    fn file(&self, path: &str) -> io::Result<String> {
        let text = self.files.get(path).map(|&text| text.to_owned());
        text.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
    }
}

fn load_with(text: &str, environment: &Fake) -> Result<LoadedConfig, ConfigReport> {
    load_text(Path::new("t.yaml"), text.as_bytes(), &ConfigRequest::default(), environment)
}

fn load(text: &str) -> Result<LoadedConfig, ConfigReport> {
    load_with(text, &Fake::default())
}

/// A config that must be good; warnings are fine.
fn good(text: &str) -> Config {
    match load(text) {
        Ok(loaded) => loaded.config,
        Err(report) => panic!("{}", report.render(ColorMode::Plain)),
    }
}

/// The report, good or bad.
fn report(text: &str) -> ConfigReport {
    match load(text) {
        Ok(loaded) => loaded.report,
        Err(report) => report,
    }
}

/// The whole report as printed.
fn check(text: &str, expected: &str) {
    let found = report(text.trim_start_matches('\n')).render(ColorMode::Plain);
    assert!(found.trim() == expected.trim(), "found:\n{found}\nexpected:\n{expected}");
}

/// One line per mistake: `line:column message`.
fn mistakes(text: &str) -> Vec<String> {
    let Err(report) = load(text) else { return Vec::new() };
    let errors = report.diagnostics.iter().filter(|it| it.severity == super::Severity::Error);
    errors
        .map(|found| match found.place {
            super::DiagnosticLocation::At(span) => {
                format!("{}:{} {}", span.line, span.column, found.message)
            }
            super::DiagnosticLocation::File => found.message.clone(),
            super::DiagnosticLocation::Flag(flag) => format!("{flag} {}", found.message),
        })
        .collect()
}

/// Exactly one mistake, and it reads like this.
fn refusal_of(text: &str, expected: &str) {
    assert_eq!(mistakes(text), [expected], "{text}");
}
