//! The five functions: are they there, alike, invoked, and let alone by the
//! recursion guard?

use std::collections::HashMap;

use aws_sdk_lambda::types::{FunctionResponseType, LastUpdateStatus, RecursiveLoop, State};
use everlog::commit::SCHEMA_READ_MAX;
use everlog::fleet::Function;

use super::{GONE, REDEPLOY, Report};
use crate::deployed::Deployed;

/// Examines the functions; returns the longest time-out, in seconds.
pub(super) async fn examine(deployed: &Deployed, report: &mut Report) -> Option<i32> {
    let mut longest = None;
    let mut first: Option<HashMap<String, String>> = None;
    for function in Function::ALL {
        let name = deployed.function_name(function.name());
        let asked = deployed.lambda.get_function().function_name(&name).send().await;
        let answer = match asked {
            Ok(answer) => answer,
            Err(error) => {
                let service = error.as_service_error();
                match service.is_some_and(|e| e.is_resource_not_found_exception()) {
                    true => report.fault(&name, "is not there", GONE),
                    false => report.unanswered(&name, &error),
                }
                continue;
            }
        };
        version(&name, answer.tags(), report);
        let Some(configuration) = answer.configuration() else { continue };
        let usable = !matches!(configuration.state(), Some(State::Failed | State::Inactive))
            && configuration.last_update_status() != Some(&LastUpdateStatus::Failed);
        match usable {
            true => report.ok(&name, "is there"),
            false => report.fault(&name, "can't be invoked: it failed or is inactive", REDEPLOY),
        }
        longest = longest.max(configuration.timeout());
        let variables = configuration.environment().and_then(|e| e.variables());
        let variables = variables.cloned().unwrap_or_default();
        environment(&name, deployed, &variables, first.as_ref(), report);
        first.get_or_insert(variables);
        recursion(deployed, &name, report).await;
        mapping(deployed, function, &name, report).await;
    }
    longest
}

fn version(name: &str, tags: Option<&HashMap<String, String>>, report: &mut Report) {
    let ours = env!("CARGO_PKG_VERSION");
    match tags.and_then(|tags| tags.get("everlog-version")) {
        Some(theirs) if theirs == ours => {}
        Some(theirs) => {
            let what = format!("is version {theirs}, this command is {ours}");
            report.advice(
                name,
                what,
                "use the command of the deployed version, or deploy this one",
            );
        }
        None => report.advice(name, "does not say its version", REDEPLOY),
    }
}

fn environment(
    name: &str,
    deployed: &Deployed,
    variables: &HashMap<String, String>,
    first: Option<&HashMap<String, String>>,
    report: &mut Report,
) {
    let get = |key: &str| variables.get(key).map_or("", String::as_str);
    if get("EVERLOG_TABLE") != deployed.table {
        let what = format!("EVERLOG_TABLE is {:?}, not {}", get("EVERLOG_TABLE"), deployed.table);
        report.fault(name, what, REDEPLOY);
    }
    let differs =
        first.is_some_and(|first| first.get("EVERLOG_QUEUES") != variables.get("EVERLOG_QUEUES"));
    if differs {
        report.fault(name, "EVERLOG_QUEUES differs from the other functions'", REDEPLOY);
    }
    let schema: Option<u16> = get("EVERLOG_SCHEMA").parse().ok();
    if schema.is_some_and(|schema| schema > SCHEMA_READ_MAX) {
        let what = format!(
            "writes schema {}, this command reads up to {SCHEMA_READ_MAX}",
            get("EVERLOG_SCHEMA")
        );
        report.fault(name, what, "use the command of the deployed version");
    }
}

async fn recursion(deployed: &Deployed, name: &str, report: &mut Report) {
    let asked = deployed.lambda.get_function_recursion_config().function_name(name).send().await;
    match asked {
        Ok(answer) if answer.recursive_loop() == Some(&RecursiveLoop::Allow) => {}
        Ok(_) => {
            let what = "Lambda ends what goes through it 16 times: RecursiveLoop is not Allow";
            report.fault(name, what, REDEPLOY);
        }
        Err(error) => report.unanswered(name, &error),
    }
}

async fn mapping(deployed: &Deployed, function: Function, name: &str, report: &mut Report) {
    let asked = deployed.lambda.list_event_source_mappings().function_name(name).send().await;
    let mappings = match asked {
        Ok(answer) => answer.event_source_mappings.unwrap_or_default(),
        Err(error) => return report.unanswered(name, &error),
    };
    let queue = deployed.queues.url(function.queue()).and_then(|url| url.rsplit('/').next());
    let mapping = mappings
        .iter()
        .find(|mapping| mapping.event_source_arn().and_then(|arn| arn.rsplit(':').next()) == queue);
    let Some(mapping) = mapping else {
        let what = format!("is not invoked by the queue {}", function.queue());
        return report.fault(name, what, GONE);
    };
    if !matches!(mapping.state(), Some("Enabled" | "Enabling" | "Updating" | "Creating")) {
        let what = format!("its mapping is {}", mapping.state().unwrap_or("in no state"));
        report.fault(name, what, "enable the event source mapping");
    }
    if !mapping.function_response_types().contains(&FunctionResponseType::ReportBatchItemFailures) {
        let what = "its mapping lacks ReportBatchItemFailures: what is given back would be lost";
        report.fault(name, what, REDEPLOY);
    }
}
