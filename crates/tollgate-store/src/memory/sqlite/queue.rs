//! Bounded queue (back-pressure) of jobs for the threads of the memory's file.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

pub(super) struct BoundedQueue<T> {
    waiting: Mutex<QueueState<T>>,
    woken: Condvar,
    most: usize,
}

struct QueueState<T> {
    items: VecDeque<T>,
    closed: bool,
}

/// Why a job is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueRefusedError {
    Full,
    Closed,
}

impl<T> BoundedQueue<T> {
    pub(super) fn new(most: usize) -> Self {
        let waiting = QueueState { items: VecDeque::new(), closed: false };
        Self { waiting: Mutex::new(waiting), woken: Condvar::new(), most }
    }

    pub(super) fn push(&self, item: T) -> Result<(), QueueRefusedError> {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return Err(QueueRefusedError::Closed);
        }
        if waiting.items.len() >= self.most {
            return Err(QueueRefusedError::Full);
        }
        waiting.items.push_back(item);
        self.woken.notify_one();
        Ok(())
    }

    /// Waits for a job; `None` once it is closed and empty.
    pub(super) fn take(&self) -> Option<T> {
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(item) = waiting.items.pop_front() {
                return Some(item);
            }
            if waiting.closed {
                return None;
            }
            self.woken.wait(&mut waiting);
        }
    }

    /// Takes the next queued job without waiting, if it satisfies `wanted`.
    pub(super) fn take_if(&self, is_match: impl FnOnce(&T) -> bool) -> Option<T> {
        self.waiting.lock().items.pop_front_if(|item| is_match(item))
    }

    /// Refuses new jobs; queued ones are still taken.
    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
        self.woken.notify_all();
    }

    /// Refuses new jobs, and drops queued ones.
    pub(super) fn abandon(&self) {
        let mut waiting = self.waiting.lock();
        waiting.closed = true;
        let left = std::mem::take(&mut waiting.items);
        drop(waiting);
        self.woken.notify_all();
        drop(left);
    }
}
