//! Engines of other people, started by the scripts in `localstack/`.
//!
//! A [`Server`] runs until it is dropped; its script ends it too if this process
//! dies. [`Shared`] starts one when the first test asks for it. What is missing
//! on this machine is said by the script, and becomes the failure of each test.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A running server.
#[derive(Debug)]
pub struct Server {
    script: Child,
    url: String,
    pid: Option<Pid>,
    /// Kept open: a script that can't print ends.
    _output: BufReader<ChildStdout>,
    _folder: TempDir,
}

impl Server {
    /// Starts a script and waits until it says where the server is. The first
    /// time that takes as long as fetching the tools, some minutes.
    ///
    /// # Errors
    /// What the script said.
    pub fn start(script: &str, arguments: &[&str]) -> Result<Self, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../localstack").join(script);
        let fault = |e: std::io::Error| format!("{}: {e}", path.display());
        let folder = TempDir::new().map_err(fault)?;
        let said = folder.path().join("said");
        let mut child = Command::new(&path)
            .arg("start")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&said).map_err(fault)?)
            .spawn()
            .map_err(fault)?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let (mut url, mut pid) = (String::new(), None);
        for line in output.by_ref().lines().map_while(Result::ok) {
            let Some((name, value)) = line.split_once('=') else { continue };
            if name == "export EVERLOG_SERVER_PID" {
                pid = value.parse().ok().and_then(Pid::from_raw);
            } else if name.starts_with("export AWS_ENDPOINT_URL") {
                url = value.to_owned();
                break;
            }
        }
        let server = Self { script: child, url, pid, _output: output, _folder: folder };
        if server.url.is_empty() {
            let said = std::fs::read_to_string(said).map_err(fault)?;
            return Err(format!("{script} did not start:\n{said}"));
        }
        Ok(server)
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Kills it by signal 9.
    ///
    /// # Panics
    /// If it is gone already.
    pub fn kill(&self) {
        let pid = self.pid.expect("the script said its id");
        kill_process(pid, Signal::KILL).expect("it runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.script.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.script.wait();
    }
}

/// A server for all tests, started by the first that needs it.
#[derive(Debug, Clone)]
pub struct Shared {
    script: &'static str,
    server: Arc<OnceLock<Result<Server, String>>>,
}

impl Shared {
    /// One that `script` starts.
    #[must_use]
    pub fn new(script: &'static str) -> Self {
        Self { script, server: Arc::default() }
    }

    /// Where it is.
    ///
    /// # Errors
    /// Why it did not start, each time.
    pub fn url(&self) -> Result<String, String> {
        let server = self.server.get_or_init(|| Server::start(self.script, &[]));
        server.as_ref().map(|server| server.url.clone()).map_err(Clone::clone)
    }
}
