//! The table itself: keys and indexes, as `infra/template.yaml` declares them.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};

use super::JournalError;
use super::items::{
    ALARM_AT, ALARM_INDEX, ALARM_SHARD, ATTRIBUTES, CLOSED_AT, DISPLAY_NAME, LIST_AT, LIST_INDEX,
    LIST_KEY, PARENT, PK, SK, STARTED_AT, STATUS, TYPE, UPDATED_AT,
};

/// What the index of lists has beside its keys.
const LISTED: [&str; 8] =
    [STATUS, TYPE, STARTED_AT, CLOSED_AT, UPDATED_AT, DISPLAY_NAME, PARENT, ATTRIBUTES];

fn key(hash: &str, range: &str) -> [Option<KeySchemaElement>; 2] {
    let one = |name: &str, kind| {
        KeySchemaElement::builder().attribute_name(name).key_type(kind).build().ok()
    };
    [one(hash, KeyType::Hash), one(range, KeyType::Range)]
}

fn index(
    name: &str,
    hash: &str,
    range: &str,
    projection: Projection,
) -> Option<GlobalSecondaryIndex> {
    GlobalSecondaryIndex::builder()
        .index_name(name)
        .set_key_schema(Some(key(hash, range).into_iter().flatten().collect()))
        .projection(projection)
        .build()
        .ok()
}

/// The request that creates the table, for local stacks; AWS has the template.
#[must_use]
pub fn table_request(db: &aws_sdk_dynamodb::Client, table: &str) -> CreateTableFluentBuilder {
    let attributes = [
        (PK, ScalarAttributeType::S),
        (SK, ScalarAttributeType::S),
        (ALARM_SHARD, ScalarAttributeType::N),
        (ALARM_AT, ScalarAttributeType::N),
        (LIST_KEY, ScalarAttributeType::S),
        (LIST_AT, ScalarAttributeType::S),
    ];
    let attributes = attributes.into_iter().filter_map(|(name, kind)| {
        AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().ok()
    });
    let keys_only = Projection::builder().projection_type(ProjectionType::KeysOnly).build();
    let shown = Projection::builder()
        .projection_type(ProjectionType::Include)
        .set_non_key_attributes(Some(LISTED.map(str::to_owned).to_vec()))
        .build();
    let indexes = [
        index(ALARM_INDEX, ALARM_SHARD, ALARM_AT, keys_only),
        index(LIST_INDEX, LIST_KEY, LIST_AT, shown),
    ];
    db.create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(attributes.collect()))
        .set_key_schema(Some(key(PK, SK).into_iter().flatten().collect()))
        .set_global_secondary_indexes(Some(indexes.into_iter().flatten().collect()))
}

/// Creates the table if it does not exist.
///
/// # Errors
/// [`JournalError::Unavailable`].
pub async fn create_table(db: &aws_sdk_dynamodb::Client, table: &str) -> Result<(), JournalError> {
    match table_request(db, table).send().await {
        Ok(_) => Ok(()),
        Err(SdkError::ServiceError(error))
            if error.err().code() == Some("ResourceInUseException") =>
        {
            Ok(())
        }
        Err(error) => Err(JournalError::Unavailable(crate::said(&error))),
    }
}
