//! Faults on a stack: function processes that are killed, and a DynamoDB that
//! can't be reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use aws_sdk_lambda::types::Environment;
use everlog::fleet::Function;
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::Stack;

/// The variable that gives the functions' DynamoDB another address.
const ADDRESS: &str = "AWS_ENDPOINT_URL_DYNAMODB";

/// A door before DynamoDB that can be shut.
#[derive(Debug, Clone)]
pub struct Door(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shut: AtomicBool,
    changed: Notify,
    address: std::net::SocketAddr,
    refused: AtomicUsize,
}

impl Door {
    /// Opens a door on a free port; `target` is `host:port`. The set carries it.
    ///
    /// # Panics
    /// If there is no port.
    pub async fn open(target: String) -> (Self, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let door = Self(Arc::new(Inner {
            shut: AtomicBool::new(false),
            changed: Notify::new(),
            address: listener.local_addr().expect("an address"),
            refused: AtomicUsize::new(0),
        }));
        let mut tasks = JoinSet::new();
        let inner = door.0.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((from, _)) = listener.accept().await {
                if inner.shut.load(Ordering::SeqCst) {
                    inner.refused.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                connections.spawn(carry(from, target.clone(), inner.clone()));
            }
        });
        (door, tasks)
    }

    /// Cuts every connection, and lets none in until [`Door::reopen`].
    pub fn shut(&self) {
        self.0.shut.store(true, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }

    /// Lets connections in again.
    pub fn reopen(&self) {
        self.0.shut.store(false, Ordering::SeqCst);
    }

    /// Connections that found it shut.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.0.refused.load(Ordering::SeqCst)
    }

    /// Sends the functions' DynamoDB requests through it.
    ///
    /// # Panics
    /// If a function can't be configured.
    pub async fn put_before(&self, stack: &Stack) {
        let address = format!("http://{}", self.0.address);
        configure(stack, Some(&address)).await;
    }
}

/// Lets the functions reach DynamoDB as they are deployed to.
///
/// # Panics
/// If a function can't be configured.
pub async fn take_door_away(stack: &Stack) {
    configure(stack, None).await;
}

async fn configure(stack: &Stack, address: Option<&str>) {
    let lambda = &stack.deployed.lambda;
    for function in Function::ALL {
        let name = stack.deployed.function_name(function.name());
        let found = lambda.get_function_configuration().function_name(&name).send().await;
        let environment = found.expect("a function").environment;
        let mut variables = environment.and_then(|e| e.variables).unwrap_or_default();
        match address {
            Some(address) => variables.insert(ADDRESS.into(), address.into()),
            None => variables.remove(ADDRESS),
        };
        let environment = Environment::builder().set_variables(Some(variables)).build();
        let change = lambda.update_function_configuration().function_name(&name);
        change.environment(environment).send().await.expect("a changed function");
    }
}

async fn carry(mut from: TcpStream, target: String, inner: Arc<Inner>) {
    let Ok(mut to) = TcpStream::connect(target).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut from, &mut to) => {}
        () = inner.changed.notified() => {}
    }
}

/// Kills function processes of the stack now and then; counts them.
#[derive(Debug, Default)]
pub struct Killer {
    /// Processes that were killed.
    pub killed: Arc<AtomicUsize>,
}

impl Killer {
    /// Kills one process, if there is any, `every` so often, until the set is dropped.
    #[must_use]
    pub fn start(&self, stack: &Stack, every: Duration) -> JoinSet<()> {
        let (table, killed) = (stack.deployed.table.clone(), self.killed.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let running = processes(&table);
                if running.is_empty() {
                    continue;
                }
                let victim = running[rand::random_range(0..running.len())];
                if kill_process(victim, Signal::KILL).is_ok() {
                    killed.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        tasks
    }
}

/// The processes that run a function of this fleet on this machine.
///
/// # Panics
/// Where there is no `/proc`.
#[must_use]
pub fn processes(fleet: &str) -> Vec<Pid> {
    let name = format!("AWS_LAMBDA_FUNCTION_NAME={fleet}-");
    let entries = std::fs::read_dir("/proc").expect("Linux's /proc");
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let program = std::fs::read_link(entry.path().join("exe")).ok()?;
            let is_function = program.file_name()? == "bootstrap";
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let is_ours = environment.split(|b| *b == 0).any(|v| v.starts_with(name.as_bytes()));
            (is_function && is_ours).then(|| Pid::from_raw(pid)).flatten()
        })
        .collect()
}
