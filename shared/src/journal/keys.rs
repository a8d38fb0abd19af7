//! Where things are: partition and sort keys.
//!
//! Numbers in sort keys are padded to a fixed width, so that their order as
//! text is their order as numbers.

use crate::id::{DispatchKey, Incarnation, Namespace, WorkflowId, hash16};
use crate::time::Timestamp;

/// Shards of the alarm index.
pub const ALARM_SHARDS: u16 = 16;
/// Shards of a list.
pub const LIST_SHARDS: u16 = 8;

/// What the sort keys of removals begin with.
pub(super) const REMOVAL: &str = "d#";

/// The highest number that a sort key has room for.
pub(super) const COMMIT_MAX: u64 = 9_999_999_999;

/// The incarnation that the sort key of a removal is of, if it is one.
pub(super) fn removes(sort_key: &str) -> Option<Incarnation> {
    sort_key.strip_prefix(REMOVAL)?.parse().ok().map(Incarnation)
}

/// The sort key of the card.
pub const CARD: &str = "card";

/// One incarnation of one workflow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogKey {
    /// The namespace.
    pub namespace: Namespace,
    /// The workflow.
    pub workflow: WorkflowId,
    /// Which life of it.
    pub incarnation: Incarnation,
}

impl LogKey {
    /// Names an incarnation.
    #[must_use]
    pub fn new(namespace: Namespace, workflow: WorkflowId, incarnation: Incarnation) -> Self {
        Self { namespace, workflow, incarnation }
    }

    /// The partition key.
    #[must_use]
    pub fn partition(&self) -> String {
        partition(&self.namespace, &self.workflow)
    }

    pub(super) fn commit(&self, n: u64) -> String {
        format!("c#{:014}#{n:010}", self.incarnation.0)
    }

    /// Ranges of sort keys that hold commits, checkpoints and claims of this life
    /// and of those before it.
    pub(super) fn lives_up_to(&self) -> [(String, String); 3] {
        let to = |kind: &str| (format!("{kind}#"), format!("{kind}#{:014}#~", self.incarnation.0));
        [to("c"), to("p"), to("i")]
    }

    pub(super) fn removal(&self) -> String {
        format!("{REMOVAL}{:014}", self.incarnation.0)
    }

    pub(super) fn import(&self) -> String {
        format!("i#{:014}", self.incarnation.0)
    }

    pub(super) fn checkpoint(&self) -> String {
        format!("p#{:014}", self.incarnation.0)
    }
}

/// The partition key of a workflow.
#[must_use]
pub fn partition(namespace: &Namespace, workflow: &WorkflowId) -> String {
    format!("{namespace}#{workflow}")
}

/// The number in the sort key of a commit.
pub(super) fn commit_number(sort_key: &str) -> Option<u64> {
    sort_key.rsplit_once('#')?.1.parse().ok()
}

pub(super) fn chunk(upload: &DispatchKey, at: u32) -> String {
    format!("x#{upload}#{at:04}")
}

fn shard(partition: &str, shards: u16) -> u16 {
    let hash = hash16(&[partition.as_bytes()]);
    u16::from_be_bytes([hash[0], hash[1]]) % shards
}

/// The partition of the alarm index that a card is in.
#[must_use]
pub fn alarm_shard(partition: &str) -> u16 {
    shard(partition, ALARM_SHARDS)
}

/// The partition of the list index that a card is in.
pub(super) fn list_key(namespace: &Namespace, status: &str, partition: &str) -> String {
    list_shard(namespace, status, shard(partition, LIST_SHARDS))
}

/// The place of a card in its partition of the list index.
pub(super) fn list_at(started_at: Timestamp, workflow: &WorkflowId) -> String {
    format!("{:014}#{workflow}", started_at.0)
}

/// One partition of the list index.
pub(super) fn list_shard(namespace: &Namespace, status: &str, shard: u16) -> String {
    format!("{namespace}#{status}#{shard}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn the_order_of_sort_keys_is_the_order_of_numbers() {
        let key = |inc| {
            let workflow = WorkflowId::new("w").unwrap();
            LogKey::new(Namespace::default(), workflow, Incarnation(inc))
        };
        let first = key(1_700_000_000_000);
        assert!(first.commit(9) < first.commit(10));
        assert!(first.commit(9_999_999_999) < key(1_700_000_000_001).commit(1));
        assert!(key(limits::TIME_MS_MAX).commit(1) > first.commit(1));
        assert_eq!(commit_number(&first.commit(42)), Some(42));
    }
}
