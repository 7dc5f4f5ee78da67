//! The calls that run now. Many small tables instead of one: two calls seldom want the same.

use std::sync::Arc;

use parking_lot::Mutex;

use super::course::Course;

/// A power of two.
const TABLES: usize = 16;

#[derive(Default)]
pub(super) struct Crowd {
    tables: [Mutex<Table>; TABLES],
}

#[derive(Default)]
struct Table {
    seats: Vec<Option<Arc<Course>>>,
    free: Vec<usize>,
}

/// Where a call sits.
pub(crate) struct Seat {
    table: usize,
    seat: usize,
}

impl Crowd {
    pub(super) fn enter(&self, course: &Arc<Course>) -> Seat {
        // The last letter of an id is chance.
        let letter = course.id.as_str().bytes().next_back().unwrap_or_default();
        let table = usize::from(letter) % TABLES;
        let Table { seats, free } = &mut *self.tables[table].lock();
        let seat = match free.pop() {
            Some(seat) => seat,
            None => {
                seats.push(None);
                seats.len() - 1
            }
        };
        seats[seat] = Some(Arc::clone(course));
        Seat { table, seat }
    }

    pub(super) fn leave(&self, Seat { table, seat }: Seat) {
        let mut table = self.tables[table].lock();
        table.seats[seat] = None;
        table.free.push(seat);
    }

    pub(super) fn count(&self) -> usize {
        let of_table = |table: &Mutex<Table>| {
            let table = table.lock();
            table.seats.len() - table.free.len()
        };
        self.tables.iter().map(of_table).sum()
    }

    /// The oldest first.
    pub(super) fn all(&self) -> Vec<Arc<Course>> {
        let mut all = Vec::new();
        for table in &self.tables {
            all.extend(table.lock().seats.iter().flatten().map(Arc::clone));
        }
        all.sort_unstable_by_key(|course| (course.began, course.id));
        all
    }
}
