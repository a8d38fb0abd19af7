//! `export` and `import`: a workflow as JSON lines, and back.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::path::PathBuf;

use clap::Args;
use everlog::archive::{self, ArchiveError};
use everlog::id::WorkflowId;
use serde_json::json;

use super::session::Session;
use super::{Failure, Global};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The workflow.
    #[arg(value_parser = super::workflow)]
    workflow: WorkflowId,
    /// The file; standard output, if none is named.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file that `export` wrote; `-` is standard input.
    file: PathBuf,
}

fn failure(error: ArchiveError) -> Failure {
    match error {
        ArchiveError::Journal(error) => Failure::stack(&error),
        refused => Failure::Usage(refused.to_string()),
    }
}

pub(super) async fn export(global: &Global, args: &ExportArgs) -> Result<u8, Failure> {
    let session = Session::open(global, &[]).await?;
    let (key, loaded) = session.load(&args.workflow).await?;
    let journal = session.journal();
    let written = match &args.out {
        None => archive::export(journal, &key, &loaded, std::io::stdout()).await,
        Some(path) => {
            let named = |error| Failure::Usage(format!("{}: {error}", path.display()));
            let file = BufWriter::new(File::create(path).map_err(named)?);
            archive::export(journal, &key, &loaded, file).await
        }
    };
    written.map_err(failure)?;
    Ok(0)
}

pub(super) async fn import(global: &Global, args: &ImportArgs) -> Result<u8, Failure> {
    let named = |error: std::io::Error| Failure::Usage(format!("{}: {error}", args.file.display()));
    let input: Box<dyn Read> = match args.file.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => Box::new(File::open(&args.file).map_err(named)?),
    };
    let archive = archive::read(BufReader::new(input)).map_err(failure)?;
    if archive.namespace != global.namespace {
        let what = format!("namespace {}, expected {}", archive.namespace, global.namespace);
        return Err(Failure::Usage(what));
    }
    let session = Session::open(global, &[]).await?;
    let imported = archive::import(session.journal(), &archive).await.map_err(failure)?;
    let (id, commits) = (&archive.workflow, archive.commits());
    match (global.json, imported.unchanged) {
        (true, unchanged) => println!(
            "{}",
            json!({
                "workflow": id,
                "incarnation": imported.incarnation,
                "commits": commits,
                "unchanged": unchanged,
            })
        ),
        (false, true) => println!("{id}: it was there already"),
        (false, false) => println!("{id}: {commits} commits"),
    }
    Ok(0)
}
