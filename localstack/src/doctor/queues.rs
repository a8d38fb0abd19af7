//! The queues: are they there, of the right kind, with somewhere for what is
//! never served, and does anything lie where a person must look?

use std::collections::HashMap;

use aws_sdk_sqs::types::QueueAttributeName;
use everlog::config::{APPEND, DEAD_LETTER, OUTBOX, PREPARE, QUARANTINE, SETTLE, WAKE};

use super::Report;
use crate::deployed::Deployed;

const REDEPLOY: &str = "deploy infra/template.yaml";
/// Seconds for which a queue keeps a message, at least, so that an outage loses nothing.
const RETENTION_S_MIN: u64 = 345_600;

/// The queues that the functions know by name, and whether they are FIFO.
const OWN: [(&str, Option<bool>); 7] = [
    (APPEND, Some(true)),
    (PREPARE, Some(true)),
    (SETTLE, Some(true)),
    (WAKE, Some(false)),
    (OUTBOX, Some(false)),
    (DEAD_LETTER, None),
    (QUARANTINE, Some(true)),
];

pub(super) async fn examine(deployed: &Deployed, timeout_s: Option<i32>, report: &mut Report) {
    for (name, fifo) in OWN {
        let Some(url) = deployed.queues.url(name) else {
            report.fault(name, "EVERLOG_QUEUES does not name it", REDEPLOY);
            continue;
        };
        if fifo.is_some_and(|fifo| fifo != url.ends_with(".fifo")) {
            let what = if url.ends_with(".fifo") { "is FIFO" } else { "is not FIFO" };
            report.fault(name, format!("{what}, and must not be"), REDEPLOY);
        }
    }
    for name in deployed.queues.names() {
        let url = deployed.queues.url(name).unwrap_or_default();
        let asked = deployed
            .sqs
            .get_queue_attributes()
            .queue_url(url)
            .attribute_names(QueueAttributeName::All)
            .send()
            .await;
        match asked {
            Ok(answer) => look_at(name, &answer.attributes.unwrap_or_default(), timeout_s, report),
            Err(error) => report.unanswered(name, &error),
        }
    }
}

fn look_at(
    name: &str,
    attributes: &HashMap<QueueAttributeName, String>,
    timeout_s: Option<i32>,
    report: &mut Report,
) {
    let number = |key: &QueueAttributeName| -> u64 {
        attributes.get(key).and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let waiting = number(&QueueAttributeName::ApproximateNumberOfMessages);
    report.ok(name, format!("{waiting} messages wait"));
    if number(&QueueAttributeName::MessageRetentionPeriod) < RETENTION_S_MIN {
        report.fault(name, "keeps messages for less than four days", REDEPLOY);
    }
    if waiting > 0 && name == DEAD_LETTER {
        let advice = "`everlog dead-letters` says why; mend, then `everlog redrive`";
        report.advice(name, format!("{waiting} messages were given up"), advice);
    }
    if waiting > 0 && name == QUARANTINE {
        let what = format!("{waiting} messages were set aside: a log does not fold");
        report.advice(
            name,
            what,
            "`everlog dead-letters --queue quarantine` says of which workflow",
        );
    }
    let invoked = [APPEND, PREPARE, SETTLE, WAKE, OUTBOX].contains(&name);
    if !invoked {
        return;
    }
    if !attributes.contains_key(&QueueAttributeName::RedrivePolicy) {
        report.fault(name, "has nowhere for what is never served: no redrive policy", REDEPLOY);
    }
    let visibility = number(&QueueAttributeName::VisibilityTimeout);
    let wanted = timeout_s.and_then(|s| u64::try_from(s).ok()).map_or(0, |s| 6 * s);
    if visibility < wanted {
        let what = format!(
            "hides messages for {visibility} s, less than six times its function's time-out"
        );
        report.fault(name, what, REDEPLOY);
    }
}
