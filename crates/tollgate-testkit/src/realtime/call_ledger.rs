//! What became of every call, as seen by all who had to do with it: the provider that asked, the
//! tool that ran, and whoever answered. At the end it says what was wrong.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// One for all sessions of a run; ids of calls are unique in it.
#[derive(Debug, Default)]
pub struct TestCallLedger {
    rows: Mutex<BTreeMap<String, TestCallRow>>,
    faults: Mutex<Vec<String>>,
    turns: AtomicU64,
}

#[derive(Debug)]
struct TestCallRow {
    runner: ExpectedRunner,
    due: ExpectedAnswers,
    /// Whether the turn that it belongs to came to its end.
    is_confirmed: bool,
    ran: u32,
    answered: u32,
    /// What the answers said.
    messages: Vec<String>,
}

/// Who has to run a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedRunner {
    /// The gateway, at once.
    Reads,
    /// The gateway, when the turn stands.
    Writes,
    /// Nobody has this tool; the gateway says so.
    Nobody,
    Client,
}

/// How often a call has to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedAnswers {
    Once,
    /// It was cancelled, or its session ended.
    AtMostOnce,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TestCallSums {
    pub turns: u64,
    pub calls: usize,
    pub ran: usize,
    pub answered: usize,
    pub excused: usize,
}

impl TestCallLedger {
    /// The provider asks for a call.
    pub fn called(&self, id: &str, runner: ExpectedRunner, due: ExpectedAnswers) {
        let ran = 0;
        let answered = 0;
        let messages = Vec::new();
        let row = TestCallRow { runner, due, is_confirmed: false, ran, answered, messages };
        self.rows.lock().insert(id.to_owned(), row);
    }

    /// A tool of the gateway's runs.
    pub fn record_run(&self, id: &str) {
        let mut rows = self.rows.lock();
        let Some(row) = rows.get_mut(id) else {
            drop(rows);
            return self.fault(format!("{id} ran, and nobody had asked for it"));
        };
        row.ran += 1;
        if row.runner == ExpectedRunner::Writes && !row.is_confirmed {
            drop(rows);
            self.fault(format!("{id} wrote before its turn stood"));
        }
    }

    /// An answer came to the provider.
    pub fn answered(&self, id: &str, text: &str) {
        let mut rows = self.rows.lock();
        let Some(row) = rows.get_mut(id) else {
            drop(rows);
            return self.fault(format!("{id} was answered, and nobody had asked for it: {text}"));
        };
        row.answered += 1;
        row.messages.push(text.chars().take(200).collect());
    }

    /// The turn of this call came to its end.
    pub fn confirm(&self, id: &str) {
        self.change(id, |row| row.is_confirmed = true);
    }

    /// It need not be answered any more.
    pub fn excuse(&self, id: &str) {
        self.change(id, |row| row.due = ExpectedAnswers::AtMostOnce);
    }

    pub fn is_answered(&self, id: &str) -> bool {
        self.rows.lock().get(id).is_some_and(|row| row.answered > 0)
    }

    /// The id of a call that the gateway knows as its own business, if there is one whose id begins
    /// like this.
    pub fn any_of_the_gateways(&self, prefix: &str, chance: u64) -> Option<String> {
        let rows = self.rows.lock();
        let session = rows.range(prefix.to_owned()..).take_while(|(id, _)| id.starts_with(prefix));
        let is_known =
            |row: &TestCallRow| row.runner != ExpectedRunner::Client && row.ran + row.answered > 0;
        let ids: Vec<&String> =
            session.filter(|(_, row)| is_known(row)).map(|(id, _)| id).collect();
        let at = chance.checked_rem(ids.len() as u64)? as usize;
        ids.get(at).map(|id| (*id).clone())
    }

    pub fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    pub fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    pub fn fault(&self, what: impl Into<String>) {
        self.faults.lock().push(what.into());
    }

    /// Everything that was wrong, when all is over.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.faults.lock().clone();
        for (id, row) in self.rows.lock().iter() {
            let most_runs =
                u32::from(matches!(row.runner, ExpectedRunner::Reads | ExpectedRunner::Writes));
            let wrong = match (row.ran, row.answered, row.due) {
                (ran, ..) if ran > most_runs => format!("ran {ran} times"),
                (_, answered @ 2.., _) => format!("was answered {answered} times"),
                (_, 0, ExpectedAnswers::Once) => "was never answered".to_owned(),
                _ => continue,
            };
            faults.push(format!("{id} ({:?}) {wrong}: {:?}", row.runner, row.messages));
        }
        faults
    }

    pub fn sums(&self) -> TestCallSums {
        let rows = self.rows.lock();
        let count = |test: fn(&TestCallRow) -> bool| rows.values().filter(|row| test(row)).count();
        TestCallSums {
            turns: self.turns(),
            calls: rows.len(),
            ran: count(|row| row.ran > 0),
            answered: count(|row| row.answered > 0),
            excused: count(|row| row.answered == 0),
        }
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut TestCallRow)) {
        if let Some(row) = self.rows.lock().get_mut(id) {
            change(row);
        }
    }
}
