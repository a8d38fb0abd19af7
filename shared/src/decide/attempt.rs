//! Prepare, receipt, heartbeat and settle.

use super::append::{require_driven, require_open, require_owner};
use super::{Context, Decided, Draft, Needs, Refused, advance};
use crate::answer::{Directive, InvalidInput, Rejection};
use crate::command::{self, AttemptId, Evidence, Intent, Settle};
use crate::event::{DrivenWork, Event, Note, Outcome, Owner, Target};
use crate::state::nodes::Ended;
use crate::state::{Phase, Settled, Stage, State};

pub(super) fn prepare(
    draft: &mut Draft,
    context: &Context,
    owner: Option<&Owner>,
    intent: &Intent,
    field: &str,
) -> Result<Decided, Refused> {
    let state = draft.state();
    if state.run.is_none() {
        require_open(state)?;
    }
    require_owner(state, owner)?;
    let target = Target::Driven(intent.node.clone(), intent.activation);
    let n = intent.attempt;
    let work = DrivenWork {
        queue: intent.queue.clone(),
        kind: intent.kind.clone(),
        input: intent.input.clone(),
        timeouts: intent.timeouts.clone(),
        mutating: intent.mutating,
    };
    let key = state.dispatch_key(&context.partition, context.incarnation(), &target, n);
    let decided = Decided { dispatch_keys: vec![key], ..Decided::default() };
    if let Some(repeat) = prepared_before(state, &target, n, &work)? {
        return Ok(Decided { repeat_of: Some(repeat), ..decided });
    }
    require_driven(state)?;
    match (state.paused, state.cancel) {
        (_, Some(_)) => return Err(Rejection::Cancelled.into()),
        (Some(_), None) => return Err(Rejection::Paused.into()),
        (None, None) => {}
    }
    next_of(state, &target, n, field)?;
    within_caps(state, context)?;
    let not_before = intent.not_before.filter(|at| *at > draft.time());
    draft.emit(Event::Prepared(target, n, not_before, Some(Box::new(work))))?;
    Ok(decided)
}

/// The commit that prepared this attempt, if one did with the same content.
fn prepared_before(
    state: &State,
    target: &Target,
    n: u32,
    work: &DrivenWork,
) -> Result<Option<u64>, Rejection> {
    let live = state.attempts.get(target).filter(|a| a.n == n);
    if let Some(attempt) = live {
        let content = attempt.driven.as_ref().map(|d| d.content);
        if content == Some(crate::state::content_hash(work)) {
            return Ok(Some(attempt.born));
        }
        return Err(Rejection::Conflict {
            what: "the attempt was prepared with other content".into(),
        });
    }
    match settled(state, target, n).map(|settled| settled.kind) {
        // Its key is used up: whoever prepared it again would wait for ever.
        Some(Ended::Withdrawn) if state.open() => Err(Rejection::Conflict {
            what: format!("attempt {n} was withdrawn when its run ended; prepare the next one"),
        }),
        Some(Ended::Withdrawn) | None => Ok(None),
        Some(_) => Ok(Some(0)),
    }
}

/// Attempt n + 1 exists only if attempt n failed.
fn next_of(state: &State, target: &Target, n: u32, field: &str) -> Result<(), Rejection> {
    let settled = state.settled.get(target).map_or(&[][..], Vec::as_slice);
    let live = state.attempts.get(target).map(|attempt| attempt.n);
    let latest = live.unwrap_or(u32::try_from(settled.len()).unwrap_or(u32::MAX));
    if latest == 0 && n != 1 {
        let field = format!("{field}.attempt");
        return Err(InvalidInput::new(field, "the first attempt, 1", n).into());
    }
    if n != latest.saturating_add(1) {
        let what = format!("attempt {n} does not follow attempt {latest}");
        return Err(Rejection::Conflict { what });
    }
    if live.is_some() {
        let state = format!("waiting for attempt {latest} to settle");
        return Err(Rejection::WrongState { state });
    }
    match settled.last().map(|s| s.kind) {
        None | Some(Ended::Failed | Ended::TimedOut | Ended::Lost | Ended::Withdrawn) => Ok(()),
        Some(Ended::Succeeded) => Err(Rejection::WrongState { state: "succeeded before".into() }),
        Some(Ended::Cancelled) => Err(Rejection::WrongState { state: "cancelled before".into() }),
    }
}

fn within_caps(state: &State, context: &Context) -> Result<(), Rejection> {
    let Some(run) = &state.run else { return Ok(()) };
    if let Some(deadline) = run.deadline.filter(|d| *d <= context.now) {
        return Err(Rejection::Expired { deadline });
    }
    if state.consumed >= run.attempts_max {
        let what = "the number of attempts that the run may have".into();
        return Err(Rejection::Exhausted { what, limit: run.attempts_max });
    }
    match run.concurrency {
        Some(cap) if state.attempts.len() >= cap as usize => {
            let what = "the number of attempts that may be live".into();
            Err(Rejection::Busy { what, limit: u64::from(cap) })
        }
        _ => Ok(()),
    }
}

/// What an attempt id speaks of.
enum Spoken {
    Live(Target),
    Settled(Target, Settled),
}

fn spoken(state: &State, context: &Context, id: &AttemptId) -> Result<Spoken, Rejection> {
    let unknown = |what: &str| Rejection::NotFound { what: what.into(), id: id.node.to_string() };
    if state.run.is_none() {
        return Err(unknown("workflow with a task"));
    }
    let target = match state.plan() {
        Some(plan) => match plan.position(&id.node) {
            Some(at) if id.activation == 1 => Target::Planned(at),
            _ => return Err(unknown("task")),
        },
        None => Target::Driven(id.node.clone(), id.activation),
    };
    let key = state.dispatch_key(&context.partition, context.incarnation(), &target, id.attempt);
    if key != id.dispatch_key {
        return Err(Rejection::Conflict { what: "the dispatch key is not of this attempt".into() });
    }
    if state.attempts.get(&target).is_some_and(|a| a.n == id.attempt) {
        return Ok(Spoken::Live(target));
    }
    match settled(state, &target, id.attempt) {
        Some(Settled { kind: Ended::Withdrawn, .. }) => {
            let ended = state.ending().map_or("withdrawn, its run had ended", |_| state.status());
            Err(Rejection::WrongState { state: ended.into() })
        }
        Some(settled) => Ok(Spoken::Settled(target, settled)),
        None if state.ending().is_some() => {
            Err(Rejection::WrongState { state: state.status().into() })
        }
        None => Err(unknown("attempt of task")),
    }
}

/// How attempt `n` ended, if it did.
fn settled(state: &State, target: &Target, n: u32) -> Option<Settled> {
    let at = (n as usize).checked_sub(1)?;
    let node = match target {
        Target::Driven(..) => return state.settled.get(target)?.get(at).copied(),
        Target::Planned(node) => *node,
    };
    if let Some(settled) = state.nodes.retried(node).get(at) {
        return Some(*settled);
    }
    let kind = match state.nodes.phase(node) {
        Phase::Succeeded => Ended::Succeeded,
        Phase::Failed => Ended::Failed,
        Phase::Cancelled => Ended::Cancelled,
        Phase::Waiting | Phase::Active | Phase::Skipped | Phase::Blocked => return None,
    };
    (n == 1).then(|| Settled { kind, commit: state.nodes.commit(node) })
}

fn directive(state: &State) -> Directive {
    if state.cancel.is_some() { Directive::Cancel } else { Directive::Proceed }
}

pub(super) fn receipt(
    draft: &mut Draft,
    context: &Context,
    evidence: &Evidence,
) -> Result<Decided, Refused> {
    let state = draft.state();
    let Spoken::Live(target) = spoken(state, context, &evidence.attempt)? else {
        return Err(Rejection::Conflict { what: "the attempt is settled".into() }.into());
    };
    let decided = Decided { directive: Some(directive(state)), ..Decided::default() };
    match &state.attempts[&target].stage {
        Stage::Taken { worker, commit, .. } if *worker == evidence.worker => {
            Ok(Decided { repeat_of: Some(*commit), ..decided })
        }
        Stage::Taken { worker, .. } => {
            Err(Rejection::Conflict { what: format!("worker {worker} has the attempt") }.into())
        }
        Stage::Sent { .. } | Stage::Staged { .. } => {
            let n = evidence.attempt.attempt;
            draft.emit(Event::Receipt(target, n, evidence.worker.clone()))?;
            Ok(decided)
        }
    }
}

pub(super) fn heartbeat(
    draft: &mut Draft,
    context: &Context,
    evidence: &Evidence,
) -> Result<Decided, Refused> {
    let state = draft.state();
    let target = match spoken(state, context, &evidence.attempt) {
        Ok(Spoken::Live(target)) => target,
        // Settled, or dropped when the run ended: either way it is gone.
        Ok(Spoken::Settled(..)) | Err(Rejection::WrongState { .. }) => {
            return Ok(Decided { directive: Some(Directive::Stop), ..Decided::repeat(0) });
        }
        Err(other) => return Err(other.into()),
    };
    let watched = state.timeouts(&target).heartbeat_ms.is_some();
    match &state.attempts[&target].stage {
        Stage::Taken { worker, commit, .. } if *worker == evidence.worker => {
            let directive = Some(directive(state));
            if !watched {
                return Ok(Decided { directive, ..Decided::repeat(*commit) });
            }
            draft.note(Note::Heartbeat(target, evidence.attempt.attempt))?;
            Ok(Decided { directive, ..Decided::default() })
        }
        Stage::Taken { .. } => {
            Ok(Decided { directive: Some(Directive::Stop), ..Decided::repeat(0) })
        }
        Stage::Sent { .. } | Stage::Staged { .. } => receipt(draft, context, evidence),
    }
}

pub(super) fn settle(
    draft: &mut Draft,
    context: &Context,
    settle: &Settle,
) -> Result<Decided, Refused> {
    let state = draft.state();
    let outcome = outcome(&settle.outcome);
    match spoken(state, context, &settle.attempt)? {
        Spoken::Settled(target, settled) => repeated(context, settle, &target, settled, &outcome),
        Spoken::Live(target) => {
            if let (Some(worker), Stage::Taken { worker: has, .. }) =
                (&settle.worker, &state.attempts[&target].stage)
                && worker != has
                && outcome != Outcome::Lost
            {
                let what = format!("worker {has} has the attempt");
                return Err(Rejection::Conflict { what }.into());
            }
            end_attempt(draft, context, &target, outcome)?;
            advance::advance(draft)?;
            Ok(Decided::default())
        }
    }
}

/// Ends a live attempt, and reserves the next one if the policy allows it.
pub(super) fn end_attempt(
    draft: &mut Draft,
    context: &Context,
    target: &Target,
    outcome: Outcome,
) -> Result<(), Refused> {
    let n = draft.state().attempts[target].n;
    let retry_at = retry_at(draft, context, target, n, &outcome);
    let at_once = retry_at.is_some_and(|at| at <= draft.time()) && draft.state().paused.is_none();
    draft.emit(Event::Settled(target.clone(), n, outcome, retry_at))?;
    if at_once {
        draft.note(Note::HandedOver(draft.time()))?;
    }
    Ok(())
}

fn retry_at(
    draft: &Draft,
    context: &Context,
    target: &Target,
    n: u32,
    outcome: &Outcome,
) -> Option<crate::time::Timestamp> {
    let state = draft.state();
    let Target::Planned(node) = target else { return None };
    let task = state.plan()?.task(*node)?;
    let run = state.run.as_ref()?;
    if state.cancel.is_some() || state.consumed >= run.attempts_max {
        return None;
    }
    let failure = match outcome {
        Outcome::Succeeded(_) | Outcome::Cancelled => return None,
        Outcome::Lost => return Some(draft.time()),
        Outcome::Failed(failure) => Some(failure),
        Outcome::TimedOut(_) => None,
    };
    let lost = state.nodes.retried(*node).iter().filter(|s| s.kind == Ended::Lost).count();
    let counted = n - u32::try_from(lost).unwrap_or(n);
    if !task.retry.allows(counted, failure) {
        return None;
    }
    let key = state.dispatch_key(&context.partition, context.incarnation(), target, n + 1);
    Some(draft.time().plus_ms(task.retry.delay_ms(counted, key)))
}

fn outcome(ended: &command::Ended) -> Outcome {
    match ended {
        command::Ended::Succeeded { output } => Outcome::Succeeded(output.clone()),
        command::Ended::Failed(failure) => Outcome::Failed(failure.clone()),
        command::Ended::Cancelled {} => Outcome::Cancelled,
        command::Ended::Lost {} => Outcome::Lost,
    }
}

/// The same outcome again is no news; another one contradicts. What was said
/// then stands in the commit.
fn repeated(
    context: &Context,
    settle: &Settle,
    target: &Target,
    settled: Settled,
    outcome: &Outcome,
) -> Result<Decided, Refused> {
    if settled.commit == 0 {
        return Err(Rejection::Conflict { what: "the attempt ended otherwise".into() }.into());
    }
    let Some((_, commit)) = context.found.commit.as_ref().filter(|(n, _)| *n == settled.commit)
    else {
        return Err(Refused::Needs(Needs::Commit(settled.commit)));
    };
    let n = settle.attempt.attempt;
    let said = commit.events.iter().find_map(|event| match event {
        Event::Settled(t, m, said, _) if t == target && *m == n => Some(said),
        _ => None,
    });
    if said == Some(outcome) {
        return Ok(Decided::repeat(settled.commit));
    }
    Err(Rejection::Conflict { what: "the attempt ended otherwise".into() }.into())
}
