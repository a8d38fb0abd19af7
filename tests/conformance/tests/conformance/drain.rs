//! The end of a schedule: what was left is repeated, what rings is looked at,
//! and then nothing may be outstanding and the card must say what the log says.

use serde_json::Value;

use crate::rig::{Job, Rig};

/// Looks after which a workflow that still rings is a livelock.
const LOOKS_MAX: usize = 20;
/// Times that a command may be given back with nobody else about.
const TRIES_MAX: usize = 3;

/// Serves `commands` again, then looks whenever the alarm rings.
///
/// # Errors
/// What is not as it should be once all is quiet.
pub async fn drain(rig: &Rig, workflow: &str, commands: &[Value]) -> Result<(), String> {
    for body in commands {
        let job = Job::Command(body.clone());
        let mut tries = 0;
        while !rig.perform(workflow, &job).await {
            tries += 1;
            if tries == TRIES_MAX {
                return Err(format!("{body} is given back for ever"));
            }
        }
    }
    for _ in 0..LOOKS_MAX {
        let Some((_, card)) = rig.world.card(workflow).await else { return Ok(()) };
        let Some(alarm) = card.alarm_at else { return quiet(rig, workflow).await };
        let wait_ms = alarm.end().since(rig.clock().now());
        rig.pass(wait_ms).await;
        if !rig.perform(workflow, &Job::Look).await {
            return Err("a look with nobody else about is given back".into());
        }
    }
    Err(format!("it still rings after {LOOKS_MAX} looks"))
}

async fn quiet(rig: &Rig, workflow: &str) -> Result<(), String> {
    let (_, card) = rig.world.card(workflow).await.ok_or("no card")?;
    let (_, loaded) = rig.world.load(workflow).await;
    let state = loaded.state;
    if state.alarm.is_some() || state.earliest_due().is_some() {
        return Err(format!(
            "no alarm on the card, {:?} in the state, due {:?}",
            state.alarm,
            state.earliest_due()
        ));
    }
    let shown = card.status == state.status() && card.as_of == state.card_commit;
    let unlisted = state.status() == "abandoned" && card.status == "starting";
    if shown || unlisted {
        return Ok(());
    }
    Err(format!(
        "the card says {} of {}, the log {} of {}",
        card.status,
        card.as_of,
        state.status(),
        state.card_commit
    ))
}
