//! Finds orphans of a child process: by descent, and by a mark in the environment that survives
//! `setsid` and double forks. Reads `/proc`; without it, none are found.

use std::collections::{HashMap, HashSet};
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Variable in the environment of every child: identifies the gateway and the start.
pub(crate) const CHILD_MARK_VARIABLE: &str = "TOLLGATE_CHILD";

/// Invariant: unique to one start of one child. Format: `<pid>-<start time>-<random>`.
pub(crate) struct ChildMark(String);

impl ChildMark {
    pub(crate) fn new() -> Self {
        Self(format!("{}-{:016x}", own_mark_prefix(), rand::random::<u64>()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Prefix of all marks of this process.
pub(crate) fn own_mark_prefix() -> String {
    let own = std::process::id();
    let started = stat(own).map_or(0, |stat| stat.started);
    format!("{own}-{started}")
}

/// A process, distinguished from a later one with the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    id: u32,
    started: u64,
}

/// All descendants of `root`, as of now.
pub(crate) fn descendants(root: u32) -> Vec<ProcessIdentity> {
    ProcessTree::read().below([root])
}

/// Whether a process of this start is alive in the process group. Once its leader was reaped and
/// its last member is gone, the group id may be reused.
pub(crate) fn is_in_group(group: u32, mark: &ChildMark, family: &[ProcessIdentity]) -> bool {
    processes().any(|id| {
        stat(id).is_some_and(|now| {
            now.alive
                && now.group == group
                && (family.contains(&ProcessIdentity { id, started: now.started })
                    || mark_of(id).as_deref() == Some(mark.as_str()))
        })
    })
}

/// Children by parent, as of one snapshot.
struct ProcessTree(HashMap<u32, Vec<ProcessIdentity>>);

impl ProcessTree {
    fn read() -> Self {
        let mut children: HashMap<u32, Vec<ProcessIdentity>> = HashMap::new();
        for id in processes() {
            if let Some(stat) = stat(id) {
                let relative = ProcessIdentity { id, started: stat.started };
                children.entry(stat.parent).or_default().push(relative);
            }
        }
        Self(children)
    }

    fn below(mut self, roots: impl IntoIterator<Item = u32>) -> Vec<ProcessIdentity> {
        let mut found = Vec::new();
        let mut next: Vec<u32> = roots.into_iter().collect();
        while let Some(parent) = next.pop() {
            for child in self.0.remove(&parent).unwrap_or_default() {
                next.push(child.id);
                found.push(child);
            }
        }
        found
    }
}

/// Kills all processes with the mark, the recorded family, and all their descendants. Returns how
/// many were still alive.
pub(crate) fn kill(mark: &ChildMark, family: &[ProcessIdentity]) -> usize {
    let mut doomed: HashSet<u32> = family
        .iter()
        .filter(|it| stat(it.id).is_some_and(|now| now.started == it.started && now.alive))
        .map(|it| it.id)
        .collect();
    doomed.extend(processes().filter(|id| mark_of(*id).as_deref() == Some(mark.as_str())));
    if !doomed.is_empty() {
        let below = ProcessTree::read().below(doomed.iter().copied());
        doomed.extend(below.into_iter().map(|below| below.id));
    }
    doomed.retain(|id| stat(*id).is_some_and(|now| now.alive));
    for id in &doomed {
        kill_process_by_id(*id);
    }
    doomed.len()
}

/// Kills what an earlier gateway left behind because it was killed itself: only processes that
/// carry the mark of a dead gateway of our own pid namespace, and their descendants.
pub fn sweep_orphans() -> usize {
    let Ok(namespace) = fs::read_link("/proc/self/ns/pid") else {
        return 0;
    };
    let is_orphan = |id: &u32| {
        fs::read_link(format!("/proc/{id}/ns/pid")).is_ok_and(|theirs| theirs == namespace)
            && mark_of(*id).is_some_and(|mark| !gateway_lives(&mark))
    };
    let mut orphans: HashSet<u32> = processes().filter(is_orphan).collect();
    if !orphans.is_empty() {
        let below = ProcessTree::read().below(orphans.iter().copied());
        orphans.extend(below.into_iter().map(|below| below.id));
    }
    let own = std::process::id();
    orphans.retain(|id| *id != own && stat(*id).is_some_and(|now| now.alive));
    for id in &orphans {
        kill_process_by_id(*id);
    }
    orphans.len()
}

/// Whether the gateway of a mark, or of a prefix of one, is still alive.
pub(crate) fn gateway_lives(mark: &str) -> bool {
    let mut parts = mark.split('-').map(str::parse::<u64>);
    let (Some(Ok(id)), Some(Ok(started))) = (parts.next(), parts.next()) else {
        return true;
    };
    let now = u32::try_from(id).ok().and_then(stat);
    now.is_some_and(|now| now.alive && now.started == started)
}

fn mark_of(id: u32) -> Option<String> {
    let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
    let mark = environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(CHILD_MARK_VARIABLE.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(mark.to_vec()).ok()
}

struct ProcessStat {
    parent: u32,
    group: u32,
    /// In clock ticks since boot.
    started: u64,
    alive: bool,
}

fn stat(id: u32) -> Option<ProcessStat> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may contain anything, including parentheses.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let alive = !matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(ProcessStat { parent, group, started, alive })
}

fn processes() -> impl Iterator<Item = u32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(move |it| it.file_name().to_str()?.parse().ok().filter(|id| *id != own))
}

fn kill_process_by_id(id: u32) {
    if let Some(pid) = Pid::from_raw(id.cast_signed()) {
        let _ = kill_process(pid, Signal::KILL);
    }
}
