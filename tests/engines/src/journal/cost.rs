//! What each operation of the journal consumes, as the engine says it.
//!
//! The budget of a step stands and falls with these numbers: a stack that
//! reports others can't be used to measure cost.

use everlog::journal::{Journal, Purpose, keys};
use everlog::time::Tick;

use super::cards::look;
use super::{Bench, grow, key, next};
use crate::case;
use crate::case::Case;
use crate::fact::{Engine, Except, Fact};

pub(super) const CASES: &[Case<Bench>] = &[
    case!(commits_cost_a_write_unit_a_started_kibibyte, COMMIT_SMALL, COMMIT_LARGE, COMMIT_LOST),
    case!(
        cards_cost_themselves_and_their_entries_in_the_indexes,
        CARD_NEW,
        CARD_LOWER,
        CARD_COUNT,
        CARD_LATER,
        CARD_SHOWN,
        CARD_CLOSED,
    ),
    case!(checkpoints_and_chunks_cost_their_size, CHECKPOINT, CHUNK_WRITE, READ_CHUNK),
    case!(
        reads_cost_a_unit_a_started_4_kibibytes,
        READ_NOTHING,
        READ_CARD,
        READ_LOG,
        READ_DELTA,
        READ_ALARMS,
    ),
];

const COMMIT_SMALL: Fact =
    Fact { what: "write units: a commit of 200 bytes", aws: "1", except: &[], note: "" };

const COMMIT_LARGE: Fact =
    Fact { what: "write units: a commit of 10 KiB", aws: "11", except: &[], note: "" };

const COMMIT_LOST: Fact = Fact {
    what: "write units that a put whose condition failed reports",
    aws: "0",
    except: &[],
    note: "",
};

const CARD_NEW: Fact =
    Fact { what: "write units: a new card, with its alarm", aws: "2", except: &[], note: "" };

const CARD_LOWER: Fact =
    Fact { what: "write units: an alarm moved earlier", aws: "3", except: &[], note: "" };

const CARD_COUNT: Fact =
    Fact { what: "write units: an alarm counted and not moved", aws: "1", except: &[], note: "" };

const CARD_LATER: Fact =
    Fact { what: "write units: an alarm moved later", aws: "3", except: &[], note: "" };

const CARD_SHOWN: Fact =
    Fact { what: "write units: a card shown in a list", aws: "2", except: &[], note: "" };

const CARD_CLOSED: Fact = Fact {
    what: "write units: a close: from list to list, and the alarm away",
    aws: "4",
    except: &[],
    note: "",
};

const CHECKPOINT: Fact =
    Fact { what: "write units: a checkpoint", aws: "1", except: &[], note: "" };

const CHUNK_WRITE: Fact = Fact {
    what: "write units: the largest chunk of a plan (350 KiB)",
    aws: "351",
    except: &[],
    note: "",
};

const READ_NOTHING: Fact = Fact {
    what: "read units: a load of a log that is not there (a get and a query)",
    aws: "2",
    except: &[
        Except { engine: Engine::DynamoDbLocal, value: "1" },
        Except { engine: Engine::LocalStack, value: "1" },
    ],
    note: "AWS documents the least unit for a get that finds nothing and is silent about such a query; the same is assumed, as the embedded engine does",
};

const READ_CARD: Fact = Fact { what: "read units: a card", aws: "1", except: &[], note: "" };

const READ_LOG: Fact = Fact {
    what: "read units: a refresh over 10 KiB of commits",
    aws: "3",
    except: &[Except { engine: Engine::MiniStack, value: "1" }],
    note: "ministack reports one unit for any read: don't measure reads on it",
};

const READ_DELTA: Fact = Fact {
    what: "read units: a refresh that finds nothing",
    aws: "1",
    except: &[
        Except { engine: Engine::DynamoDbLocal, value: "0" },
        Except { engine: Engine::LocalStack, value: "0" },
    ],
    note: "AWS documents the least unit for a get that finds nothing and is silent about such a query; the same is assumed, as the embedded engine does",
};

const READ_CHUNK: Fact = Fact {
    what: "read units: the largest chunk of a plan",
    aws: "88",
    except: &[Except { engine: Engine::MiniStack, value: "1" }],
    note: "ministack reports one unit for any read: don't measure reads on it",
};

const READ_ALARMS: Fact =
    Fact { what: "read units: a page of three due cards", aws: "0.5", except: &[], note: "" };

/// Units of a purpose that `journal` has consumed since the last look.
struct Since<'a> {
    journal: &'a Journal,
    purpose: Purpose,
    before: f64,
}

impl<'a> Since<'a> {
    fn on(journal: &'a Journal, purpose: Purpose) -> Self {
        Self { journal, purpose, before: journal.meter().of(purpose).units }
    }

    fn look(&mut self) -> f64 {
        let now = self.journal.meter().of(self.purpose).units;
        now - std::mem::replace(&mut self.before, now)
    }
}

async fn commits_cost_a_write_unit_a_started_kibibyte(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    grow(&journal, &key, &mut loaded, b"").await;
    let before = loaded.clone();
    let mut units = Since::on(&journal, Purpose::Commit);
    grow(&journal, &key, &mut loaded, &[1; 100]).await;
    bench.seen.fact(&COMMIT_SMALL, units.look());
    grow(&journal, &key, &mut loaded, &[1; 10 * 1024]).await;
    bench.seen.fact(&COMMIT_LARGE, units.look());
    journal.put(&key, &before, 2, &next(&before, b"late")).await.expect("an answer");
    bench.seen.fact(&COMMIT_LOST, units.look());
    assert_eq!(journal.meter().of(Purpose::Commit).refused, 1, "counted apart");
}

async fn cards_cost_themselves_and_their_entries_in_the_indexes(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut units = Since::on(&journal, Purpose::CardWrite);
    journal.open_card(&key, Tick(50)).await.expect("an answer");
    bench.seen.fact(&CARD_NEW, units.look());
    journal.lower_alarm(&key, Tick(40)).await.expect("an answer");
    bench.seen.fact(&CARD_LOWER, units.look());
    journal.lower_alarm(&key, Tick(45)).await.expect("an answer");
    bench.seen.fact(&CARD_COUNT, units.look());
    assert_eq!(journal.move_alarm(&key, Some(Tick(60)), 2).await, Ok(true));
    bench.seen.fact(&CARD_LATER, units.look());
    assert_eq!(journal.show(&key, &look("running", 1), None).await, Ok(true));
    bench.seen.fact(&CARD_SHOWN, units.look());
    assert_eq!(journal.show(&key, &look("completed", 2), Some(2)).await, Ok(true));
    bench.seen.fact(&CARD_CLOSED, units.look());
}

async fn checkpoints_and_chunks_cost_their_size(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    for _ in 0..40 {
        grow(&journal, &key, &mut loaded, &[0; 100]).await;
    }
    let mut units = Since::on(&journal, Purpose::Checkpoint);
    journal.checkpoint_if_due(&key, &mut loaded).await;
    assert_eq!(loaded.checkpoint, 40);
    bench.seen.fact(&CHECKPOINT, units.look());

    let plan = super::chunks::plan(1_000);
    let first = plan.to_bytes().len().min(everlog::limits::CHUNK_BYTES_MAX);
    assert_eq!(first, everlog::limits::CHUNK_BYTES_MAX, "a whole chunk, and a rest");
    let rest = plan.to_bytes().len() - first;
    let rest_units = (rest + 100).div_ceil(1_024) as f64;
    let mut units = Since::on(&journal, Purpose::ChunkWrite);
    let put = journal.put_plan(&key.partition(), super::chunks::SEED, &plan).await;
    let everlog::plan::PlanRef::Stored(stored) = put.expect("an answer") else { panic!("small") };
    assert_eq!(stored.chunks, 2);
    bench.seen.fact(&CHUNK_WRITE, units.look() - rest_units);
    let reader = bench.journal();
    let mut units = Since::on(&reader, Purpose::ChunkRead);
    let first = everlog::plan::StoredPlan { chunks: 1, ..stored };
    let read = reader.stored_plan(&key.partition(), &first).await;
    assert!(read.is_err(), "half a plan is damage; it was read all the same");
    bench.seen.fact(&READ_CHUNK, units.look());
}

async fn reads_cost_a_unit_a_started_4_kibibytes(bench: Bench) {
    let (journal, log) = (bench.journal(), key("w"));
    let mut units = Since::on(&journal, Purpose::Load);
    let mut loaded = journal.load(&log).await.expect("an answer");
    bench.seen.fact(&READ_NOTHING, units.look());
    let early = loaded.clone();
    for _ in 0..5 {
        grow(&journal, &log, &mut loaded, &[1; 2 * 1024]).await;
    }
    let mut late = early.clone();
    assert_eq!(journal.refresh(&log, &mut late).await, Ok(true));
    bench.seen.fact(&READ_LOG, units.look());
    assert_eq!(journal.refresh(&log, &mut late).await, Ok(false));
    bench.seen.fact(&READ_DELTA, units.look());

    journal.open_card(&log, Tick(50)).await.expect("an answer");
    let mut units = Since::on(&journal, Purpose::CardRead);
    journal.card(&log.partition()).await.expect("an answer");
    bench.seen.fact(&READ_CARD, units.look());

    let near = (0..).map(|n| key(&format!("w-{n}")));
    for near in near.filter(|k| keys::alarm_shard(&k.partition()) == 3).take(3) {
        journal.open_card(&near, Tick(50)).await.expect("an answer");
    }
    let mut units = Since::on(&journal, Purpose::List);
    journal.due_cards(3, Tick(50), None).await.expect("an answer");
    bench.seen.fact(&READ_ALARMS, units.look());
}
