//! A function: its binary as a child process, and the API that it polls.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use crate::runtime_api::{Outcome, RuntimeApi};
use crate::stack::Stack;

/// After so long a function that neither answers nor ends is taken for stuck.
const STUCK: Duration = Duration::from_secs(60);

/// A running function. Its process is killed when this is dropped.
pub struct Function {
    child: Child,
    api: RuntimeApi,
    started: Instant,
    log: Log,
}

impl Function {
    /// Starts a binary (`env!("CARGO_BIN_EXE_…")`) in the environment of `stack`.
    pub async fn start(binary: &str, stack: &Stack) -> Self {
        Self::start_in(binary, stack.environment()).await
    }

    /// Starts a binary with these variables, those of Lambda, and no other.
    pub async fn start_in(binary: &str, environment: Vec<(String, String)>) -> Self {
        let api = RuntimeApi::start().await;
        let mut command = Command::new(binary);
        command
            .env_clear()
            .env("AWS_LAMBDA_RUNTIME_API", api.address())
            .env("AWS_LAMBDA_FUNCTION_NAME", "everlog-test")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "nobody-checks-it")
            .env("AWS_SESSION_TOKEN", "nobody-checks-it")
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let started = Instant::now();
        let mut child = command.spawn().expect("the binary was built with the test");
        let log = Log::default();
        log.keep(child.stdout.take().expect("piped"));
        log.keep(child.stderr.take().expect("piped"));
        Self { child, api, started, log }
    }

    /// From exec to the first request for an event.
    pub async fn exec_to_first_poll(&mut self) -> Duration {
        let Self { child, api, started, .. } = self;
        let first_poll = async {
            tokio::select! {
                at = api.first_poll() => at,
                ended = child.wait() => panic!("the function ended at start: {ended:?}"),
            }
        };
        let at = tokio::time::timeout(STUCK, first_poll).await.expect("the function is stuck");
        at - *started
    }

    /// Invokes the function once; what became of it.
    pub async fn invoke(&mut self, event: Value) -> Outcome {
        let Self { child, api, .. } = self;
        let invoked = async {
            tokio::select! {
                outcome = api.invoke(event) => outcome,
                ended = child.wait() => panic!("the function ended: {ended:?}"),
            }
        };
        tokio::time::timeout(STUCK, invoked).await.expect("the function is stuck")
    }

    /// Invokes it with an event that it must answer; the answer.
    pub async fn answer(&mut self, event: Value) -> Value {
        match self.invoke(event).await {
            Outcome::Answered(answer) => answer,
            failed @ Outcome::Failed { .. } => panic!("{failed:?}"),
        }
    }

    /// Invokes it with a batch; the ids in `batchItemFailures`, in their order.
    pub async fn serve(&mut self, batch: Value) -> Vec<String> {
        let answer = self.answer(batch).await;
        let failures = answer["batchItemFailures"].as_array().expect("an answer to a batch");
        let id = |failure: &Value| failure["itemIdentifier"].as_str().expect("an id").to_owned();
        failures.iter().map(id).collect()
    }

    /// Waits until the process ends by itself; how, and what it said.
    pub async fn end(mut self) -> (ExitStatus, String) {
        let ended = tokio::time::timeout(STUCK, self.child.wait()).await;
        let status = ended.expect("the function is stuck").expect("a child can be waited for");
        (status, self.log.text().await)
    }

    /// Kills the process; the metrics that it wrote, a line each.
    pub async fn metrics(mut self) -> Vec<Value> {
        self.child.kill().await.expect("a child can be killed");
        let log = self.log.text().await;
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line.get("_aws").is_some()).collect()
    }

    /// Kills the process and waits until it is gone.
    pub async fn stop(mut self) {
        self.child.kill().await.expect("a child can be killed");
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("--- what the function said:\n{}", self.log.so_far());
        }
    }
}

/// What a process wrote to its two outputs, line by line.
#[derive(Clone, Default)]
struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    readers: Arc<Mutex<Vec<tokio::task::JoinHandle<()>>>>,
}

impl Log {
    fn keep(&self, output: impl AsyncRead + Unpin + Send + 'static) {
        let lines = self.lines.clone();
        let reader = tokio::spawn(async move {
            let mut output = BufReader::new(output).lines();
            while let Ok(Some(line)) = output.next_line().await {
                lines.lock().expect("nothing panics here").push(line);
            }
        });
        self.readers.lock().expect("nothing panics here").push(reader);
    }

    fn so_far(&self) -> String {
        self.lines.lock().map(|lines| lines.join("\n")).unwrap_or_default()
    }

    /// All of it, once the process has ended.
    async fn text(&self) -> String {
        let readers = std::mem::take(&mut *self.readers.lock().expect("nothing panics here"));
        for reader in readers {
            reader.await.expect("nothing panics here");
        }
        self.so_far()
    }
}
