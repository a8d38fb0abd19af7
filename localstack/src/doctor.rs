//! What an operator asks when something does not work: is all of a deployed
//! fleet there, does it fit together, and does it run?
//!
//! It asks AWS, changes nothing, and ends with findings that say what to do.
//! A service that does not answer is a finding, not the end of the examination.
//!
//! [`examine`] is the way in; `functions` and `queues` are what it looks at.

mod functions;
mod queues;

use std::error::Error;

use everlog::journal::{Journal, Weight};
use everlog::limits;
use serde::Serialize;

use crate::deployed::Deployed;

/// What puts right what the template says.
const REDEPLOY: &str = "deploy infra/template.yaml";
/// What brings back what was deleted beside it.
const GONE: &str = "it was deleted: \"Known limits\" in infra/README.md says how it comes back";

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works; somebody should know.
    Advice,
    /// It does not work, or something can be lost.
    Fault,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it is.
    pub level: Level,
    /// Which part of the fleet.
    pub part: String,
    /// What was found.
    pub what: String,
    /// What to do, unless it is as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// What an examination found.
#[derive(Debug, Default)]
pub struct Report(pub Vec<Finding>);

impl Report {
    /// The worst of the findings.
    #[must_use]
    pub fn level(&self) -> Level {
        self.0.iter().map(|f| f.level).max().unwrap_or(Level::Ok)
    }

    fn add(&mut self, level: Level, part: &str, what: impl Into<String>, advice: Option<String>) {
        self.0.push(Finding { level, part: part.into(), what: what.into(), advice });
    }

    fn ok(&mut self, part: &str, what: impl Into<String>) {
        self.add(Level::Ok, part, what, None);
    }

    fn advice(&mut self, part: &str, what: impl Into<String>, advice: &str) {
        self.add(Level::Advice, part, what, Some(advice.into()));
    }

    fn fault(&mut self, part: &str, what: impl Into<String>, advice: &str) {
        self.add(Level::Fault, part, what, Some(advice.into()));
    }

    /// A service that did not answer, or said no.
    fn unanswered(&mut self, part: &str, error: &(impl Error + 'static)) {
        let text = everlog::said(error);
        let text: String = text.chars().take(400).collect();
        self.fault(
            part,
            text,
            "check the address, the network, and the permissions of these credentials",
        );
    }
}

/// Examines a deployed fleet: credentials, table, clock, functions with their
/// mappings, queues, and whether the sweep keeps up.
pub async fn examine(deployed: &Deployed) -> Report {
    let mut report = Report::default();
    credentials(deployed, &mut report).await;
    table(deployed.fleet().journal(), &mut report).await;
    let timeout_s = match deployed.functions {
        true => functions::examine(deployed, &mut report).await,
        false => {
            let advice = "run `everlog functions` beside the queues, or deploy infra/template.yaml";
            report.advice(
                "functions",
                "none: EVERLOG_QUEUES is set, commands are decided here",
                advice,
            );
            None
        }
    };
    queues::examine(deployed, timeout_s, &mut report).await;
    report
}

async fn credentials(deployed: &Deployed, report: &mut Report) {
    let sts = aws_sdk_sts::Client::new(&deployed.aws);
    match sts.get_caller_identity().send().await {
        Ok(identity) => {
            let region = deployed.aws.region().map(ToString::to_string).unwrap_or_default();
            let who = identity.arn().unwrap_or("somebody").to_owned();
            report.ok("credentials", format!("{who} in {region}"));
        }
        Err(error) => report.unanswered("credentials", &error),
    }
}

async fn table(journal: &Journal, report: &mut Report) {
    match journal.inspect_table().await {
        Ok(findings) => {
            if findings.iter().all(|f| f.weight != Weight::Fault) {
                report.ok("table", "keys and indexes are as they should be");
            }
            for finding in findings {
                let level = match finding.weight {
                    Weight::Advice => Level::Advice,
                    Weight::Fault => Level::Fault,
                };
                report.add(level, "table", finding.what, Some(finding.advice));
            }
        }
        Err(error) => return report.unanswered("table", &error),
    }
    let skew = journal.skew_ms();
    match skew > limits::CLOCK_SKEW_MS_MAX {
        false => report.ok("clock", "within a minute of DynamoDB's"),
        true => {
            let what = format!("{} s off DynamoDB's", skew / 1_000);
            report.fault(
                "clock",
                what,
                "set this machine's clock: a process with it does not commit",
            );
        }
    }
    match journal.overdue().await {
        Ok(0) => report.ok("sweep", "no alarm is overdue"),
        Ok(overdue) => {
            let what = format!("{overdue} workflows should have been looked at minutes ago");
            report.fault("sweep", what, "see the schedule and the log of timer-sweep");
        }
        Err(error) => report.unanswered("sweep", &error),
    }
}
