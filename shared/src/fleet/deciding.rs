//! One command, decided: with what it needs read from the log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::Instrument;

use super::serve::{Incoming, Told, Work, panic_text, unanswerable};
use super::{Fleet, GiveBack};
use crate::answer::{InvalidInput, Rejection};
use crate::command::{Command, Verb};
use crate::decide::{Decided, Draft, Found, Needs, Refused, decide};
use crate::id::CommandHash;
use crate::limits;
use crate::query::likely_commits;
use crate::state::State;

impl Fleet {
    /// Decides a command, and refuses it if what it adds does not fit one item
    /// and can't be cut.
    pub(super) async fn decide_within(
        &self,
        work: &Work<'_>,
        draft: &mut Draft,
        incoming: &Incoming,
    ) -> Result<Option<Told>, GiveBack> {
        let before = draft.clone();
        let span = tracing::debug_span!(parent: &incoming.span, "decide");
        let told = match self.decide_one(work, draft, incoming).instrument(span).await {
            Ok(told) => told,
            Err(why) => {
                // What a panic or a damaged decision left half done is not kept.
                *draft = before;
                return Err(why);
            }
        };
        if draft.bytes() <= limits::COMMIT_EVENT_BYTES_MAX {
            return Ok(told);
        }
        let limit = format!("at most {} encoded bytes", limits::COMMIT_EVENT_BYTES_MAX);
        let invalid = InvalidInput::new("command", limit, draft.bytes());
        *draft = before;
        Ok(Some(Err(Box::new(invalid.into()))))
    }

    /// `None`: what it needs to know is in the making; decide it after this commit.
    async fn decide_one(
        &self,
        work: &Work<'_>,
        draft: &mut Draft,
        incoming: &Incoming,
    ) -> Result<Option<Told>, GiveBack> {
        let command = &incoming.command;
        if let Some(after_seq) = command.after_seq.filter(|seq| draft.state().head < *seq) {
            let head = draft.state().head;
            if self.clock.now().since(incoming.waiting_since) <= limits::AFTER_SEQ_WAIT_MS {
                return Err(GiveBack::Waits(after_seq));
            }
            return Ok(Some(Err(Box::new(Rejection::NotReached { after_seq, head }))));
        }
        let mut context = self.context(&work.key);
        context.sent = incoming.sent;
        if matches!(command.command, Verb::Start(_)) {
            context.plan.clone_from(&work.plan);
        }
        loop {
            let tried = catch_unwind(AssertUnwindSafe(|| decide(draft, &context, command)));
            match tried.map_err(|panic| GiveBack::Panicked(panic_text(&*panic)))? {
                Ok(decided) => return Ok(Some(Ok(decided))),
                Err(Refused::Rejected(rejection)) => return Ok(Some(Err(rejection))),
                Err(Refused::Needs(needs)) if in_the_making(&work.loaded.state, needs) => {
                    return Ok(None);
                }
                Err(Refused::Needs(needs)) => {
                    if let Some(told) = self.find(work, command, needs, &mut context.found).await? {
                        return Ok(Some(told));
                    }
                }
                Err(damaged @ Refused::Damaged(_)) => return Err(unanswerable(damaged)),
            }
        }
    }

    /// Reads what a decision needs; a conflict of sequences is answered here.
    async fn find(
        &self,
        work: &Work<'_>,
        command: &Command,
        needs: Needs,
        found: &mut Found,
    ) -> Result<Option<Told>, GiveBack> {
        let last = work.loaded.state.commit;
        match needs {
            Needs::Commit(number) => {
                found.commit =
                    Some((number, Arc::new(self.journal.commit(&work.key, number).await?)));
                Ok(None)
            }
            Needs::Search => {
                let hash = CommandHash::from(&command.id);
                let not_before = work.sent_of(command).unwrap_or_default().minus_ms(120_000);
                found.repeat =
                    Some(self.journal.find_command(&work.key, hash, last, not_before).await?);
                Ok(None)
            }
            Needs::Sequence(seq) => self.sequence_conflict(work, command, seq).await.map(Some),
        }
    }

    /// Whether the commit that holds `seq` answers this command already; else
    /// the conflict, with the events that the caller does not know.
    async fn sequence_conflict(
        &self,
        work: &Work<'_>,
        command: &Command,
        seq: u64,
    ) -> Result<Told, GiveBack> {
        let state = &work.loaded.state;
        let number = self.journal.number_of(&work.key, seq, (state.commit, state.head)).await?;
        let most = likely_commits(state, limits::CONFLICT_EVENTS_MAX);
        let mut bytes = 0;
        let commits = self.journal.some_commits(&work.key, number, most).await?;
        let hash = CommandHash::from(&command.id);
        if commits.first().is_some_and(|(_, commit)| commit.answers.contains(&hash)) {
            return Ok(Ok(Decided { repeat_of: Some(number), ..Decided::default() }));
        }
        let events = crate::query::events_of(&commits, state.plan().map(AsRef::as_ref))
            .into_iter()
            .filter(|event| event.seq >= seq)
            .take(limits::CONFLICT_EVENTS_MAX)
            .take_while(|event| {
                bytes += serde_json::to_vec(event).map_or(usize::MAX, |text| text.len());
                bytes <= limits::CONFLICT_BYTES_MAX
            })
            .collect();
        let (expected, found) = (seq - 1, state.head);
        Ok(Err(Box::new(Rejection::SequenceConflict { expected, found, events })))
    }
}

/// Whether a decision asks for what only the draft holds so far.
fn in_the_making(state: &State, needs: Needs) -> bool {
    match needs {
        Needs::Commit(number) => number > state.commit,
        Needs::Sequence(seq) => seq > state.head,
        Needs::Search => false,
    }
}
