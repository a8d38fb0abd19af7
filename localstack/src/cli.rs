//! The `everlog` command: runs plans on the embedded fleet, and looks into it.
//!
//! Exit codes: 0 completed or done, 1 the workflow failed, 2 the command line
//! or a file is wrong, 3 the workflow was cancelled, 4 it timed out, 5 there is
//! no such workflow, 6 the answer was no, 70 the stack failed, 130 interrupted.

mod archive;
mod control;
mod cost;
mod doctor;
mod example;
mod functions;
mod history;
mod inspect;
mod letters;
mod list;
mod packages;
mod run;
mod session;
mod timeline;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use everlog::id::{AttributeName, Namespace, WorkflowId};
use everlog::labels::AttributeValue;

use crate::deployed::Address;

/// Durable workflows: one log per workflow, one conditional put per step.
#[derive(Debug, Parser)]
#[command(
    name = "everlog",
    version,
    after_help = "Examples:
  everlog                               run the built-in example and see what it cost
  everlog run plan.yaml                 run a plan; Ctrl-C, then the same again: it goes on
  everlog run montage.json --time-scale 0 --workers 8
  everlog show my-plan-1a2b3c4d         state, attempts and a timeline
  everlog history my-plan-1a2b3c4d --json | jq .event
  everlog signal my-plan-1a2b3c4d approved '{\"by\":\"ada\"}'"
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Sub>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// The database file; made if it is not there [default: .everlog/everlog.db]
    #[arg(long, global = true, env = "EVERLOG_DB")]
    db: Option<PathBuf>,
    /// The table of a deployed fleet, which is then used instead of the
    /// database file. Also its stack's name [env: EVERLOG_TABLE, unless a
    /// database file is named].
    #[arg(long, global = true)]
    table: Option<String>,
    /// Address of a deployed fleet that is not on AWS: of an emulator.
    #[arg(long, global = true, value_name = "URL")]
    endpoint_url: Option<String>,
    /// Profile of the AWS configuration files.
    #[arg(long, global = true)]
    profile: Option<String>,
    /// The namespace.
    #[arg(long, global = true, default_value = "default", value_parser = namespace)]
    namespace: Namespace,
    /// Print JSON for programs.
    #[arg(long, global = true)]
    json: bool,
}

/// Name of the stack, and so of the table, where the command line names none.
const TABLE: &str = "everlog";
/// The database file, where nothing names another.
const DB: &str = ".everlog/everlog.db";

impl Global {
    /// The deployed fleet that the command line asks for, or else the
    /// environment; none if a database file is meant.
    fn address(&self) -> Option<Address> {
        let flags = self.table.is_some() || self.endpoint_url.is_some() || self.profile.is_some();
        let environment = std::env::var("EVERLOG_TABLE").ok().filter(|table| !table.is_empty());
        if !flags && (self.db.is_some() || environment.is_none()) {
            return None;
        }
        Some(Address {
            table: self.table.clone().or(environment).unwrap_or_else(|| TABLE.into()),
            endpoint_url: self.endpoint_url.clone(),
            profile: self.profile.clone(),
        })
    }

    /// The database file.
    fn db(&self) -> &Path {
        self.db.as_deref().unwrap_or(Path::new(DB))
    }
}

#[derive(Debug, Subcommand)]
enum Sub {
    /// Run a plan (JSON or YAML) or a WfFormat file to its end.
    Run(run::RunArgs),
    /// Run the built-in example.
    Example(example::ExampleArgs),
    /// List workflows, the last started first.
    List(list::ListArgs),
    /// Show a workflow: state, attempts, timeline.
    Show(inspect::ShowArgs),
    /// Print a workflow's history.
    History(history::HistoryArgs),
    /// List the runs of a workflow that was continued as new, the latest first.
    Runs(history::RunsArgs),
    /// Hand over nothing new until the resume.
    Pause(control::ReasonArgs),
    /// Hand over again.
    Resume(control::WorkflowArgs),
    /// End a workflow as soon as nothing is unsettled.
    Cancel(control::ReasonArgs),
    /// Go on with a driven workflow after its end.
    Reopen(control::ReasonArgs),
    /// Deliver a signal.
    Signal(control::SignalArgs),
    /// Store, list, fetch, route and delete archives of workflow code.
    #[command(subcommand)]
    Package(packages::PackageSub),
    /// Delete a workflow that has ended; what is left of it goes in an hour.
    Delete(control::WorkflowArgs),
    /// Forbid to delete a workflow, by command and by retention.
    Hold(control::ReasonArgs),
    /// Lift the hold of a workflow.
    Release(control::WorkflowArgs),
    /// Write a workflow as JSON lines, to keep or to import.
    Export(archive::ExportArgs),
    /// Make a workflow of what `export` wrote.
    Import(archive::ImportArgs),
    /// Say whether a deployed fleet is whole and well, and what to do if not.
    Doctor,
    /// Show what a deployed fleet gave up, and why.
    DeadLetters(letters::DeadLettersArgs),
    /// Send dead letters again, once what was wrong is mended.
    Redrive(letters::RedriveArgs),
    /// Run the five functions in this process, where no Lambda runs them.
    Functions(functions::FunctionsArgs),
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// What ends the command other than well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A file or an argument is wrong.
    #[error("{0}")]
    Usage(String),
    /// There is no such workflow.
    #[error("no workflow {0}")]
    NotFound(WorkflowId),
    /// The fleet's answer was no.
    #[error("{0}")]
    Refused(everlog::Rejection),
    /// The local stack.
    #[error("{0}")]
    Stack(String),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::NotFound(_) => 5,
            Self::Refused(_) => 6,
            Self::Stack(_) => 70,
        }
    }

    /// An error of the stack, with all that caused it.
    fn stack(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self::Stack(text)
    }
}

fn namespace(text: &str) -> Result<Namespace, String> {
    Namespace::new(text).map_err(|e| e.to_string())
}

pub(crate) fn workflow(text: &str) -> Result<WorkflowId, String> {
    WorkflowId::new(text).map_err(|e| e.to_string())
}

/// `name=value`: whole numbers, `true` and `false` are themselves, and all else
/// is a text, with or without quotes.
fn attribute(text: &str) -> Result<(AttributeName, AttributeValue), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("expected name=value, found {text}"))?;
    let name = AttributeName::new(name).map_err(|e| e.to_string())?;
    let value = serde_json::from_str(value).unwrap_or(AttributeValue::Text(value.to_owned()));
    Ok((name, value))
}

/// Runs the command line.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_env("EVERLOG_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("everlog: {error}");
            return ExitCode::from(70);
        }
    };
    let json = cli.global.json;
    let ended = runtime.block_on(dispatch(cli));
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(failure) if json => {
            let error = serde_json::json!({ "error": failure.to_string(), "exit": failure.code() });
            println!("{error}");
            ExitCode::from(failure.code())
        }
        Err(failure) => {
            eprintln!("everlog: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

async fn dispatch(cli: Cli) -> Result<u8, Failure> {
    let global = cli.global;
    match cli.command {
        None => example::example(&global, &example::ExampleArgs::default()).await,
        Some(Sub::Run(args)) => run::run(&global, &args).await,
        Some(Sub::Example(args)) => example::example(&global, &args).await,
        Some(Sub::List(args)) => list::list(&global, &args).await,
        Some(Sub::Show(args)) => inspect::show(&global, &args).await,
        Some(Sub::History(args)) => history::history(&global, &args).await,
        Some(Sub::Runs(args)) => history::runs(&global, &args).await,
        Some(Sub::Pause(args)) => control::pause(&global, args).await,
        Some(Sub::Resume(args)) => control::resume(&global, args).await,
        Some(Sub::Cancel(args)) => control::cancel(&global, args).await,
        Some(Sub::Reopen(args)) => control::reopen(&global, args).await,
        Some(Sub::Signal(args)) => control::signal(&global, args).await,
        Some(Sub::Package(what)) => packages::package(&global, &what).await,
        Some(Sub::Delete(args)) => control::delete(&global, args).await,
        Some(Sub::Hold(args)) => control::hold(&global, args).await,
        Some(Sub::Release(args)) => control::release(&global, args).await,
        Some(Sub::Export(args)) => archive::export(&global, &args).await,
        Some(Sub::Import(args)) => archive::import(&global, &args).await,
        Some(Sub::Doctor) => doctor::doctor(&global).await,
        Some(Sub::DeadLetters(args)) => letters::dead_letters(&global, &args).await,
        Some(Sub::Redrive(args)) => letters::redrive(&global, &args).await,
        Some(Sub::Functions(args)) => functions::functions(&global, &args).await,
        Some(Sub::Completions { shell }) => {
            clap_complete::generate(shell, &mut Cli::command(), "everlog", &mut std::io::stdout());
            Ok(0)
        }
    }
}
