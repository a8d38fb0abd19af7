//! What a task does here: run a command, or let its measured run time pass.

use std::process::Stdio;
use std::time::Duration;

use everlog::command::Ended;
use everlog::event::Failure;
use everlog::id::Kind;
use everlog::limits;
use everlog::message::Dispatch;
use everlog::payload::Payload;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// Bytes of standard error that a failure repeats.
const STDERR_BYTES_MAX: usize = 2_000;
/// Bytes of standard output that an output keeps.
const OUTPUT_BYTES_MAX: usize = limits::PAYLOAD_BYTES_MAX - 1_024;

/// How fast measured run times pass: 1 is real time, 0 not at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace(pub f64);

/// Does the work of a dispatch.
pub(super) async fn execute(dispatch: &Dispatch, pace: Pace) -> Option<Ended> {
    if dispatch.cancelled {
        return Some(Ended::Cancelled {});
    }
    let input = dispatch.input.as_ref().and_then(Payload::to_json).unwrap_or_default();
    if let Some(command) = &dispatch.command {
        let limit = dispatch.timeouts.start_to_close_ms.map(Duration::from_millis);
        return Some(run(dispatch, command, &input, limit).await);
    }
    if let Some(seconds) = input.get("runtime_s").and_then(Value::as_f64) {
        let scaled = (seconds * pace.0).clamp(0.0, 1e9);
        if scaled > 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(scaled)).await;
        }
        return Some(Ended::Succeeded { output: None });
    }
    let message = "it has neither a command nor a measured run time".to_owned();
    Some(failed("nothing-to-run", message, None))
}

fn failed(kind: &str, message: String, details: Option<Value>) -> Ended {
    match Kind::new(kind) {
        Ok(kind) => {
            let details = details.and_then(|value| Payload::json(&value).ok());
            Ended::Failed(Failure { kind, message, details })
        }
        Err(impossible) => unreachable!("fixed kinds are valid ids: {impossible}"),
    }
}

async fn run(
    dispatch: &Dispatch,
    command: &[String],
    input: &Value,
    limit: Option<Duration>,
) -> Ended {
    let Some((program, arguments)) = command.split_first() else {
        return failed("nothing-to-run", "an empty command".into(), None);
    };
    let spawned = Command::new(program)
        .args(arguments)
        .env("EVERLOG_WORKFLOW", dispatch.workflow.as_str())
        .env("EVERLOG_TASK", dispatch.node.as_str())
        .env("EVERLOG_ATTEMPT", dispatch.attempt.to_string())
        .env("EVERLOG_DISPATCH_KEY", dispatch.dispatch_key.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return failed("not-started", format!("{program}: {error}"), None),
    };
    let stdin = json!({ "input": input, "outputs": dispatch.outputs }).to_string();
    if let Some(mut pipe) = child.stdin.take() {
        tokio::spawn(async move {
            // A command that does not read its input closes the pipe: no fault.
            let _ = pipe.write_all(stdin.as_bytes()).await;
        });
    }
    match limit {
        Some(limit) => match tokio::time::timeout(limit, finish(child)).await {
            Ok(ended) => ended,
            Err(_) => failed("timeout", format!("ran longer than {} ms", limit.as_millis()), None),
        },
        None => finish(child).await,
    }
}

async fn finish(child: Child) -> Ended {
    let ended = match child.wait_with_output().await {
        Ok(ended) => ended,
        Err(error) => return failed("not-awaited", error.to_string(), None),
    };
    let output = String::from_utf8_lossy(&ended.stdout).trim_end().to_owned();
    if ended.status.success() {
        return Ended::Succeeded { output: payload(output) };
    }
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let stderr = stderr.trim_end();
    let from = stderr.len().saturating_sub(STDERR_BYTES_MAX);
    let from = (from..=stderr.len()).find(|at| stderr.is_char_boundary(*at)).unwrap_or(0);
    let kind = match ended.status.code() {
        Some(code) => format!("exit-{code}"),
        None => "killed".to_owned(),
    };
    failed(&kind, stderr[from..].to_owned(), None)
}

/// Standard output as an output: JSON if it is, else text, cut to what fits.
fn payload(mut text: String) -> Option<Payload> {
    if text.is_empty() {
        return None;
    }
    if let Some(value) =
        serde_json::from_str(&text).ok().and_then(|v: Value| Payload::json(&v).ok())
    {
        return Some(value);
    }
    let mut keep = OUTPUT_BYTES_MAX / 6;
    if text.len() > keep {
        while !text.is_char_boundary(keep) {
            keep -= 1;
        }
        text.truncate(keep);
        text.push_str("… (cut)");
    }
    Payload::json(&Value::String(text)).ok()
}
