//! The rules of the protocol, each of which can be left out.
//!
//! What it is: one boolean a rule. [`Rules::ALL`] is Everlog; a test leaves out one and expects a counterexample.
//! It promises that a rule that is left out changes nothing else.
//! It deliberately contains no rule that the model cannot break.
//! It cannot fail.
//! Where next: [`crate::store`] and [`crate::process`] ask these questions.

/// Which rules are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A put is conditional on the absence of its number.
    pub put_if_absent: bool,
    /// A put without an answer is neither success nor failure: the same commit is put again.
    pub unknown_is_put_again: bool,
    /// Each decision has a writer of its own.
    pub fresh_writer: bool,
    /// A command that is in the log is not applied again.
    pub recognise_repeats: bool,
    /// A command that names no incarnation is looked for in the ended incarnations too.
    pub look_back_over_incarnations: bool,
    /// A commit that needs an earlier alarm moves the card before it is put, not after.
    pub card_first: bool,
    /// A card that is early enough still gets `alarm_rev` + 1.
    pub bump: bool,
    /// That bump is conditional: `alarm_at` still is early enough.
    pub bump_checks_alarm: bool,
    /// After a lost put the card step is taken again with the new decision.
    pub card_step_after_lost_put: bool,
    /// `alarm_at` is moved later only if `alarm_rev` is the one read.
    pub raise_checks_rev: bool,
    /// That `alarm_rev` was read before the put was first sent.
    pub rev_read_before_put: bool,
    /// A sweep commits a note even if nothing was due.
    pub sweep_always_commits: bool,
    /// A sweep that finds a card without a log commits number 1 itself.
    pub repair_commits: bool,
    /// Card writes are conditional on the incarnation.
    pub card_fenced: bool,
    /// `alarm_rev` goes on growing when a start takes a card over.
    pub rev_survives_start: bool,
    /// A status lands only over a lower `as_of`.
    pub as_of_compared: bool,
    /// A close, pause or resume that comes again shows the status but leaves `alarm_at` alone.
    pub redo_leaves_alarm: bool,
    /// A sweep shows the status if the card is behind the log.
    pub sweep_shows_status: bool,
    /// A command message is done only after its dispatches are sent.
    pub relay_before_done: bool,
    /// A repeated command relays what is untaken of its commit.
    pub relay_repeats: bool,
    /// The alarm look sends a silent dispatch or message again.
    pub look_resends: bool,
}

impl Rules {
    /// Everlog as designed.
    pub const ALL: Rules = Rules {
        put_if_absent: true,
        unknown_is_put_again: true,
        fresh_writer: true,
        recognise_repeats: true,
        look_back_over_incarnations: true,
        card_first: true,
        bump: true,
        bump_checks_alarm: true,
        card_step_after_lost_put: true,
        raise_checks_rev: true,
        rev_read_before_put: true,
        sweep_always_commits: true,
        repair_commits: true,
        card_fenced: true,
        rev_survives_start: true,
        as_of_compared: true,
        redo_leaves_alarm: true,
        sweep_shows_status: true,
        relay_before_done: true,
        relay_repeats: true,
        look_resends: true,
    };
}
