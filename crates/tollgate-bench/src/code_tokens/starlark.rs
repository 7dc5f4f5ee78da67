//! Writes the programs of the coder: as much of the plan as can be done with what is known, in one
//! program.
//!
//! What has to be read is printed; what is needed again is fetched again, since nothing is kept
//! between programs.

use serde_json::Value;

use super::ground_truth::GroundTruth;
use super::plan::{self, PlanStep, PlanStepKind, PlannedQuery};
use super::step_outcome::ExtractedItem;
use super::tool_visibility::{self, LOOK_SEPARATOR};
use super::visible_context::VisibleContext;

mod expressions;
mod write_steps;

use expressions::{bind_items, item_field, line, literal, quote, values};

/// Characters of an answer that is looked at for its form.
const PIECE: usize = 800;
/// So many items are written down rather than fetched again.
const MAX_INLINE_ITEMS: usize = 6;

/// All that a program is written from.
pub(super) struct ProgramWriter<'a> {
    pub(super) query: &'a PlannedQuery,
    pub(super) truth: &'a GroundTruth,
    pub(super) seen: &'a VisibleContext,
    /// Of each step, whether it is over.
    pub(super) done: &'a [bool],
    /// Of each step, how much of its text is printed.
    pub(super) excerpt: &'a [usize],
}

#[derive(Debug, Default)]
pub(super) struct WrittenProgram {
    pub(super) source: String,
    /// Steps that it carries out.
    pub(super) ran: Vec<usize>,
    /// Steps of which it only shows what their answers look like.
    pub(super) looked_at: Vec<usize>,
}

impl ProgramWriter<'_> {
    pub(super) fn write(&self) -> WrittenProgram {
        let mut program = WrittenProgram::default();
        for at in 0..self.query.steps.len() {
            if !self.done[at] && self.is_ready(at, &program) {
                let kind = &self.query.steps[at].kind;
                if matches!(kind, PlanStepKind::Take | PlanStepKind::Read) && !self.knows(at) {
                    program.looked_at.push(at)
                } else {
                    program.ran.push(at)
                }
            }
        }
        self.fetch_together(&mut program);
        let needed = self.steps_to_refetch(&program);
        let mut lines = Vec::new();
        for at in 0..self.query.steps.len() {
            if program.ran.contains(&at) || program.looked_at.contains(&at) {
                self.step(at, &mut program);
                if program.ran.contains(&at) && self.query.reported_steps().any(|it| it == at) {
                    lines.extend(self.result_entry(at));
                }
            } else if needed.contains(&at) {
                self.again(at, &mut program.source);
            }
        }
        let result = if lines.is_empty() {
            "\"done\"".to_owned()
        } else {
            format!("{{{}}}", lines.join(", "))
        };
        line(&mut program.source, &format!("result = {result}"));
        program
    }

    fn tool_spelling(&self, step: &PlanStep) -> String {
        tool_visibility::spelling(&step.tool, self.seen).unwrap_or_default()
    }

    fn knows(&self, at: usize) -> bool {
        let step = &self.query.steps[at];
        tool_visibility::knows(&self.tool_spelling(step), &step.taken, self.seen)
    }

    /// Whether all that a step waits for is over, or is done before it in the same program.
    fn is_ready(&self, at: usize, program: &WrittenProgram) -> bool {
        let step = &self.query.steps[at];
        let is_used = |other: usize| {
            let name = &self.query.steps[other].name;
            let is_source =
                matches!(&step.kind, PlanStepKind::Write(sink) if sink.sources.contains(&other));
            is_source
                || step.each.is_some_and(|each| each.of == other)
                || step.references().any(|it| it == name)
        };
        step.after.iter().all(|other| {
            self.done[*other]
                || program.ran.contains(other)
                    && self.query.steps[*other].kind != PlanStepKind::Read
                    && (!is_used(*other) || self.knows(*other) || is_write(self.query, *other))
        })
    }

    /// Calls that wait for nothing are made at once.
    fn fetch_together(&self, program: &mut WrittenProgram) {
        let is_free = |at: &&usize| {
            let step = &self.query.steps[**at];
            matches!(step.kind, PlanStepKind::Take | PlanStepKind::Read)
                && step.each.is_none()
                && step.after.iter().all(|other| self.done[*other])
        };
        let mut free: Vec<usize> =
            program.ran.iter().chain(&program.looked_at).filter(is_free).copied().collect();
        free.sort_unstable();
        if free.len() < 2 {
            return;
        }
        let step = |at: &usize| &self.query.steps[*at];
        let names: Vec<String> = free.iter().map(|at| format!("r{}", step(at).name)).collect();
        let calls: Vec<String> = free.iter().map(|at| self.pair(step(at))).collect();
        line(
            &mut program.source,
            &format!("{} = parallel([{}])", names.join(", "), calls.join(", ")),
        );
    }

    /// `(server.tool, {"a": 1})`
    fn pair(&self, step: &PlanStep) -> String {
        let given = step
            .arguments
            .iter()
            .map(|(name, value)| format!("{}: {}", quote(name), self.argument(value)));
        format!("({}, {{{}}})", self.tool_spelling(step), given.collect::<Vec<_>>().join(", "))
    }

    /// `server.tool(a=1)`
    fn call(&self, step: &PlanStep, beside: &[(&str, String)]) -> String {
        let given =
            step.arguments.iter().map(|(name, value)| format!("{name}={}", self.argument(value)));
        let beside = beside.iter().map(|(name, value)| format!("{name}={value}"));
        format!(
            "{}({})",
            self.tool_spelling(step),
            given.chain(beside).collect::<Vec<_>>().join(", ")
        )
    }

    fn argument(&self, value: &Value) -> String {
        if let Some(name) = plan::reference(value) {
            let at = self.query.steps.iter().position(|step| step.name == name);
            let at = at.expect("a step above");
            return match (&self.truth.0[at].id, self.done[at]) {
                (Some(id), true) => literal(id),
                _ => format!("r{name}{}", item_field(&self.query.steps[at].taken.fields[0].name)),
            };
        }
        match value.as_str().and_then(|it| it.strip_prefix('@')) {
            Some("") => "x".to_owned(),
            Some(field) => format!("x{}", item_field(field)),
            None => literal(value),
        }
    }

    fn step(&self, at: usize, program: &mut WrittenProgram) {
        let step = &self.query.steps[at];
        let is_look = program.looked_at.contains(&at);
        let out = &mut program.source;
        match &step.kind {
            PlanStepKind::Take | PlanStepKind::Read => {
                self.fetch(step, out);
                if is_look {
                    let one = if step.each.is_some() { "[0]" } else { "" };
                    let spelled = self.tool_spelling(step);
                    let print = format!(
                        "print(\"{spelled}{LOOK_SEPARATOR}\" + str(r{}{one})[:{PIECE}])",
                        step.name
                    );
                    return line(out, &print);
                }
                line(out, &bind_items(step));
                if step.kind == PlanStepKind::Read {
                    let field = item_field(&step.taken.fields[0].name);
                    let most = self.excerpt[at];
                    line(out, &format!("for x in {}:\n    print(x{field}[:{most}])", step.name));
                }
            }
            PlanStepKind::Act => self.act(at, out),
            PlanStepKind::Fails(_) => {
                let given = self.call(step, &[]);
                let given = given.split_once('(').map_or("", |(_, given)| given);
                let spelled = self.tool_spelling(step);
                line(out, &format!("r{} = try_call({spelled}, {given}", step.name));
            }
            PlanStepKind::Write(sink) => self.put(step, sink, out),
        }
    }

    fn fetch(&self, step: &PlanStep, out: &mut String) {
        let name = &step.name;
        let is_fetched = out.lines().next().is_some_and(|first| {
            let names = first.split(" = parallel(").next().unwrap_or_default();
            first.contains(" = parallel(") && names.split(", ").any(|it| it == format!("r{name}"))
        });
        match step.each {
            Some(each) => {
                let of = &self.query.steps[each.of].name;
                let most = if each.most < 99 { format!("[:{}]", each.most) } else { String::new() };
                let pair = self.pair(step);
                line(out, &format!("r{name} = parallel([{pair} for x in {of}{most}])"));
            }
            None if is_fetched => {}
            None => line(out, &format!("r{name} = {}", self.call(step, &[]))),
        }
    }

    fn act(&self, at: usize, out: &mut String) {
        let step = &self.query.steps[at];
        let call = self.call(step, &[]);
        if let Some(each) = step.each {
            let of = &self.query.steps[each.of].name;
            return line(out, &format!("for x in {of}:\n    {call}"));
        }
        let is_needed =
            self.query.steps.iter().any(|it| it.references().any(|name| name == step.name));
        match (is_needed, self.knows(at)) {
            (false, _) => line(out, &call),
            (true, true) => line(out, &format!("r{} = {call}", step.name)),
            (true, false) => {
                let look = format!("{}{LOOK_SEPARATOR}", self.tool_spelling(step));
                line(out, &format!("r{0} = {call}\nprint(\"{look}\" + str(r{0}))", step.name));
            }
        }
    }

    /// Steps that are over and whose items are used again, by the program or to fetch others again.
    fn steps_to_refetch(&self, program: &WrittenProgram) -> Vec<usize> {
        let steps = &self.query.steps;
        let mut needed: Vec<usize> = Vec::new();
        for at in (0..steps.len()).rev() {
            let is_fetched = needed.contains(&at) && !self.is_few(at);
            if !(is_fetched || program.ran.contains(&at) || program.looked_at.contains(&at)) {
                continue;
            }
            let sources: &[usize] = match &steps[at].kind {
                PlanStepKind::Write(sink) => &sink.sources,
                _ => &[],
            };
            let used = steps[at].each.iter().map(|each| each.of).chain(sources.iter().copied());
            needed
                .extend(used.filter(|it| self.done[*it] && steps[*it].kind == PlanStepKind::Take));
        }
        needed
    }

    fn is_few(&self, at: usize) -> bool {
        let items = &self.truth.0[at].items;
        let is_short = |value: &Value| value.as_str().is_none_or(|text| text.len() <= 120);
        items.len() <= MAX_INLINE_ITEMS
            && items.iter().all(|item| {
                item.values.iter().all(is_short) && item.facts.iter().all(|it| self.seen.has(it))
            })
    }

    /// The items of a step that is over: written down if they are few and were shown.
    fn again(&self, at: usize, out: &mut String) {
        let step = &self.query.steps[at];
        if !self.is_few(at) {
            self.fetch(step, out);
            return line(out, &bind_items(step));
        }
        let one = |item: &ExtractedItem| {
            let fields = step.taken.fields.iter().zip(&item.values);
            let pairs: Vec<String> = fields
                .map(|(field, value)| format!("{}: {}", quote(&field.name), literal(value)))
                .collect();
            match &step.taken.fields[..] {
                [field] if field.name == "@" => literal(&item.values[0]),
                _ => format!("{{{}}}", pairs.join(", ")),
            }
        };
        let items: Vec<String> = self.truth.0[at].items.iter().map(one).collect();
        line(out, &format!("{} = [{}]", step.name, items.join(", ")));
    }

    /// What the result says of a step.
    fn result_entry(&self, at: usize) -> Option<String> {
        let step = &self.query.steps[at];
        match &step.kind {
            PlanStepKind::Take => {
                let values = values(&step.taken);
                let row = if values.len() == 1 {
                    values[0].clone()
                } else {
                    format!("[{}]", values.join(", "))
                };
                Some(format!("\"{0}\": [{row} for x in {0}]", step.name))
            }
            PlanStepKind::Fails(_) => Some(format!("\"{0}\": r{0}.error", step.name)),
            _ => None,
        }
    }
}

fn is_write(query: &PlannedQuery, at: usize) -> bool {
    matches!(query.steps[at].kind, PlanStepKind::Write(_))
}
