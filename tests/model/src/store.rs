//! The store: logs and a card, and the one place that carries writes out.
//!
//! What it is: DynamoDB as far as the protocol needs it: single-item conditional writes.
//! It promises that the condition is evaluated when the write lands, not when it is sent.
//! It deliberately has no transaction, no index and no removal of items: absence after a purge is outside the model.
//! It fails by [`Reply::Refused`]; what must never happen is kept as a [`Breach`], so that a property can name it.
//! Where next: [`crate::process`] for who sends which write when.

use crate::rules::Rules;
use crate::vocabulary::{Card, Commit, Incarnation, Number, Reply, Status, Tick, Write};

/// Something a single write did that no write may do. The first one is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Breach {
    /// A commit landed above a hole.
    Gap,
    /// A commit landed on another.
    Replaced,
    /// A process of one incarnation wrote the card of another.
    ForeignCard,
    /// `alarm_rev` went back.
    RevWentBack,
    /// A status landed over a later one.
    StatusWentBack,
    /// A command was answered with success but is not in the log.
    AnsweredWithoutCommit,
}

/// The items of one workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Store {
    /// The log of incarnation `k` at `k - 1`.
    pub logs: Vec<Vec<Commit>>,
    /// The index card.
    pub card: Option<Card>,
    /// What went wrong first.
    pub breach: Option<Breach>,
}

impl Store {
    /// The commits of an incarnation; empty if it has none.
    pub fn log(&self, incarnation: Incarnation) -> &[Commit] {
        self.logs.get(usize::from(incarnation) - 1).map_or(&[], Vec::as_slice)
    }

    /// Evaluates the condition of `write` and carries it out.
    pub fn land(&mut self, rules: &Rules, write: &Write) -> Reply {
        match *write {
            Write::Create { over, alarm } => self.create(rules, over, alarm),
            Write::Put { incarnation, number, commit } => {
                self.put(rules, incarnation, number, commit)
            }
            Write::Lower { incarnation, to } => self.change_card(rules, incarnation, |card| {
                let holds = card.alarm_at > to;
                if holds {
                    card.alarm_at = to;
                    card.alarm_rev += 1;
                }
                holds
            }),
            Write::Bump { incarnation, to } => self.change_card(rules, incarnation, |card| {
                let holds = card.alarm_at <= to || !rules.bump_checks_alarm;
                card.alarm_rev += u8::from(holds);
                holds
            }),
            Write::Raise { incarnation, rev, to } => self.change_card(rules, incarnation, |card| {
                let holds = card.alarm_rev == rev || !rules.raise_checks_rev;
                if holds {
                    card.alarm_at = to;
                }
                holds
            }),
            Write::Show { incarnation, status, as_of } => {
                self.show(rules, incarnation, status, as_of)
            }
        }
    }

    /// Whether `write` can never land any more, whatever else lands first.
    ///
    /// Forgetting such a write loses no schedule: numbers stay occupied, and `incarnation`, `alarm_rev` and `as_of` only grow.
    pub fn is_spent(&self, rules: &Rules, write: &Write) -> bool {
        let Some(card) = self.card else { return false };
        let fenced = |incarnation| rules.card_fenced && incarnation < card.incarnation;
        match *write {
            Write::Create { over, .. } => over.unwrap_or(0) < card.incarnation,
            Write::Put { incarnation, number, .. } => {
                rules.put_if_absent && self.log(incarnation).len() >= usize::from(number)
            }
            Write::Lower { incarnation, .. } | Write::Bump { incarnation, .. } => {
                fenced(incarnation)
            }
            Write::Show { incarnation, as_of, .. } => {
                fenced(incarnation)
                    || (rules.card_fenced
                        && rules.as_of_compared
                        && incarnation == card.incarnation
                        && as_of <= card.as_of)
            }
            Write::Raise { incarnation, rev, .. } => {
                fenced(incarnation)
                    || (rules.raise_checks_rev && rules.rev_survives_start && rev < card.alarm_rev)
            }
        }
    }

    /// Notes a breach, unless there is one already.
    pub fn note(&mut self, breach: Breach) {
        self.breach = self.breach.or(Some(breach));
    }

    fn create(&mut self, rules: &Rules, over: Option<Incarnation>, alarm: Tick) -> Reply {
        if self.card.map(|card| card.incarnation) != over {
            return Reply::Refused;
        }
        let before = self.card.map_or(0, |card| card.alarm_rev);
        let alarm_rev = match self.card {
            Some(card) if rules.rev_survives_start => card.alarm_rev + 1,
            _ => 0,
        };
        self.card = Some(Card {
            incarnation: over.unwrap_or(0) + 1,
            alarm_at: alarm,
            alarm_rev,
            status: Status::Starting,
            as_of: 0,
        });
        if alarm_rev < before {
            self.note(Breach::RevWentBack);
        }
        Reply::Landed
    }

    fn put(
        &mut self,
        rules: &Rules,
        incarnation: Incarnation,
        number: Number,
        commit: Commit,
    ) -> Reply {
        let place = usize::from(incarnation) - 1;
        while self.logs.len() <= place {
            self.logs.push(Vec::new());
        }
        let log = &mut self.logs[place];
        let index = usize::from(number) - 1;
        match log.get_mut(index) {
            Some(there) if there.writer == commit.writer => Reply::Mine,
            Some(_) if rules.put_if_absent => Reply::Refused,
            Some(there) => {
                *there = commit;
                self.note(Breach::Replaced);
                Reply::Landed
            }
            None => {
                let gap = index > log.len();
                log.push(commit);
                if gap {
                    self.note(Breach::Gap);
                }
                Reply::Landed
            }
        }
    }

    fn show(
        &mut self,
        rules: &Rules,
        incarnation: Incarnation,
        status: Status,
        as_of: Number,
    ) -> Reply {
        let mut went_back = false;
        let reply = self.change_card(rules, incarnation, |card| {
            let holds = card.as_of < as_of || !rules.as_of_compared;
            if holds {
                went_back = as_of < card.as_of;
                card.status = status;
                card.as_of = as_of;
            }
            holds
        });
        if went_back {
            self.note(Breach::StatusWentBack);
        }
        reply
    }

    fn change_card(
        &mut self,
        rules: &Rules,
        incarnation: Incarnation,
        change: impl FnOnce(&mut Card) -> bool,
    ) -> Reply {
        let Some(card) = &mut self.card else { return Reply::Refused };
        let foreign = card.incarnation != incarnation;
        if (foreign && rules.card_fenced) || !change(card) {
            return Reply::Refused;
        }
        if foreign {
            self.note(Breach::ForeignCard);
        }
        Reply::Landed
    }
}
