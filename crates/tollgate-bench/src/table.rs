//! The figures beside their targets, as a table for people and as JSON for machines.

use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub(crate) struct FigureRow {
    pub(crate) id: &'static str,
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) target: String,
    /// To the yardstick where the target names one, else to the target.
    pub(crate) ratio: Option<f64>,
    pub(crate) verdict: TargetVerdict,
    /// The numbers behind it.
    pub(crate) figures: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetVerdict {
    Ok,
    Short,
    /// Could not be measured.
    Failed,
}

impl TargetVerdict {
    pub(crate) fn at_least(value: f64, limit: f64) -> Self {
        if value >= limit { Self::Ok } else { Self::Short }
    }

    pub(crate) fn at_most(value: f64, limit: f64) -> Self {
        if value <= limit { Self::Ok } else { Self::Short }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Short => "short",
            Self::Failed => "failed",
        }
    }
}

impl FigureRow {
    pub(crate) fn failure(id: &'static str, reason: &str) -> Self {
        Self {
            id,
            what: reason.replace('\n', " | "),
            measured: String::new(),
            target: String::new(),
            ratio: None,
            verdict: TargetVerdict::Failed,
            figures: Value::Null,
        }
    }

    /// A value that must not pass `limit`.
    pub(crate) fn at_most(id: &'static str, what: String, value: f64, limit: FigureLimit) -> Self {
        Self {
            id,
            what,
            measured: format!("{value:.*} {}", limit.digits, limit.unit),
            target: format!("≤ {} {}", limit.rounded(limit.most), limit.unit),
            ratio: Some(value / limit.most),
            verdict: TargetVerdict::at_most(limit.rounded(value), limit.rounded(limit.most)),
            figures: json!({ "value": value, "limit": limit.most, "unit": limit.unit }),
        }
    }

    /// Something that holds or does not.
    pub(crate) fn check(
        id: &'static str,
        what: impl Into<String>,
        measured: impl Into<String>,
        target: &str,
        holds: bool,
    ) -> Self {
        let measured = measured.into();
        Self {
            id,
            what: what.into(),
            figures: json!({ "measured": measured, "holds": holds }),
            measured,
            target: target.to_owned(),
            ratio: None,
            verdict: if holds { TargetVerdict::Ok } else { TargetVerdict::Short },
        }
    }

    /// The same with more to say about the value.
    pub(crate) fn with_note(mut self, how: &str) -> Self {
        self.measured = format!("{} ({how})", self.measured);
        self
    }

    pub(crate) fn with(mut self, figures: Value) -> Self {
        self.figures = figures;
        self
    }

    fn cells(&self) -> [String; 6] {
        [
            self.id.to_owned(),
            self.what.clone(),
            self.measured.clone(),
            self.target.clone(),
            self.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            self.verdict.as_str().to_owned(),
        ]
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "what": self.what,
            "measured": self.measured,
            "target": self.target,
            "ratio": self.ratio,
            "verdict": self.verdict.as_str(),
            "figures": self.figures,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct FigureLimit {
    pub(crate) most: f64,
    pub(crate) unit: &'static str,
    pub(crate) digits: usize,
}

impl FigureLimit {
    /// As it is printed: what looks like a tie is judged as one.
    fn rounded(self, value: f64) -> f64 {
        let scale = 10_f64.powi(i32::try_from(self.digits).unwrap_or(0));
        (value * scale).round() / scale
    }
}

const HEADS: [&str; 6] = ["id", "what", "measured", "target", "ratio", "verdict"];

/// All rows, each column as wide as it has to be.
pub(crate) fn render(rows: &[FigureRow]) -> String {
    let mut cells = vec![HEADS.map(str::to_owned)];
    cells.extend(
        rows.iter().filter(|row| row.verdict != TargetVerdict::Failed).map(FigureRow::cells),
    );
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; 6] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut out = String::new();
    for (at, row) in cells.iter().enumerate() {
        let line: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        out.push_str(line.join(" | ").trim_end());
        out.push('\n');
        if at == 0 {
            out.push_str(&widths.map(|width| "-".repeat(width)).join("-|-"));
            out.push('\n');
        }
    }
    for row in rows.iter().filter(|row| row.verdict == TargetVerdict::Failed) {
        out.push_str(&format!("{} failed: {}\n", row.id, row.what));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{FigureLimit, FigureRow, TargetVerdict, render};

    #[test]
    fn a_figure_is_judged_as_it_is_printed() {
        let judge = |value: f64| {
            let limit = FigureLimit { most: 2.0 * 54.06, unit: "ms", digits: 1 };
            FigureRow::at_most("R-10", String::new(), value, limit)
        };
        let tie = judge(108.14);
        assert_eq!((tie.measured.as_str(), tie.target.as_str()), ("108.1 ms", "≤ 108.1 ms"));
        assert_eq!(tie.verdict, TargetVerdict::Ok);
        assert_eq!(judge(108.2).verdict, TargetVerdict::Short);
    }

    #[test]
    fn columns_line_up_and_failures_stand_below() {
        let limit = FigureLimit { most: 25.0, unit: "MiB", digits: 1 };
        let rows = [
            FigureRow::at_most("P10", "memory, idle".to_owned(), 12.34, limit),
            FigureRow::at_most("P2", "x".to_owned(), 30.0, limit),
            FigureRow::failure("P3", "no answer"),
        ];
        assert_eq!(
            render(&rows),
            "id  | what         | measured | target   | ratio | verdict\n\
             ----|--------------|----------|----------|-------|--------\n\
             P10 | memory, idle | 12.3 MiB | ≤ 25 MiB | 0.49  | ok\n\
             P2  | x            | 30.0 MiB | ≤ 25 MiB | 1.20  | short\n\
             P3 failed: no answer\n"
        );
    }
}
