//! The queues: are they there, of the right kind, with somewhere for what is
//! never served, and does anything lie where a person must look?

use std::collections::HashMap;

use aws_sdk_sqs::types::QueueAttributeName;
use everlog::config::{APPEND, DEAD_LETTER, OUTBOX, PREPARE, QUARANTINE, SETTLE, WAKE};
use serde_json::Value;

use super::{GONE, REDEPLOY, Report};
use crate::deployed::Deployed;

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
            Ok(answer) => {
                let attributes = answer.attributes.unwrap_or_default();
                look_at(name, &attributes, timeout_s, report);
                undelivered(deployed, name, url, &attributes, report).await;
            }
            Err(error) if error.as_service_error().is_some_and(|e| e.is_queue_does_not_exist()) => {
                report.fault(name, "is not there", GONE);
            }
            Err(error) => report.unanswered(name, &error),
        }
    }
}

/// Whether anything of a queue was never served.
async fn undelivered(
    deployed: &Deployed,
    name: &str,
    url: &str,
    attributes: &HashMap<QueueAttributeName, String>,
    report: &mut Report,
) {
    let policy = attributes.get(&QueueAttributeName::RedrivePolicy);
    let policy: Option<Value> = policy.and_then(|text| serde_json::from_str(text).ok());
    let arn = policy.as_ref().and_then(|policy| policy["deadLetterTargetArn"].as_str());
    let dead = arn.and_then(|arn| arn.rsplit(':').next()).zip(url.rsplit_once('/'));
    let Some((dead, (base, _))) = dead else { return };
    let count = QueueAttributeName::ApproximateNumberOfMessages;
    let asked = deployed.sqs.get_queue_attributes().queue_url(format!("{base}/{dead}"));
    match asked.attribute_names(count.clone()).send().await {
        Ok(answer) => {
            let all = answer.attributes.unwrap_or_default();
            let lie = all.get(&count).and_then(|text| text.parse().ok()).unwrap_or(0);
            if lie > 0 {
                let advice = format!("mend why, then `everlog redrive --undelivered {name}`");
                report.advice(name, format!("{} never served", messages(lie)), &advice);
            }
        }
        Err(error) => report.unanswered(dead, &error),
    }
}

/// So many messages, in words.
fn messages(count: u64) -> String {
    match count {
        1 => "1 message was".into(),
        count => format!("{count} messages were"),
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
    let wait =
        if waiting == 1 { "1 message waits".into() } else { format!("{waiting} messages wait") };
    report.ok(name, wait);
    if number(&QueueAttributeName::MessageRetentionPeriod) < RETENTION_S_MIN {
        report.fault(name, "keeps messages for less than four days", REDEPLOY);
    }
    if waiting > 0 && name == DEAD_LETTER {
        let advice = "`everlog dead-letters` says why; mend, then `everlog redrive`";
        report.advice(name, format!("{} given up", messages(waiting)), advice);
    }
    if waiting > 0 && name == QUARANTINE {
        let what = format!("{} set aside: a log does not fold", messages(waiting));
        let advice = "the functions' log says of which workflow; the guide says what to do";
        report.advice(name, what, advice);
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
