//! The log: the guard, what a conflict hands back, and long logs.

use std::collections::BTreeSet;

use everlog::journal::{JournalError, Purpose, Put};
use futures::future::join_all;

use super::{Bench, grow, key, next};
use crate::case;
use crate::case::Case;
use crate::fact::Fact;

pub(super) const CASES: &[Case<Bench>] = &[
    case!(a_log_that_does_not_exist_loads_as_commit_0),
    case!(a_commit_lands_and_is_loaded),
    case!(a_taken_number_hands_back_its_winner),
    case!(the_same_commit_again_has_landed),
    case!(sixteen_committers_at_one_head_make_one_history),
    case!(a_log_of_more_than_a_mebibyte_loads_page_by_page, PAGES),
    case!(a_checkpoint_is_overwritten_by_a_newer_one_alone),
    case!(commits_are_found_by_number_by_sequence_and_backwards),
];

const PAGES: Fact =
    Fact { what: "answers to a query of five items of 300 kB", aws: "2", except: &[], note: "" };

async fn a_log_that_does_not_exist_loads_as_commit_0(bench: Bench) {
    let loaded = bench.journal().load(&key("none")).await.expect("an answer");
    assert_eq!((loaded.state.commit, loaded.state.head), (0, 0));
}

async fn a_commit_lands_and_is_loaded(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    grow(&journal, &key, &mut loaded, b"").await;
    grow(&journal, &key, &mut loaded, b"one").await;
    let again = bench.journal().load(&key).await.expect("an answer");
    assert_eq!(again.state, loaded.state);
    assert_eq!((again.state.commit, again.state.head), (2, 2));
}

async fn a_taken_number_hands_back_its_winner(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    grow(&journal, &key, &mut loaded, b"").await;
    let (first, second) = (next(&loaded, b"first"), next(&loaded, &[7; 100_000]));
    let (put, _) = journal.put(&key, &loaded, 2, &second).await.expect("an answer");
    assert!(matches!(put, Put::Landed));
    let (put, _) = journal.put(&key, &loaded, 2, &first).await.expect("an answer");
    let Put::Lost(winner) = put else { panic!("{put:?}") };
    assert_eq!(*winner, second, "all of the winner, large as it is");
    assert_eq!(journal.meter().of(Purpose::Search).requests, 0, "the refusal brought it");
}

async fn the_same_commit_again_has_landed(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let loaded = journal.load(&key).await.expect("an answer");
    let commit = next(&loaded, b"");
    for _ in 0..3 {
        let (put, _) = journal.put(&key, &loaded, 1, &commit).await.expect("an answer");
        assert!(matches!(put, Put::Landed), "{put:?}");
    }
    let all = journal.commits_from(&key, 1, |_, _| false).await.expect("a log");
    assert_eq!(all, [(1, commit)]);
}

/// Each committer wants five commits of its own; all begin at the same head.
async fn sixteen_committers_at_one_head_make_one_history(bench: Bench) {
    let key = key("w");
    let mut loaded = bench.journal().load(&key).await.expect("an answer");
    grow(&bench.journal(), &key, &mut loaded, b"").await;
    let committers = (0..16_u8).map(|who| {
        let (journal, key, mut loaded) = (bench.journal(), key.clone(), loaded.clone());
        tokio::spawn(async move {
            let mut landed = 0;
            while landed < 5 {
                let commit = next(&loaded, &[who, landed]);
                let number = loaded.state.commit + 1;
                let (put, bytes) = journal.put(&key, &loaded, number, &commit).await?;
                let standing = match put {
                    Put::Landed => {
                        landed += 1;
                        commit
                    }
                    Put::Lost(winner) => *winner,
                };
                journal.fold(&key, &mut loaded, number, &standing, bytes).await?;
            }
            Ok::<_, JournalError>(())
        })
    });
    for ended in join_all(committers).await {
        ended.expect("no panic").expect("a conflict is never a throttle, nor an error");
    }
    let all = bench.journal().commits_from(&key, 1, |_, _| false).await.expect("a log");
    let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=81).collect::<Vec<u64>>(), "each number once, without a gap");
    let writers: BTreeSet<_> = all.iter().map(|(_, commit)| commit.writer.0).collect();
    assert_eq!(writers.len(), 81, "each decision once");
}

async fn a_log_of_more_than_a_mebibyte_loads_page_by_page(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    for n in 0..5 {
        // The first is the start, a small one.
        if n == 0 {
            grow(&journal, &key, &mut loaded, b"").await;
        }
        let commit = large(&loaded);
        let number = loaded.state.commit + 1;
        let (put, bytes) = journal.put(&key, &loaded, number, &commit).await.expect("an answer");
        assert!(matches!(put, Put::Landed));
        journal.fold(&key, &mut loaded, number, &commit, bytes).await.expect("it folds");
    }
    let cold = bench.journal();
    let again = cold.load(&key).await.expect("an answer");
    assert_eq!(again.state, loaded.state);
    // One request asks for the checkpoint.
    bench.seen.fact(&PAGES, cold.meter().of(Purpose::Load).requests - 1);
}

/// A commit of two events, 300 kB in all.
fn large(loaded: &everlog::journal::Loaded) -> everlog::commit::Commit {
    let mut commit = next(loaded, &[1; 150_000]);
    commit.events.push(super::appended(&[2; 150_000]));
    commit
}

async fn a_checkpoint_is_overwritten_by_a_newer_one_alone(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    for _ in 0..20 {
        grow(&journal, &key, &mut loaded, &[0; 600]).await;
    }
    let mut slow = loaded.clone();
    for _ in 0..20 {
        grow(&journal, &key, &mut loaded, &[0; 600]).await;
    }
    journal.checkpoint_if_due(&key, &mut loaded).await;
    assert_eq!(loaded.checkpoint, 40, "it was due and is written");
    journal.checkpoint_if_due(&key, &mut slow).await;
    assert_eq!(slow.checkpoint, 0, "an older one is refused");
    let cold = bench.journal().load(&key).await.expect("an answer");
    assert_eq!((cold.checkpoint, cold.state.commit), (40, 40));
    for _ in 0..20 {
        grow(&journal, &key, &mut loaded, &[0; 600]).await;
    }
    journal.checkpoint_if_due(&key, &mut loaded).await;
    let cold = bench.journal().load(&key).await.expect("an answer");
    assert_eq!((cold.checkpoint, cold.state.commit), (60, 60));
}

async fn commits_are_found_by_number_by_sequence_and_backwards(bench: Bench) {
    let (journal, key) = (bench.journal(), key("w"));
    let mut loaded = journal.load(&key).await.expect("an answer");
    for n in 0..30_u8 {
        grow(&journal, &key, &mut loaded, &[n]).await;
    }
    let third = journal.commit(&key, 3).await.expect("it is there");
    assert_eq!(third.first_seq, 3);
    assert_eq!(journal.number_of(&key, 17, (30, 30)).await, Ok(17));
    let tail = journal.commits_from(&key, 28, |_, _| false).await.expect("a log");
    assert_eq!(tail.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [28, 29, 30]);
    let nothing = everlog::id::CommandHash([9; 16]);
    let old = everlog::time::Timestamp(0);
    assert_eq!(journal.find_command(&key, nothing, 30, old).await, Ok(None));
}
