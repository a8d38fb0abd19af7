//! The last states that an instance worked on.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use crate::id::{CommandHash, Incarnation};
use crate::journal::{Loaded, LogKey};

/// Direct commands that are remembered.
const SERVED_MAX: usize = 4_096;
/// Rough bytes of all states together.
const BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: Mutex<Entries>,
    served: Mutex<HashSet<CommandHash>>,
}

#[derive(Debug, Default)]
struct Entries {
    by_partition: HashMap<String, Entry>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    incarnation: Incarnation,
    loaded: Loaded,
    bytes: usize,
    used: u64,
}

impl Cache {
    /// This instance has served a direct command to its end.
    pub(super) fn served(&self, command: CommandHash) {
        if let Ok(mut served) = self.served.lock() {
            if served.len() >= SERVED_MAX {
                served.clear();
            }
            served.insert(command);
        }
    }

    /// Whether it has: then the command's wake has nothing to mend.
    pub(super) fn has_served(&self, command: CommandHash) -> bool {
        self.served.lock().is_ok_and(|served| served.contains(&command))
    }

    /// The state of a workflow, if it is kept and of that life (any, if `None`).
    pub(super) fn get(
        &self,
        partition: &str,
        incarnation: Option<Incarnation>,
    ) -> Option<(Incarnation, Loaded)> {
        let mut entries = self.entries.lock().ok()?;
        entries.clock += 1;
        let now = entries.clock;
        let entry = entries.by_partition.get_mut(partition)?;
        if incarnation.is_some_and(|wanted| wanted != entry.incarnation) {
            return None;
        }
        entry.used = now;
        Some((entry.incarnation, entry.loaded.clone()))
    }

    /// Keeps a state, unless a later one of that life is kept already.
    pub(super) fn put(&self, key: &LogKey, loaded: &Loaded) {
        let Ok(mut entries) = self.entries.lock() else { return };
        let partition = key.partition();
        let later = |e: &Entry| {
            (e.incarnation, e.loaded.state.commit, e.loaded.confirmed)
                > (key.incarnation, loaded.state.commit, loaded.confirmed)
        };
        if entries.by_partition.get(&partition).is_some_and(later) {
            return;
        }
        entries.clock += 1;
        let entry = Entry {
            incarnation: key.incarnation,
            loaded: loaded.clone(),
            bytes: rough_bytes(loaded),
            used: entries.clock,
        };
        entries.bytes += entry.bytes;
        if let Some(old) = entries.by_partition.insert(partition, entry) {
            entries.bytes -= old.bytes;
        }
        entries.shrink();
    }

    /// Forgets a workflow, after an outcome that is not known.
    pub(super) fn forget(&self, partition: &str) {
        if let Ok(mut entries) = self.entries.lock()
            && let Some(old) = entries.by_partition.remove(partition)
        {
            entries.bytes -= old.bytes;
        }
    }
}

impl Entries {
    fn shrink(&mut self) {
        while self.bytes > BYTES_MAX && self.by_partition.len() > 1 {
            let oldest =
                self.by_partition.iter().min_by_key(|(_, e)| e.used).map(|(k, _)| k.clone());
            let Some(old) = oldest.and_then(|key| self.by_partition.remove(&key)) else { return };
            self.bytes -= old.bytes;
        }
    }
}

fn rough_bytes(loaded: &Loaded) -> usize {
    let state = &loaded.state;
    let live = state.attempts.len() + state.timers.len() + state.listening.len();
    let settled: usize = state.settled.len();
    1_024 + state.nodes.len() * 24 + (live + settled) * 256
}
