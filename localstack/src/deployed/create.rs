//! The queues of a fleet, as `infra/template.yaml` has them, for stacks without
//! CloudFormation. A queue that is there stays as it is.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use everlog::config::{APPEND, DEAD_LETTER, OUTBOX, PREPARE, QUARANTINE, SETTLE, WAKE};

use super::{DeployedError, UNDELIVERED};

/// Seconds for which functions' queues hide a batch.
const VISIBILITY_S: &str = "180";
/// Seconds for which a dispatch is hidden from other workers.
const TASK_VISIBILITY_S: &str = "300";
/// Seconds for which a message is kept.
const RETENTION_S: &str = "1209600";
/// Receives after which a message is undelivered.
const RECEIVES_MAX: u32 = 1_000;

pub(super) async fn queues(
    sqs: &Client,
    table: &str,
    task_queues: &[String],
) -> Result<(), DeployedError> {
    for name in [APPEND, PREPARE, SETTLE] {
        with_undelivered(sqs, table, name, ".fifo", VISIBILITY_S).await?;
    }
    for name in [WAKE, OUTBOX] {
        with_undelivered(sqs, table, name, "", VISIBILITY_S).await?;
    }
    let tasks = ["default", "replies"].into_iter().chain(task_queues.iter().map(String::as_str));
    for name in tasks {
        with_undelivered(sqs, table, name, "", TASK_VISIBILITY_S).await?;
    }
    create(sqs, &format!("{table}-{DEAD_LETTER}"), VISIBILITY_S, None).await?;
    create(sqs, &format!("{table}-{QUARANTINE}.fifo"), VISIBILITY_S, None).await?;
    Ok(())
}

async fn with_undelivered(
    sqs: &Client,
    table: &str,
    name: &str,
    suffix: &str,
    visibility_s: &str,
) -> Result<(), DeployedError> {
    let dead = format!("{table}-{name}{UNDELIVERED}{suffix}");
    let url = create(sqs, &dead, VISIBILITY_S, None).await?;
    let asked = sqs.get_queue_attributes().queue_url(url);
    let asked = asked.attribute_names(QueueAttributeName::QueueArn).send().await;
    let answer = asked.map_err(|error| DeployedError::unanswered("SQS", &error))?;
    let arn = answer.attributes().and_then(|all| all.get(&QueueAttributeName::QueueArn)).cloned();
    create(sqs, &format!("{table}-{name}{suffix}"), visibility_s, arn).await?;
    Ok(())
}

async fn create(
    sqs: &Client,
    name: &str,
    visibility_s: &str,
    dead_arn: Option<String>,
) -> Result<String, DeployedError> {
    if let Ok(there) = sqs.get_queue_url().queue_name(name).send().await {
        return Ok(there.queue_url.unwrap_or_default());
    }
    let mut attributes = HashMap::from([
        (QueueAttributeName::VisibilityTimeout, visibility_s.to_owned()),
        (QueueAttributeName::MessageRetentionPeriod, RETENTION_S.to_owned()),
    ]);
    if name.ends_with(".fifo") {
        attributes.insert(QueueAttributeName::FifoQueue, "true".into());
        attributes.insert(QueueAttributeName::DeduplicationScope, "messageGroup".into());
        attributes.insert(QueueAttributeName::FifoThroughputLimit, "perMessageGroupId".into());
    }
    if let Some(arn) = dead_arn {
        let policy = serde_json::json!({
            "deadLetterTargetArn": arn,
            "maxReceiveCount": RECEIVES_MAX.to_string(),
        });
        attributes.insert(QueueAttributeName::RedrivePolicy, policy.to_string());
    }
    let made = sqs.create_queue().queue_name(name).set_attributes(Some(attributes)).send().await;
    let made = made.map_err(|error| DeployedError::unanswered("SQS", &error))?;
    Ok(made.queue_url.unwrap_or_default())
}
