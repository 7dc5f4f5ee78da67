//! How a program puts things somewhere: what was taken by loops, what was read as the model words it.

use serde_json::Value;

use super::ProgramWriter;
use super::expressions::{join_values, line, literal, plain, quote, row_text, text, values};
use crate::code_tokens::compose;
use crate::code_tokens::plan::{PlanStep, PlanStepKind, WriteForm, WriteSink};
use crate::code_tokens::step_outcome::ExtractedItem;

impl ProgramWriter<'_> {
    pub(super) fn put(&self, step: &PlanStep, sink: &WriteSink, out: &mut String) {
        let steps = &self.query.steps;
        let reads =
            sink.sources.iter().filter(|at| steps[**at].kind == PlanStepKind::Read).copied();
        let read = WriteSink { form: WriteForm::Pages, sources: reads.collect() };
        let is_shown = |item: &ExtractedItem| item.facts.iter().all(|fact| self.seen.has(fact));
        let written = compose::rows(self.query, &read, &self.truth.0, &is_shown);
        let taken = sink.sources.iter().filter(|at| steps[**at].kind != PlanStepKind::Read);
        let taken: Vec<&PlanStep> = taken.map(|at| &steps[*at]).collect();
        match &sink.form {
            WriteForm::Insert { table } => {
                for source in taken {
                    let marks = vec!["?"; source.taken.fields.len()].join(", ");
                    let sql = quote(&format!("INSERT INTO {table} VALUES ({marks})"));
                    let values = format!("[{}]", values(&source.taken).join(", "));
                    let call = self.call(step, &[("sql", sql), ("values", values)]);
                    line(out, &format!("for x in {}:\n    {call}", source.name));
                }
                if !written.is_empty() {
                    let rows = written.iter().map(|row| format!("('{}')", plain(&row[0])));
                    let rows = rows.collect::<Vec<_>>().join(", ");
                    let sql = quote(&format!("INSERT INTO {table} VALUES {rows}"));
                    line(out, &self.call(step, &[("sql", sql)]));
                }
            }
            WriteForm::Files { name } => {
                for source in taken {
                    let content = row_text(&source.taken);
                    let path = format!("\"{name}\" + str(i + 1) + \".txt\"");
                    let call = self.call(step, &[("path", path), ("content", content)]);
                    line(out, &format!("for i, x in enumerate({}):\n    {call}", source.name));
                }
            }
            WriteForm::Values { heads } => {
                let heads = Value::from(heads.clone());
                let rows = taken
                    .iter()
                    .map(|it| format!("[[{}] for x in {}]", values(&it.taken).join(", "), it.name));
                let all = std::iter::once(format!("[{}]", literal(&heads))).chain(rows);
                let all = all.collect::<Vec<_>>().join(" + ");
                line(out, &self.call(step, &[("values", all)]));
            }
            WriteForm::Pages => {
                let page = |it: &&PlanStep| {
                    let values = values(&it.taken);
                    let content = join_values(&values[1..]);
                    format!(
                        "[{{\"title\": {}, \"content\": {content}}} for x in {}]",
                        values[0], it.name
                    )
                };
                let written =
                    written.iter().map(|row| format!("[{{\"title\": {}}}]", literal(&row[0])));
                let pages: Vec<String> = taken.iter().map(page).chain(written).collect();
                line(out, &self.call(step, &[("pages", pages.join(" + "))]));
            }
            WriteForm::Text { argument } => {
                let text = text(&taken, &written);
                line(out, &self.call(step, &[(argument, text)]));
            }
            WriteForm::Page { title } => {
                let title = quote(title);
                let text = text(&taken, &written);
                let pages = format!("[{{\"title\": {title}, \"content\": {text}}}]");
                line(out, &self.call(step, &[("pages", pages)]));
            }
        }
    }
}
