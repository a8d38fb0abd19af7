//! The lines of an archive, and how they are read back.

use std::io::BufRead;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ArchiveError, FORMAT, hex};
use crate::id::{Incarnation, Namespace, WorkflowId};
use crate::query::HistoryEvent;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeaderLine {
    pub export: u32,
    pub namespace: Namespace,
    pub workflow: WorkflowId,
    pub incarnation: Incarnation,
    pub commits: u64,
    pub head: u64,
}

/// A part of a stored plan, by its sort key.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChunkLine {
    pub chunk: String,
    pub frame: String,
}

/// A commit.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitLine {
    pub commit: u64,
    pub frame: String,
    #[serde(default)]
    pub events: Vec<HistoryEvent>,
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub end: String,
}

/// A line that is none of the first.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Commit(CommitLine),
    Chunk(ChunkLine),
    End(EndLine),
}

/// An archive that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// The namespace.
    pub namespace: Namespace,
    /// The workflow.
    pub workflow: WorkflowId,
    /// The last sequence number.
    pub head: u64,
    /// SHA-256 of what was written.
    pub(super) hash: String,
    /// Parts of stored plans: sort keys and bytes.
    pub(super) chunks: Vec<(String, Vec<u8>)>,
    /// Commits 1, 2, 3, … as they stood in the table.
    pub(super) frames: Vec<Vec<u8>>,
}

impl Archive {
    /// How many commits it has.
    #[must_use]
    pub fn commits(&self) -> usize {
        self.frames.len()
    }
}

pub(super) fn text(frame: &[u8]) -> String {
    aws_smithy_types::base64::encode(frame)
}

/// Reads an archive: all of it, and whether it is as it was written. It is held
/// in memory.
///
/// # Errors
/// [`ArchiveError::Invalid`], with the line; [`ArchiveError::Io`].
pub fn read(input: impl BufRead) -> Result<Archive, ArchiveError> {
    let mut archive = None::<Archive>;
    let (mut hash, mut wanted, mut ended) = (Sha256::new(), 0, false);
    let mut line = 0;
    for text in lines(input) {
        line += 1;
        let text = text?;
        let invalid = |what: String| ArchiveError::Invalid { line, what };
        if ended {
            return Err(invalid("more after the end".into()));
        }
        let Some(archive) = &mut archive else {
            let header: HeaderLine = serde_json::from_slice(&text)
                .map_err(|e| invalid(format!("no head of an archive: {e}")))?;
            if header.export == 0 || header.export > FORMAT {
                let what = format!("format {}, expected 1 to {FORMAT}", header.export);
                return Err(invalid(what));
            }
            hash.update(&text);
            wanted = header.commits;
            archive = Some(Archive {
                namespace: header.namespace,
                workflow: header.workflow,
                head: header.head,
                hash: String::new(),
                chunks: Vec::new(),
                frames: Vec::new(),
            });
            continue;
        };
        let decode = |frame: &str| {
            aws_smithy_types::base64::decode(frame).map_err(|e| invalid(format!("frame: {e}")))
        };
        match serde_json::from_slice(&text).map_err(|e| invalid(e.to_string()))? {
            Line::Chunk(chunk) => {
                if !archive.frames.is_empty() || !chunk.chunk.starts_with("x#") {
                    return Err(invalid(format!("chunk {} out of its place", chunk.chunk)));
                }
                archive.chunks.push((chunk.chunk, decode(&chunk.frame)?));
            }
            Line::Commit(commit) => {
                let next = archive.frames.len() as u64 + 1;
                if commit.commit != next {
                    let what = format!("commit {}, expected {next}", commit.commit);
                    return Err(invalid(what));
                }
                archive.frames.push(decode(&commit.frame)?);
            }
            Line::End(end) => {
                let found = hex(&hash.clone().finalize());
                if end.end != found {
                    return Err(invalid("it is not as it was written: another hash".into()));
                }
                (archive.hash, ended) = (found, true);
            }
        }
        hash.update(&text);
    }
    match archive {
        Some(archive) if ended && archive.frames.len() as u64 == wanted => Ok(archive),
        Some(archive) if ended => {
            let what = format!("{} commits, expected {wanted}", archive.frames.len());
            Err(ArchiveError::Invalid { line, what })
        }
        _ => Err(ArchiveError::Invalid { line: line + 1, what: "it has no end".into() }),
    }
}

/// Lines with what ends them.
fn lines(mut input: impl BufRead) -> impl Iterator<Item = std::io::Result<Vec<u8>>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) => Some(Ok(line)),
            Err(error) => Some(Err(error)),
        }
    })
}
