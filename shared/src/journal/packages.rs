//! Packages: archives of workflow code, by type and content hash, and one route
//! for each type.
//!
//! ```text
//! #package#<type>#<hash>   x#<upload>#<at>   a chunk; never changes
//! #packages                t#<type>          the versions of a type, and its route
//! ```
//!
//! The chunks go first, under an id of this upload; then one conditional write
//! names them and points the route at them. So a package is there whole, with
//! its route, or not at all, and no two uploads share a chunk: what is replaced
//! can be removed without asking who else needs it. What a process that died
//! has left is removed by [`Journal::tidy_packages`] after a day.
//!
//! A deployment that comes late never takes the route back from a newer one.
//!
//! It deliberately does not look into an archive, and starts nothing: a start
//! names the package that its run is pinned to.

mod chunks;

use std::collections::HashMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity, ReturnValue};

use super::faults::{Fault, retried};
use super::items::{self, BYTES, CHUNKS, DEPLOYED_AT, Item, PK, ROUTE, ROUTED_AT, SK, UPLOAD};
use super::{Journal, JournalError, Purpose};
use crate::id::{PackageHash, WorkflowType};
use crate::time::Timestamp;

/// Bytes of an archive: 50 MB.
pub const PACKAGE_BYTES_MAX: usize = 50_000_000;
/// Versions of one type.
pub const VERSIONS_MAX: usize = 1_000;

/// Where all types stand.
const TYPES: &str = "#packages";

/// One archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// The workflow type that it serves.
    pub workflow_type: WorkflowType,
    /// The SHA-256 of the archive.
    pub hash: PackageHash,
    /// Its length.
    pub bytes: u64,
    /// When it was put last.
    pub deployed_at: Timestamp,
    /// Whether the route of its type points at it.
    pub routed: bool,
    chunks: u32,
    upload: String,
}

/// Why a package is not stored, or not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageError {
    /// It is empty, or above [`PACKAGE_BYTES_MAX`].
    #[error("archive: expected 1 to {PACKAGE_BYTES_MAX} bytes, found {0}")]
    Size(usize),
    /// Its type has [`VERSIONS_MAX`] others; delete some.
    #[error("versions of a type: expected at most {VERSIONS_MAX}, found {0}")]
    Versions(usize),
    /// A newer deployment has the route. The archive is stored.
    #[error("a deployment of {0:?} has the route")]
    Superseded(Timestamp),
    /// The type has no such version.
    #[error("no such version")]
    NotFound,
    /// The store failed; do it again.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Journal {
    /// Stores an archive and points the route of its type at it, together. An
    /// archive that is there already is put again: its deploy time is now.
    ///
    /// Costs a write unit a started KiB of the archive, and one or two for the
    /// types' item (a KiB holds some six versions).
    ///
    /// # Errors
    /// [`PackageError`]; nothing names the archive then, unless it is
    /// [`PackageError::Superseded`].
    pub async fn put_package(
        &self,
        workflow_type: &WorkflowType,
        archive: &[u8],
    ) -> Result<Package, PackageError> {
        if archive.is_empty() || archive.len() > PACKAGE_BYTES_MAX {
            return Err(PackageError::Size(archive.len()));
        }
        let hash = PackageHash::of(archive);
        let before = self.versions(workflow_type).await?;
        if before.len() >= VERSIONS_MAX && before.iter().all(|package| package.hash != hash) {
            return Err(PackageError::Versions(before.len()));
        }
        let deployed_at = self.clock.now();
        let upload = format!("{:014}-{:016x}", deployed_at.0, rand::random::<u64>());
        let chunks = self.put_archive(workflow_type, hash, &upload, archive).await?;
        let package = Package {
            workflow_type: workflow_type.clone(),
            hash,
            bytes: archive.len() as u64,
            deployed_at,
            routed: true,
            chunks,
            upload,
        };
        self.name(&package).await?;
        Ok(package)
    }

    /// One write: the version, and the route unless a newer deployment has it.
    async fn name(&self, package: &Package) -> Result<(), PackageError> {
        let set = |update: UpdateItemFluentBuilder| {
            update
                .expression_attribute_names("#version", version_attribute(package.hash))
                .expression_attribute_values(":version", described(package))
        };
        let routed = set(self.update_type(&package.workflow_type))
            .update_expression(format!(
                "SET #version = :version, {ROUTE} = :hash, {ROUTED_AT} = :now"
            ))
            .condition_expression(format!(
                "attribute_not_exists({ROUTED_AT}) OR {ROUTED_AT} <= :now"
            ))
            .expression_attribute_values(":hash", items::text(package.hash.to_string()))
            .expression_attribute_values(":now", items::number(package.deployed_at.0));
        if let Some(old) = self.send_type(routed).await? {
            self.drop_replaced(package, &old).await;
            return Ok(());
        }
        let stored = set(self.update_type(&package.workflow_type))
            .update_expression("SET #version = :version")
            .condition_expression(format!("attribute_exists({ROUTED_AT})"));
        if let Some(old) = self.send_type(stored).await? {
            self.drop_replaced(package, &old).await;
        }
        let newer = self.type_item(&package.workflow_type).await?;
        let at = newer.as_ref().and_then(|item| items::read_number(item, ROUTED_AT));
        Err(PackageError::Superseded(Timestamp(at.unwrap_or_default())))
    }

    /// Best effort: what stays is tidied up after a day.
    async fn drop_replaced(&self, package: &Package, old: &Item) {
        let old = version(&package.workflow_type, package.hash, old);
        if let Some(old) = old.filter(|old| old.upload != package.upload)
            && let Err(error) = self.drop_archive(&old).await
        {
            tracing::warn!(%error, upload = old.upload, "chunks of a replaced upload stay");
        }
    }

    /// An archive, whole and of its hash.
    ///
    /// Costs a read unit a started 4 KiB.
    ///
    /// # Errors
    /// [`PackageError::NotFound`], and as reads; a chunk that is missing, or
    /// another hash, is damage.
    pub async fn package(
        &self,
        workflow_type: &WorkflowType,
        hash: PackageHash,
    ) -> Result<Vec<u8>, PackageError> {
        let mut last = None;
        // It may be put again while it is read: then its chunks are others.
        for _ in 0..3 {
            let package = self.find(workflow_type, hash).await?.ok_or(PackageError::NotFound)?;
            match self.read_archive(&package).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) if last.as_ref() == Some(&package.upload) => return Err(error.into()),
                Err(_) => last = Some(package.upload),
            }
        }
        Err(JournalError::Unavailable("a package that is put again and again".into()).into())
    }

    /// The version that the route of a type points at; it may be deleted by now.
    ///
    /// Costs a read unit a started 4 KiB of the type's versions.
    ///
    /// # Errors
    /// As reads.
    pub async fn route(
        &self,
        workflow_type: &WorkflowType,
    ) -> Result<Option<PackageHash>, JournalError> {
        let Some(item) = self.type_item(workflow_type).await? else { return Ok(None) };
        Ok(items::read_text(&item, ROUTE).and_then(|hash| hash.parse().ok()))
    }

    /// Points the route of a type at a version that is there: a roll-back.
    ///
    /// # Errors
    /// [`PackageError::NotFound`], [`PackageError::Superseded`], and as writes.
    pub async fn set_route(
        &self,
        workflow_type: &WorkflowType,
        hash: PackageHash,
    ) -> Result<(), PackageError> {
        let now = self.clock.now();
        let update = self
            .update_type(workflow_type)
            .update_expression(format!("SET {ROUTE} = :hash, {ROUTED_AT} = :now"))
            .condition_expression(format!("attribute_exists(#version) AND {ROUTED_AT} <= :now"))
            .expression_attribute_names("#version", version_attribute(hash))
            .expression_attribute_values(":hash", items::text(hash.to_string()))
            .expression_attribute_values(":now", items::number(now.0));
        if self.send_type(update).await?.is_some() {
            return Ok(());
        }
        let item = self.type_item(workflow_type).await?.unwrap_or_default();
        match version(workflow_type, hash, &item) {
            Some(_) => {
                let at = items::read_number(&item, ROUTED_AT).unwrap_or_default();
                Err(PackageError::Superseded(Timestamp(at)))
            }
            None => Err(PackageError::NotFound),
        }
    }

    /// All packages, the last deployed first.
    ///
    /// Costs a read unit a started 4 KiB of what stands there of all types.
    ///
    /// # Errors
    /// As reads.
    pub async fn packages(&self) -> Result<Vec<Package>, JournalError> {
        let mut all = Vec::new();
        for item in self.query_between(TYPES, "!", "~").await? {
            let sort_key = items::read_text(&item, SK).and_then(|sk| sk.strip_prefix("t#"));
            let named = sort_key.and_then(|name| WorkflowType::new(name).ok());
            let named =
                named.ok_or_else(|| JournalError::Damaged("a package of no type".into()))?;
            all.extend(versions(&named, &item));
        }
        all.sort_by(|a: &Package, b| {
            (b.deployed_at, &a.workflow_type, a.hash).cmp(&(
                a.deployed_at,
                &b.workflow_type,
                b.hash,
            ))
        });
        Ok(all)
    }

    /// Removes exactly this version; whether it was there. The route stays as it is.
    ///
    /// # Errors
    /// As writes: do it again.
    pub async fn delete_package(
        &self,
        workflow_type: &WorkflowType,
        hash: PackageHash,
    ) -> Result<bool, JournalError> {
        let update = self
            .update_type(workflow_type)
            .update_expression("REMOVE #version")
            .condition_expression("attribute_exists(#version)")
            .expression_attribute_names("#version", version_attribute(hash));
        let Some(old) = self.send_type(update).await? else { return Ok(false) };
        if let Some(old) = version(workflow_type, hash, &old) {
            self.drop_archive(&old).await?;
        }
        Ok(true)
    }

    async fn find(
        &self,
        workflow_type: &WorkflowType,
        hash: PackageHash,
    ) -> Result<Option<Package>, JournalError> {
        let item = self.type_item(workflow_type).await?;
        Ok(item.and_then(|item| version(workflow_type, hash, &item)))
    }

    async fn versions(&self, workflow_type: &WorkflowType) -> Result<Vec<Package>, JournalError> {
        let item = self.type_item(workflow_type).await?;
        Ok(item.map(|item| versions(workflow_type, &item).collect()).unwrap_or_default())
    }

    async fn type_item(&self, workflow_type: &WorkflowType) -> Result<Option<Item>, JournalError> {
        self.get(TYPES, &format!("t#{workflow_type}"), Purpose::ChunkRead).await
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the journal is where updates belong; each sets a condition"
    )]
    fn update_type(&self, workflow_type: &WorkflowType) -> UpdateItemFluentBuilder {
        self.db
            .update_item()
            .table_name(&self.table)
            .key(PK, items::text(TYPES))
            .key(SK, items::text(format!("t#{workflow_type}")))
            .return_values(ReturnValue::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
    }

    /// What stood there before, if the condition held. Repeated where there was
    /// no answer: what an update here says is the same the second time.
    async fn send_type(
        &self,
        update: UpdateItemFluentBuilder,
    ) -> Result<Option<Item>, JournalError> {
        debug_assert!(update.get_condition_expression().is_some(), "a write without a condition");
        retried(async || match update.clone().send().await {
            Ok(answer) => {
                self.meter.record(Purpose::ChunkWrite, answer.consumed_capacity());
                Ok(Some(answer.attributes.unwrap_or_default()))
            }
            Err(error) => self.refused(&error),
        })
        .await
    }

    fn refused(
        &self,
        error: &SdkError<
            UpdateItemError,
            aws_smithy_runtime_api::client::orchestrator::HttpResponse,
        >,
    ) -> Result<Option<Item>, Fault> {
        match self.fault(error) {
            Fault::Condition => {
                self.meter.refused(Purpose::ChunkWrite);
                Ok(None)
            }
            other => Err(other),
        }
    }
}

fn version_attribute(hash: PackageHash) -> String {
    format!("v#{hash}")
}

fn described(package: &Package) -> AttributeValue {
    AttributeValue::M(HashMap::from([
        (BYTES.to_owned(), items::number(package.bytes)),
        (CHUNKS.to_owned(), items::number(u64::from(package.chunks))),
        (DEPLOYED_AT.to_owned(), items::number(package.deployed_at.0)),
        (UPLOAD.to_owned(), items::text(&package.upload)),
    ]))
}

fn versions<'a>(
    workflow_type: &'a WorkflowType,
    item: &'a Item,
) -> impl Iterator<Item = Package> + 'a {
    let hashes = item.keys().filter_map(|name| name.strip_prefix("v#")?.parse().ok());
    hashes.filter_map(move |hash| version(workflow_type, hash, item))
}

fn version(workflow_type: &WorkflowType, hash: PackageHash, item: &Item) -> Option<Package> {
    let described = item.get(&version_attribute(hash))?.as_m().ok()?;
    Some(Package {
        workflow_type: workflow_type.clone(),
        hash,
        bytes: items::read_number(described, BYTES)?,
        deployed_at: Timestamp(items::read_number(described, DEPLOYED_AT)?),
        routed: items::read_text(item, ROUTE) == Some(&hash.to_string()),
        chunks: u32::try_from(items::read_number(described, CHUNKS)?).ok()?,
        upload: items::read_text(described, UPLOAD)?.to_owned(),
    })
}
