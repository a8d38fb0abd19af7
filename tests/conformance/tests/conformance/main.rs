//! The real code beside the model: the same small schedules, run on both.
//!
//! A *process* is one fresh [`everlog::fleet::Fleet`] doing one thing: a
//! command's function or a sweep's look. Between its DynamoDB client and the
//! store stands a [`gate`] that holds every read and write until the schedule
//! releases it, with the outcomes that the model has: answered, answer lost,
//! late (delivered after its sender gave up or died), the process dies.
//!
//! - [`lockstep`] takes actions from the model (`Protocol::offered`, `step`),
//!   does each on both sides and compares after every write: did it land on
//!   both or on neither; card (incarnation, `alarm_at`, `alarm_rev`, status,
//!   `as_of`), each log's length, `state.alarm`, earliest due and status are
//!   the model's, to the minute; and the alarm invariant holds on the table.
//! - [`explore`] knows no model: it runs all interleavings of the writes of a
//!   few processes and judges what the table holds. Its negative tests break
//!   one rule each, in the request, and must find a violation.
//!
//! What passes straight through the gate, or differs from the model, rightly:
//!
//! | the real code | the model |
//! |---|---|
//! | checkpoints, plan chunks, wakes and dispatches in SQS | not compared |
//! | a look does nothing but repair the status before the alarm has rung | a look always commits; here it is offered only when the alarm has rung |
//! | a start's first read is its conditional put of the card | reads the card |
//! | a start that lost its put reads log and card at once, or is given back and comes again | reads the card, then the log |
//! | a close reads `alarm_rev` after its load, before its put | before its load |
//! | a close takes status and alarm to the card in one write, then the status alone | two writes |
//! | a sweep moves the alarm, then repairs the status | the other way round |
//! | an abandoned card keeps the status *starting*, which no list shows | shows *abandoned* |
//! | a repeat shows the status only if its own commit set it | always shows it |
//! | a resume of what is not paused repairs the status | writes nothing |
//!
//! Not here, because the code has no such thing yet: delete, reopen, messages
//! that outlive a close. Dispatches are judged by `tests/faults`.
//!
//! It fails by printing the seed or the choices, and the schedule. Go on with
//! [`casts`] for what a schedule is made of.

mod casts;
mod compare;
mod drain;
mod explore;
mod gate;
mod interleavings;
mod judge;
mod late;
mod lockstep;
mod mutations;
mod negatives;
mod plays;
mod request;
mod rig;
mod schedules;
mod step;
mod walks;
