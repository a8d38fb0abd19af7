//! What the workers of this process are running, in a file of fixed slots.
//!
//! It is written before a task begins and blanked once its outcome is in the
//! settle queue. It outlives the process, not the machine's power; if it is
//! lost or damaged, the attempts in it are handed over again under their own
//! keys instead of being ended as lost.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use everlog::command::AttemptId;
use everlog::id::{Incarnation, Namespace, WorkflowId};
use everlog::message::Dispatch;
use serde::{Deserialize, Serialize};

/// Bytes of a slot: three ids of up to 256 bytes, and what is around them.
const SLOT_BYTES: usize = 1_280;

/// One attempt that was running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// The workflow's life.
    pub incarnation: Incarnation,
    /// The attempt.
    pub attempt: AttemptId,
}

/// The file.
#[derive(Debug)]
pub struct Running {
    file: File,
}

impl Running {
    /// Reads what a dead process left, then begins anew.
    ///
    /// # Errors
    /// If the file can't be opened.
    pub fn open(path: &Path) -> std::io::Result<(Self, Vec<Entry>)> {
        let left = std::fs::read(path).unwrap_or_default();
        let entries = left.chunks(SLOT_BYTES).filter_map(|slot| {
            let text = slot.split(|b| *b == 0).next()?;
            serde_json::from_slice(text).ok()
        });
        let entries = entries.collect();
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        Ok((Self { file }, entries))
    }

    /// Forgets what the dead process left; call it once that is dealt with.
    ///
    /// # Errors
    /// If the file can't be cut.
    pub fn forget(&self) -> std::io::Result<()> {
        self.file.set_len(0)
    }

    /// The worker of `slot` begins.
    pub fn begin(&self, slot: usize, dispatch: &Dispatch) {
        let entry = Entry {
            namespace: dispatch.namespace.clone(),
            workflow: dispatch.workflow.clone(),
            incarnation: dispatch.incarnation,
            attempt: dispatch.attempt_id(),
        };
        let mut text = serde_json::to_vec(&entry).unwrap_or_default();
        text.resize(SLOT_BYTES, 0);
        self.write(slot, &text);
    }

    /// The worker of `slot` is done.
    pub fn end(&self, slot: usize) {
        self.write(slot, &[0]);
    }

    fn write(&self, slot: usize, bytes: &[u8]) {
        if let Err(error) = self.file.write_at(bytes, (slot * SLOT_BYTES) as u64) {
            tracing::error!(%error, "the running file is not written");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_process_reads_what_was_running_and_not_what_had_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("running");
        let (running, left) = Running::open(&path).unwrap();
        assert!(left.is_empty());
        let dispatch = |node: &str| -> Dispatch {
            serde_json::from_value(serde_json::json!({
                "dispatch_key": "00".repeat(16), "namespace": "default", "workflow": "w",
                "incarnation": 1, "node": node, "activation": 1, "attempt": 1, "handover": 1,
                "type": "task",
            }))
            .unwrap()
        };
        running.begin(0, &dispatch("a"));
        running.begin(2, &dispatch("c"));
        running.begin(1, &dispatch("b"));
        running.end(1);
        let (again, left) = Running::open(&path).unwrap();
        let nodes: Vec<&str> = left.iter().map(|e| e.attempt.node.as_str()).collect();
        assert_eq!(nodes, ["a", "c"]);
        again.forget().unwrap();
        assert!(Running::open(&path).unwrap().1.is_empty());
    }
}
