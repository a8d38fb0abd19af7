//! A store that forgets one rule: requests are rewritten on their way to it.

use everlog_local::backend::Answer;
use everlog_local::transport::{Call, Handler};
use serde_json::{Value, json};

use crate::request::{Kind, kind};

/// A rule of the card or the log, left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// The alarm moves later whatever `alarm_rev` is.
    RevCompared,
    /// A bump changes nothing.
    Bump,
    /// A bump does not ask whether the alarm still is early enough.
    BumpChecksAlarm,
    /// The alarm is not moved down before a commit.
    CardFirst,
    /// A commit replaces what stands there.
    PutIfAbsent,
    /// A card is made over one that is there.
    CreateIfAbsent,
    /// A card is written whatever incarnation it is of.
    Fence,
    /// A status lands over a later one.
    AsOf,
    /// A take-over does not ask whose card it takes.
    TakeOverCompares,
}

/// Puts `rule` out of force before `inner`.
pub fn without(rule: Without, inner: Handler) -> Handler {
    std::sync::Arc::new(move |call| {
        let Some(kind) = kind(&call) else { return inner(call) };
        if rule == Without::CardFirst && kind == Kind::Lower {
            return Box::pin(async { Ok(accepted()) });
        }
        if !applies(rule, &kind) {
            return inner(call);
        }
        let mut request: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        rewrite(rule, &mut request);
        inner(Call { target: call.target, body: request.to_string().into_bytes().into() })
    })
}

fn accepted() -> Answer {
    Answer { status: 200, headers: Vec::new(), body: b"{}".to_vec() }
}

fn applies(rule: Without, kind: &Kind) -> bool {
    match rule {
        Without::RevCompared => {
            matches!(kind, Kind::Raise | Kind::Show { alarm: true, .. })
        }
        Without::Bump | Without::BumpChecksAlarm => *kind == Kind::Bump,
        Without::PutIfAbsent => matches!(kind, Kind::Put { .. }),
        Without::CreateIfAbsent => *kind == Kind::Create,
        Without::Fence => {
            matches!(kind, Kind::Lower | Kind::Bump | Kind::Raise | Kind::Show { .. })
        }
        Without::AsOf => matches!(kind, Kind::Show { .. }),
        Without::TakeOverCompares => *kind == Kind::TakeOver,
        Without::CardFirst => false,
    }
}

fn rewrite(rule: Without, request: &mut Value) {
    match rule {
        Without::RevCompared => {
            cut(request, "ConditionExpression", " AND alarm_rev = :rev");
            forget(request, ":rev");
        }
        Without::Bump => {
            cut(request, "UpdateExpression", "ADD alarm_rev :one");
            request["UpdateExpression"] = json!("ADD bumps :one");
        }
        Without::BumpChecksAlarm => {
            cut(request, "ConditionExpression", " AND alarm_at <= :tick");
            forget(request, ":tick");
        }
        Without::PutIfAbsent | Without::CreateIfAbsent => {
            for part in ["ConditionExpression", "ExpressionAttributeNames"] {
                let cut = request.as_object_mut().and_then(|request| request.remove(part));
                assert!(cut.is_some(), "a put without {part}: {request}");
            }
        }
        Without::Fence => {
            cut(request, "ConditionExpression", "incarnation = :inc AND ");
            forget(request, ":inc");
        }
        Without::AsOf => cut(request, "ConditionExpression", " AND as_of < :as_of"),
        Without::TakeOverCompares => {
            request["ConditionExpression"] = json!("attribute_exists(pk)");
            forget(request, ":from");
        }
        Without::CardFirst => {}
    }
}

fn cut(request: &mut Value, part: &str, rule: &str) {
    let text = request[part].as_str().unwrap_or_default();
    assert!(text.contains(rule), "{part} has no {rule:?}: {text}");
    request[part] = text.replace(rule, "").into();
}

fn forget(request: &mut Value, value: &str) {
    let values = request["ExpressionAttributeValues"].as_object_mut();
    assert!(values.is_some_and(|values| values.remove(value).is_some()), "no {value}");
}
