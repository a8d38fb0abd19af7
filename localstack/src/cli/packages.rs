//! `everlog package`: archives of workflow code, and their routes.

use std::path::PathBuf;

use clap::Subcommand;
use everlog::id::{PackageHash, WorkflowType};
use everlog::journal::{Package, PackageError};
use serde_json::json;

use super::session::Session;
use super::{Failure, Global, timeline};

#[derive(Debug, Subcommand)]
pub(crate) enum PackageSub {
    /// Store an archive and point the route of its type at it.
    Put {
        /// The workflow type.
        #[arg(value_parser = workflow_type)]
        workflow_type: WorkflowType,
        /// The archive, at most 50 MB.
        file: PathBuf,
    },
    /// List all packages, the last deployed first.
    List,
    /// Write an archive to a file.
    Get {
        /// The workflow type.
        #[arg(value_parser = workflow_type)]
        workflow_type: WorkflowType,
        /// Its content hash, as `list` shows it.
        hash: PackageHash,
        /// Where to.
        file: PathBuf,
    },
    /// Show where the route of a type points, or point it at a version: a roll-back.
    Route {
        /// The workflow type.
        #[arg(value_parser = workflow_type)]
        workflow_type: WorkflowType,
        /// The version's content hash.
        hash: Option<PackageHash>,
    },
    /// Remove a version; routes stay as they are.
    Delete {
        /// The workflow type.
        #[arg(value_parser = workflow_type)]
        workflow_type: WorkflowType,
        /// Its content hash.
        hash: PackageHash,
    },
}

fn workflow_type(text: &str) -> Result<WorkflowType, String> {
    WorkflowType::new(text).map_err(|e| e.to_string())
}

fn failure(error: PackageError) -> Failure {
    match error {
        PackageError::Journal(error) => Failure::stack(&error),
        refused => Failure::Usage(refused.to_string()),
    }
}

pub(super) async fn package(global: &Global, what: &PackageSub) -> Result<u8, Failure> {
    let session = Session::open(global, &[]).await?;
    let journal = session.journal();
    match what {
        PackageSub::Put { workflow_type, file } => {
            let archive = std::fs::read(file)
                .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
            let package = journal.put_package(workflow_type, &archive).await.map_err(failure)?;
            show(global, &[package]);
        }
        PackageSub::List => {
            show(global, &journal.packages().await.map_err(|e| Failure::stack(&e))?);
        }
        PackageSub::Get { workflow_type, hash, file } => {
            let archive = journal.package(workflow_type, *hash).await.map_err(failure)?;
            std::fs::write(file, archive)
                .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
        }
        PackageSub::Route { workflow_type, hash: None } => {
            let route = journal.route(workflow_type).await.map_err(|e| Failure::stack(&e))?;
            match (global.json, route) {
                (true, route) => println!("{}", json!({ "route": route.map(|r| r.to_string()) })),
                (false, Some(route)) => println!("{route}"),
                (false, None) => println!("no route"),
            }
        }
        PackageSub::Route { workflow_type, hash: Some(hash) } => {
            journal.set_route(workflow_type, *hash).await.map_err(failure)?;
        }
        PackageSub::Delete { workflow_type, hash } => {
            let there = journal.delete_package(workflow_type, *hash).await;
            match (global.json, there.map_err(|e| Failure::stack(&e))?) {
                (true, there) => println!("{}", json!({ "deleted": there })),
                (false, true) => println!("deleted"),
                (false, false) => println!("it was not there"),
            }
        }
    }
    Ok(0)
}

fn show(global: &Global, packages: &[Package]) {
    if global.json {
        let all: Vec<_> = packages
            .iter()
            .map(|package| {
                json!({
                    "type": package.workflow_type,
                    "hash": package.hash.to_string(),
                    "bytes": package.bytes,
                    "deployed_at": package.deployed_at,
                    "routed": package.routed,
                })
            })
            .collect();
        println!("{}", json!(all));
        return;
    }
    if packages.is_empty() {
        println!("no packages");
    }
    for package in packages {
        let mark = if package.routed { "*" } else { " " };
        let at = timeline::instant(package.deployed_at);
        let (name, bytes) = (&package.workflow_type, package.bytes);
        println!("{mark} {at}  {bytes:>10}  {}  {name}", package.hash);
    }
}
