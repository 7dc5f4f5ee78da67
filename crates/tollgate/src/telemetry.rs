//! Shared latency figures of tools: parses and validates untrusted export files, and merges several
//! into one.

use std::collections::BTreeMap;

use serde_json::Value;
use tollgate_core::score::LatencyAggregate;
use tollgate_core::score::telemetry::{self, FORMAT, TelemetryToolName};

/// The figures of one export, or of several merged ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TelemetryExport {
    tools: BTreeMap<TelemetryToolName, LatencyAggregate>,
}

/// The error in a file, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TelemetryFileError {
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("`format` is `{0}`, but this version reads `{FORMAT}`")]
    Format(String),
    #[error("`{field}`: {problem}")]
    Field { field: String, problem: String },
}

impl TelemetryExport {
    pub fn parse(text: &str) -> Result<Self, TelemetryFileError> {
        let file = serde_json::from_str(text)
            .map_err(|error| TelemetryFileError::NotJson(error.to_string()))?;
        Self::read(&file)
    }

    pub fn read(file: &Value) -> Result<Self, TelemetryFileError> {
        let top = TelemetryField { path: String::new(), value: file };
        match top.at("format").text()? {
            FORMAT => {}
            other => return Err(TelemetryFileError::Format(other.chars().take(60).collect())),
        }
        let mut telemetry = Self::default();
        for tool in top.at("tools").items()? {
            let (name, figures) = tool.figures()?;
            if telemetry.tools.insert(name, figures).is_some() {
                return Err(tool.unfit("duplicate tool"));
            }
        }
        Ok(telemetry)
    }

    pub fn merge(&mut self, other: &Self) {
        for (name, figures) in &other.tools {
            self.tools.entry(name.clone()).or_default().merge(figures);
        }
    }

    /// Number of tools.
    pub fn tools(&self) -> usize {
        self.tools.len()
    }

    pub fn to_json(&self) -> Value {
        telemetry::render_document(&self.tools, None)
    }
}

/// A value of the file, with its path.
struct TelemetryField<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> TelemetryField<'a> {
    fn at(&self, key: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self { path: format!("{}{dot}{key}", self.path), value: &self.value[key] }
    }

    fn items(&self) -> Result<Vec<Self>, TelemetryFileError> {
        let items = self.value.as_array().ok_or_else(|| self.unfit("must be a list"))?;
        let item = |(index, value)| Self { path: format!("{}[{index}]", self.path), value };
        Ok(items.iter().enumerate().map(item).collect())
    }

    fn text(&self) -> Result<&'a str, TelemetryFileError> {
        self.value.as_str().ok_or_else(|| self.unfit("must be a text"))
    }

    fn count(&self) -> Result<u64, TelemetryFileError> {
        self.value.as_u64().ok_or_else(|| self.unfit("must be a whole number, 0 or more"))
    }

    fn figures(&self) -> Result<(TelemetryToolName, LatencyAggregate), TelemetryFileError> {
        let category = match self.at("category") {
            none if none.value.is_null() => None,
            some => Some(some.text()?.to_owned()),
        };
        let name = TelemetryToolName { category, tool: self.at("tool").text()?.to_owned() };
        let mut steps = Vec::new();
        for step in self.at("histogram").items()? {
            let [micros, count] =
                step.items()?.try_into().map_err(|_| step.unfit("must be two numbers"))?;
            steps.push((micros.count()?, count.count()?));
        }
        let calls = self.at("calls").count()?;
        let errors = self.at("errors").count()?;
        let figures = LatencyAggregate::from_untrusted(calls, errors, steps);
        Ok((name, figures.map_err(|hostile| self.unfit(&hostile.to_string()))?))
    }

    fn unfit(&self, problem: &str) -> TelemetryFileError {
        TelemetryFileError::Field { field: self.path.clone(), problem: problem.to_owned() }
    }
}

#[cfg(test)]
mod tests;
