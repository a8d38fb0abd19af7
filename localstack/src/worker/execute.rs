//! What a task does here: run a command, or let its measured run time pass.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use everlog::id::NodeId;
use everlog::limits;
use everlog::payload::Payload;
use everlog::worker::{Failure, Output, Task};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// Bytes of the end of standard error that a failure repeats.
const STDERR_BYTES_MAX: usize = 2_000;
/// Bytes of standard output that an output keeps.
const OUTPUT_BYTES_MAX: usize = limits::PAYLOAD_BYTES_MAX - 1_024;
/// How long pipes are read after the command itself has ended.
const DRAIN: Duration = Duration::from_secs(1);

/// How fast measured run times pass: 1 is real time, 0 not at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace(pub f64);

/// Does the work of a task.
pub(super) async fn execute(task: Task, pace: Pace) -> Result<Output, Failure> {
    if let Some(command) = &task.command {
        return run(&task, command).await;
    }
    let input = task.input.as_ref().and_then(Payload::to_json).unwrap_or_default();
    if let Some(seconds) = input.get("runtime_s").and_then(Value::as_f64) {
        let scaled = (seconds * pace.0).clamp(0.0, 1e9);
        if scaled > 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(scaled)).await;
        }
        return Ok(Output::NONE);
    }
    Err(Failure::new("nothing-to-run", "it has neither a command nor a measured run time"))
}

/// What a command finds on its standard input.
#[derive(Serialize)]
struct Stdin<'a> {
    input: Option<&'a Payload>,
    outputs: &'a BTreeMap<NodeId, Option<Payload>>,
}

async fn run(task: &Task, command: &[String]) -> Result<Output, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Failure::new("nothing-to-run", "an empty command"));
    };
    let spawned = Command::new(program)
        .args(arguments)
        .env("EVERLOG_WORKFLOW", task.workflow.as_str())
        .env("EVERLOG_TASK", task.node.as_str())
        .env("EVERLOG_ATTEMPT", task.attempt.to_string())
        .env("EVERLOG_DISPATCH_KEY", task.dispatch_key.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .process_group(0)
        .spawn();
    let mut child =
        spawned.map_err(|error| Failure::new("not-started", format_args!("{program}: {error}")))?;
    let stdin = Stdin { input: task.input.as_ref(), outputs: &task.outputs };
    let stdin = serde_json::to_vec(&stdin).unwrap_or_default();
    if let Some(mut pipe) = child.stdin.take() {
        tokio::spawn(async move {
            // A command that does not read its input closes the pipe: no fault.
            let _ = pipe.write_all(&stdin).await;
        });
    }
    // Dropped at a time-out or a cancel, it takes along what the command started.
    let _group = Group(child.id());
    finish(child).await
}

/// A child's process group: whatever it started ends with it.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            // It is an error if all of it has ended already.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

/// What is kept of a pipe.
#[derive(Clone, Copy)]
enum Keep {
    /// So many bytes of its beginning.
    First(usize),
    /// So many bytes of its end.
    Last(usize),
}

/// Reads a pipe to its end; what is not to be kept is let go.
async fn read(pipe: Option<impl AsyncRead + Unpin>, keep: Keep, kept: &Mutex<Vec<u8>>) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = pipe.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        let Ok(mut kept) = kept.lock() else { return };
        match keep {
            Keep::First(most) => {
                let room = most.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..count.min(room)]);
            }
            Keep::Last(most) => {
                kept.extend_from_slice(&buffer[..count]);
                let over = kept.len().saturating_sub(most);
                kept.drain(..over);
            }
        }
    }
}

async fn finish(mut child: Child) -> Result<Output, Failure> {
    let (stdout, stderr) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let reading = async {
        tokio::join!(
            read(out, Keep::First(OUTPUT_BYTES_MAX + 1), &stdout),
            read(err, Keep::Last(STDERR_BYTES_MAX), &stderr),
        )
    };
    tokio::pin!(reading);
    let mut drained = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            _ = &mut reading, if !drained => drained = true,
        }
    };
    // A process that the command left behind may hold the pipes open.
    if !drained {
        let _ = tokio::time::timeout(DRAIN, reading).await;
    }
    let taken = |kept: &Mutex<Vec<u8>>| kept.lock().map(|kept| kept.clone()).unwrap_or_default();
    let status = match status {
        Ok(status) => status,
        Err(error) => return Err(Failure::new("not-awaited", error)),
    };
    let (stdout, stderr) = (taken(&stdout), taken(&stderr));
    if status.success() {
        return payload(&stdout);
    }
    let kind = match status.code() {
        Some(code) => format!("exit-{code}"),
        None => "killed".to_owned(),
    };
    Err(Failure::new(&kind, String::from_utf8_lossy(&stderr).trim_end()))
}

/// Standard output as an output: JSON if it is, else text; too much is a
/// failure, since half an output would mislead whoever takes it.
fn payload(stdout: &[u8]) -> Result<Output, Failure> {
    let text = String::from_utf8_lossy(stdout).trim_end().to_owned();
    if text.is_empty() {
        return Ok(Output::NONE);
    }
    let value = match serde_json::from_str::<Payload>(&text) {
        Ok(json) => Ok(json),
        Err(_) => Payload::json(&Value::String(text)),
    };
    match value {
        Ok(output) if stdout.len() <= OUTPUT_BYTES_MAX => Ok(Output(Some(output))),
        _ => {
            let what = format_args!("expected at most {OUTPUT_BYTES_MAX} bytes of standard output");
            Err(Failure::new("output-too-large", what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn kept(text: &[u8], keep: Keep) -> Vec<u8> {
        let kept = Mutex::new(Vec::new());
        read(Some(text), keep, &kept).await;
        kept.into_inner().unwrap()
    }

    #[tokio::test]
    async fn of_a_long_pipe_the_beginning_or_the_end_is_kept() {
        let text: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        assert_eq!(kept(&text, Keep::First(2_000)).await, text[..2_000]);
        assert_eq!(kept(&text, Keep::Last(2_000)).await, text[98_000..]);
        assert_eq!(kept(b"short", Keep::Last(2_000)).await, b"short");
    }
}
