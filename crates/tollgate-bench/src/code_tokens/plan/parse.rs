//! Reads the files of queries.
//!
//! `@id class`, the text, then steps: `name op [other[[:n]] [->]] server.tool {arguments} : taken`
//! with the operators `=` take, `?` read, `!` act, `~` fails; and `> form target | sources`.

use serde_json::Value;

use super::{
    ExtractedField, Extraction, ForEachItem, PlanArguments, PlanStep, PlanStepKind, PlannedQuery,
    QueryClass, inventory, sinks, step_position,
};

/// Round by round: the queries of the public benchmark, the longest ones shortened.
const FILES: [&str; 3] = [
    include_str!("../queries_1.txt"),
    include_str!("../queries_2.txt"),
    include_str!("../queries_3.txt"),
];

/// Those of a round, from 1.
pub(in crate::code_tokens) fn queries(round: usize) -> Vec<PlannedQuery> {
    let blocks = FILES[round - 1].split("\n@");
    blocks.map(|block| query(block.trim_start_matches('@'))).collect()
}

fn query(block: &str) -> PlannedQuery {
    let mut lines = block.lines();
    let head = lines.next().expect("a query has an id");
    let (id, class) = head.split_once(' ').expect("an id and a class");
    let class = QueryClass::ALL.into_iter().find(|it| it.as_str() == class).expect("a known class");
    let text = lines.next().expect("a query says something").to_owned();
    let mut query = PlannedQuery { id: id.to_owned(), class, text, steps: Vec::new() };
    for line in lines.filter(|line| !line.is_empty()) {
        match line.strip_prefix("> ") {
            Some(sink) => sinks::add(&mut query.steps, sink),
            None => {
                let step = step(&query.steps, line);
                query.steps.push(step);
            }
        }
    }
    query
}

fn step(steps: &[PlanStep], line: &str) -> PlanStep {
    let (name, rest) = line.split_once(' ').expect("a name");
    let (operator, rest) = rest.split_at(1);
    let (call, taken) = rest.rsplit_once(" : ").expect("what is taken");
    let at = call.find('{').expect("arguments");
    let (words, arguments) = call.split_at(at);
    let mut words: Vec<&str> = words.split_whitespace().collect();
    let tool = inventory::tool(words.pop().expect("a tool"));
    let is_each = words.last() == Some(&"->");
    let mut after = sinks::write_steps(steps);
    let mut each = None;
    if let Some(other) = words.first() {
        let (other, most) = other.split_once("[:").unwrap_or((other, "99]"));
        let of = step_position(steps, other);
        let most = most.trim_end_matches(']').parse().expect("a number");
        each = is_each.then_some(ForEachItem { of, most });
        after.push(of);
    }
    let kind = match operator {
        "=" => PlanStepKind::Take,
        "?" => PlanStepKind::Read,
        "!" => PlanStepKind::Act,
        "~" => PlanStepKind::Fails(taken.to_owned()),
        other => panic!("no operator: {other}"),
    };
    let arguments = arguments_of(arguments);
    let mut step = PlanStep {
        name: name.to_owned(),
        taken: if kind == PlanStepKind::Act { Extraction::of_act(taken) } else { taken_of(taken) },
        kind,
        tool,
        arguments,
        after,
        each,
    };
    let referred: Vec<usize> = step.references().map(|name| step_position(steps, name)).collect();
    step.after.extend(referred);
    step
}

fn arguments_of(written: &str) -> PlanArguments {
    let mut arguments: PlanArguments = serde_json::from_str(written).expect("arguments are JSON");
    for value in arguments.values_mut() {
        if let Value::String(text) = value
            && let Some((before, rest)) = text.split_once("%sample:")
        {
            let (count, after) = rest.split_once('%').expect("an end");
            let rows: Vec<String> = (1..=count.parse().expect("a number")).map(sample).collect();
            *text = format!("{before}{}{after}", rows.join(", "));
        }
    }
    arguments
}

/// A row that a model would make up.
fn sample(at: usize) -> String {
    const NAMES: [&str; 5] = ["Alma", "Bruno", "Chiara", "Deniz", "Edda"];
    const KINDS: [&str; 5] = ["Engineering", "Marketing", "Sales", "HR", "Finance"];
    let name = NAMES[at % 5];
    let kind = KINDS[at / 2 % 5];
    format!("('{name} {at}', '{kind}', {}, '2026-0{}-1{}')", 41_000 + at * 731, at % 9 + 1, at % 10)
}

/// `list[:5] title url`, `. karma`, or one field of the answer itself.
fn taken_of(written: &str) -> Extraction {
    let mut words = written.split(' ');
    let first = words.next().expect("something is taken");
    let field = |word: &str| {
        let (name, most) = word.split_once('~').unwrap_or((word, ""));
        ExtractedField { name: name.to_owned(), most: most.parse().ok() }
    };
    let fields: Vec<ExtractedField> = words.map(field).collect();
    match first.split_once("[:") {
        Some((list, most)) => {
            let most = most.trim_end_matches(']').parse().ok();
            Extraction { list: Some(list.to_owned()), most, fields }
        }
        None if fields.is_empty() => {
            Extraction { list: None, most: None, fields: vec![field(first)] }
        }
        None => Extraction { list: None, most: None, fields },
    }
}
