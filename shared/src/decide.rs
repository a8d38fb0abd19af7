//! Decisions: from a state and a command to the facts that a commit will hold.
//!
//! [`decide`] does no I/O, reads no clock and draws no random number; what it
//! needs from outside stands in [`Context`]. It works on a [`Draft`], the state
//! as it will be, so that the commands of one batch are decided one after
//! another and become one commit. It either emits all facts of a command or
//! refuses it and emits none.
//!
//! Where the state alone can't tell (an output to compare, a command that may
//! be older than the memory), it refuses with [`Refused::Needs`]: the caller
//! reads that from the log and asks again.
//!
//! One file a family of commands; `advance` is what follows from all of them.

mod advance;
mod append;
mod attempt;
mod control;
mod draft;
mod keep;
mod look;
mod runs;
mod start;

use std::sync::Arc;

pub use draft::{Draft, Sealed};
pub use look::{Look, look};

use crate::answer::{Directive, Rejection};
use crate::command::{Command, Verb};
use crate::commit::Commit;
use crate::id::{CommandHash, DispatchKey, Incarnation};
use crate::plan::{Plan, PlanRef};
use crate::state::FoldError;
use crate::time::Timestamp;

/// What a decision knows beside the state.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// `<namespace>#<workflow>`.
    pub partition: String,
    /// The life that is decided on.
    pub incarnation: u64,
    /// The function's clock.
    pub now: Timestamp,
    /// When the command was sent, at the earliest; unknown counts as old.
    pub sent: Option<Timestamp>,
    /// The plan of a start.
    pub plan: Option<(PlanRef, Arc<Plan>)>,
    /// What an earlier refusal asked for.
    pub found: Found,
}

impl Context {
    /// The life that is decided on.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        Incarnation(self.incarnation)
    }
}

/// What was read from the log for a decision.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// A commit, with its number.
    pub commit: Option<(u64, Arc<Commit>)>,
    /// The commit that answered this command, if any did.
    pub repeat: Option<Option<u64>>,
}

/// What a decision needs from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The commit of this number.
    Commit(u64),
    /// Whether some commit answers this command already.
    Search,
    /// Whether the commit that holds this sequence number answers it already,
    /// else the events from there on.
    Sequence(u64),
}

/// Why nothing was emitted.
#[derive(Debug, Clone, PartialEq)]
pub enum Refused {
    /// The answer is no.
    Rejected(Box<Rejection>),
    /// The answer is not known yet.
    Needs(Needs),
    /// The decision contradicts the fold; a fault of ours or of the log.
    Damaged(FoldError),
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

impl From<FoldError> for Refused {
    fn from(error: FoldError) -> Self {
        Self::Damaged(error)
    }
}

/// What a command comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decided {
    /// Keys of prepared attempts.
    pub dispatch_keys: Vec<DispatchKey>,
    /// What the worker should do.
    pub directive: Option<Directive>,
    /// It was done before, by this commit, whose untaken dispatches go out again.
    pub repeat_of: Option<u64>,
}

impl Decided {
    fn repeat(commit: u64) -> Self {
        Self { repeat_of: Some(commit), ..Self::default() }
    }
}

/// Decides one command.
///
/// # Errors
/// [`Refused`]; the draft is as it was, except after [`Refused::Damaged`].
pub fn decide(draft: &mut Draft, context: &Context, command: &Command) -> Result<Decided, Refused> {
    let hash = CommandHash::from(&command.id);
    let before = draft.size();
    let decided = match &command.command {
        Verb::Start(start) => start::start(draft, context, hash, start),
        Verb::Append(append) => append::append(draft, context, append),
        Verb::Claim(claim) => append::claim(draft, &claim.owner),
        Verb::Prepare(prepare) => {
            let field = "command.prepare.intent";
            attempt::prepare(draft, context, prepare.owner.as_ref(), &prepare.intent, field)
        }
        Verb::Receipt(evidence) => attempt::receipt(draft, context, evidence),
        Verb::Heartbeat(evidence) => attempt::heartbeat(draft, context, evidence),
        Verb::Settle(settle) => attempt::settle(draft, context, settle),
        Verb::Signal(signal) => control::signal(draft, context, hash, signal),
        Verb::Pause(barrier) => control::pause(draft, context, hash, barrier),
        Verb::Resume(_) => control::resume(draft, context, hash),
        Verb::Cancel(barrier) => control::cancel(draft, context, barrier),
        Verb::Reopen(reopen) => runs::reopen(draft, context, hash, reopen),
        Verb::Delete(_) => keep::delete(draft),
        Verb::Hold(barrier) => keep::hold(draft, context, hash, barrier),
        Verb::Release(_) => keep::release(draft, context, hash),
    }?;
    if draft.size() != before {
        draft.answered(hash);
    }
    Ok(decided)
}
