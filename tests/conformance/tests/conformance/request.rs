//! What a request to DynamoDB is, in the words of the protocol.
//!
//! Anything that the protocol does not speak of (checkpoints, chunks, queues)
//! has no kind, and passes the gate. An update that nothing here recognises is
//! [`Kind::Unknown`], and a schedule that meets one fails.

use everlog_local::transport::Call;
use serde_json::Value;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Reads the card.
    CardRead,
    /// Reads a checkpoint or commits.
    LogRead,
    /// Makes the card.
    Create,
    /// Gives the card to the next incarnation.
    TakeOver,
    /// Moves the alarm down, `alarm_rev` + 1.
    Lower,
    /// `alarm_rev` + 1.
    Bump,
    /// A commit.
    Put { incarnation: u64, number: u64 },
    /// The status; `alarm` says that it takes the alarm away as well.
    Show { status: String, as_of: u64, alarm: bool },
    /// Moves the alarm on the strength of a commit.
    Raise,
    /// An update that is none of these.
    Unknown,
}

impl Kind {
    /// Whether it writes.
    pub fn writes(&self) -> bool {
        !matches!(self, Self::CardRead | Self::LogRead)
    }
}

/// What `call` is; `None` passes straight through.
pub fn kind(call: &Call) -> Option<Kind> {
    let request: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    match call.target.rsplit('.').next().unwrap_or_default() {
        "GetItem" => match request["Key"]["sk"]["S"].as_str() {
            Some("card") => Some(Kind::CardRead),
            _ => Some(Kind::LogRead),
        },
        "Query" => Some(Kind::LogRead),
        "PutItem" => put(request["Item"]["sk"]["S"].as_str().unwrap_or_default()),
        "UpdateItem" => Some(update(&request)),
        _ => None,
    }
}

fn put(sort_key: &str) -> Option<Kind> {
    if sort_key == "card" {
        return Some(Kind::Create);
    }
    let (incarnation, number) = sort_key.strip_prefix("c#")?.split_once('#')?;
    Some(Kind::Put { incarnation: incarnation.parse().ok()?, number: number.parse().ok()? })
}

fn update(request: &Value) -> Kind {
    let expression = request["UpdateExpression"].as_str().unwrap_or_default();
    let values = &request["ExpressionAttributeValues"];
    let number = |name: &str| values[name]["N"].as_str().and_then(|n| n.parse().ok());
    let has = |name: &str| !values[name].is_null();
    if has(":from") {
        Kind::TakeOver
    } else if has(":status") {
        let status = values[":status"]["S"].as_str().unwrap_or_default().to_owned();
        let alarm = expression.contains("alarm_at");
        Kind::Show { status, as_of: number(":as_of").unwrap_or(0), alarm }
    } else if expression.starts_with("SET alarm_at = :tick") && expression.contains("ADD") {
        Kind::Lower
    } else if expression.starts_with("ADD alarm_rev") {
        Kind::Bump
    } else if expression.starts_with("SET alarm_at = :tick")
        || expression.starts_with("REMOVE alarm_at")
    {
        Kind::Raise
    } else {
        Kind::Unknown
    }
}

/// The incarnation that a write of the card names, if it names one.
pub fn names(call: &Call) -> Option<u64> {
    let request: Value = serde_json::from_slice(&call.body).ok()?;
    request["ExpressionAttributeValues"][":inc"]["N"].as_str()?.parse().ok()
}
