//! The checks are shown templates in which something is wrong, and must find
//! it: what a check does not miss, it does not hold. Each mutation names the
//! check that has to find it.

use everlog_template_tests::spoil::{at, document, found_by, of_kind, remove, with};
use serde_json::{Value, json};

const QUEUE: &str = "AWS::SQS::Queue";
const FUNCTION: &str = "AWS::Serverless::Function";
const ROLE: &str = "AWS::IAM::Role";
const MAPPING: &str = "Properties/Events/Messages/Properties";
const SWEEP: &str = "TimerSweepFunction/Properties";

#[test]
fn a_mapping_without_report_batch_item_failures_is_found() {
    for id in of_kind(FUNCTION) {
        let check = "every_mapping_reports_the_failures_of_a_batch";
        let path = format!("{id}/{MAPPING}/FunctionResponseTypes");
        found_by(check, &path, |document| remove(document, &path));
    }
}

#[test]
fn a_queue_that_gives_up_nowhere_or_wrongly_is_found() {
    let check = "every_queue_gives_up_to_one_of_its_kind_after_a_thousand_receives";
    for id in with(QUEUE, "Properties/RedrivePolicy") {
        let path = format!("{id}/Properties/RedrivePolicy");
        found_by(check, &path, |document| remove(document, &path));
        found_by(check, &format!("{path} after 1001"), |document| {
            at(document, &path)["maxReceiveCount"] = json!(1_001);
        });
    }
    let target = "Properties/RedrivePolicy/deadLetterTargetArn";
    found_by(check, "FIFO gives up to standard", |document| {
        *at(document, &format!("AppendQueue/{target}")) =
            json!({ "Fn::GetAtt": ["WakeUndelivered", "Arn"] });
    });
    found_by(check, "a default of 999 receives", |document| {
        document["Parameters"]["MaxReceiveCount"]["Default"] = json!(999);
    });
    found_by(check, "a default of 13 days", |document| {
        document["Parameters"]["RetentionS"]["Default"] = json!(13 * 86_400);
    });
    found_by(check, "what was given up goes sooner", |document| {
        *at(document, "SettleUndelivered/Properties/MessageRetentionPeriod") = json!(86_400);
    });
}

#[test]
fn a_place_for_failures_that_is_missing_is_found() {
    let check = "what_nobody_repeats_has_a_place_for_failures";
    for path in [
        format!("{SWEEP}/Events/EachMinute/Properties/DeadLetterConfig"),
        format!("{SWEEP}/Events/EachMinute/Properties/RetryPolicy"),
        format!("{SWEEP}/EventInvokeConfig/DestinationConfig"),
        format!("{SWEEP}/EventInvokeConfig"),
    ] {
        found_by(check, &path, |document| remove(document, &path));
    }
}

#[test]
fn a_function_that_may_not_recurse_is_found() {
    let check = "every_function_may_recurse";
    found_by(check, "no RecursiveLoop", |document| {
        document["Globals"]["Function"].as_object_mut().expect("globals").remove("RecursiveLoop");
    });
    for id in of_kind(FUNCTION) {
        found_by(check, &id, |document| {
            at(document, &format!("{id}/Properties"))["RecursiveLoop"] = json!("Terminate");
        });
    }
}

#[test]
fn a_mapping_or_schedule_that_is_missing_or_another_is_found() {
    let check = "every_function_is_invoked_by_its_own_queue";
    for id in of_kind(FUNCTION) {
        let path = format!("{id}/Properties/Events/Messages");
        found_by(check, &path, |document| remove(document, &path));
    }
    let schedule = format!("{SWEEP}/Events/EachMinute");
    found_by(check, &schedule, |document| remove(document, &schedule));
    found_by(check, "every five minutes", |document| {
        at(document, &schedule)["Properties"]["ScheduleExpression"] = json!("rate(5 minutes)");
    });
    found_by(check, "prepare by the queue of settle", |document| {
        *at(document, &format!("PrepareFunction/{MAPPING}/Queue")) =
            json!({ "Fn::GetAtt": ["SettleQueue", "Arn"] });
    });
}

#[test]
fn visibility_below_six_times_the_time_out_is_found() {
    let check = "visibility_is_six_times_the_time_out";
    for seconds in ["10", "30", "60", "300"] {
        found_by(check, seconds, |document| {
            let mapped = &mut document["Mappings"]["Visibility"][seconds]["Seconds"];
            *mapped = json!(mapped.as_u64().expect("seconds") - 1);
        });
    }
    found_by(check, "the default of SQS", |document| {
        remove(document, "WakeQueue/Properties/VisibilityTimeout");
    });
    found_by("every_intrinsic_function_resolves", "a time-out without visibility", |document| {
        let allowed = &mut document["Parameters"]["FunctionTimeoutS"]["AllowedValues"];
        allowed.as_array_mut().expect("a list").push(json!("600"));
    });
}

#[test]
fn a_queue_of_the_other_kind_is_found() {
    let check = "queues_are_of_the_kind_that_the_code_uses";
    found_by(check, "a FIFO wake queue", |document| {
        let properties = at(document, "WakeQueue/Properties");
        properties["QueueName"] = json!({ "Fn::Sub": "${AWS::StackName}-wake.fifo" });
        properties["FifoQueue"] = json!(true);
        properties["DeduplicationScope"] = json!("messageGroup");
        properties["FifoThroughputLimit"] = json!("perMessageGroupId");
    });
    found_by(check, "a standard settle queue", |document| {
        let properties = at(document, "SettleQueue/Properties");
        *properties = json!({ "QueueName": { "Fn::Sub": "${AWS::StackName}-settle" } });
    });
    for property in ["FifoQueue", "DeduplicationScope", "FifoThroughputLimit"] {
        for id in with(QUEUE, &format!("Properties/{property}")) {
            let path = format!("{id}/Properties/{property}");
            found_by(check, &path, |document| remove(document, &path));
        }
    }
}

#[test]
fn a_queue_that_takes_plain_http_or_is_in_the_clear_is_found() {
    let policy = "QueuesRefusePlainHttp/Properties";
    let count = of_kind(QUEUE).len();
    for at_queue in 0..count {
        let path = format!("{policy}/Queues/{at_queue}");
        found_by("every_queue_refuses_plain_http", &path, |document| remove(document, &path));
    }
    found_by("every_queue_refuses_plain_http", "the policy", |document| {
        remove(document, "QueuesRefusePlainHttp/Properties/PolicyDocument");
    });
    for id in of_kind(QUEUE) {
        for property in ["KmsMasterKeyId", "SqsManagedSseEnabled"] {
            let path = format!("{id}/Properties/{property}");
            found_by("every_queue_is_encrypted", &path, |document| remove(document, &path));
        }
    }
}

#[test]
fn an_environment_that_differs_from_what_the_code_reads_is_found() {
    let variables = "/Globals/Function/Environment/Variables";
    let names: Vec<String> = document()
        .pointer(variables)
        .and_then(Value::as_object)
        .map(|all| all.keys().cloned().collect())
        .expect("variables");
    for name in names {
        found_by("the_environment_is_what_the_code_reads", &name, |document| {
            let all = document.pointer_mut(variables).and_then(Value::as_object_mut);
            all.expect("variables").remove(&name);
        });
    }
    found_by("the_environment_is_what_the_code_reads", "one more", |document| {
        document.pointer_mut(variables).expect("variables")["EVERLOG_SPEED"] = json!("high");
    });
    let spoil = |from: &'static str, to: &'static str| {
        move |document: &mut Value| {
            let queues = "/Globals/Function/Environment/Variables/EVERLOG_QUEUES/Fn::Sub/0";
            let text = document.pointer_mut(queues).expect("queues");
            *text = json!(text.as_str().expect("a text").replace(from, to));
        }
    };
    let check = "queues_are_those_that_the_code_names";
    found_by(check, "no queue for what is left over", spoil("\"outbox\":\"${OutboxQueue}\",", ""));
    found_by(check, "one more queue", spoil("\"wake\":", "\"wakes\":\"${WakeQueue}\",\"wake\":"));
    found_by(check, "no JSON", spoil("\"wake\":", "\"wake\""));
    found_by(
        "the_environment_is_what_the_code_reads",
        "no JSON",
        spoil("{\"append\"", "\"append\""),
    );
}

#[test]
fn a_table_that_is_not_the_journals_is_found() {
    let check = "keys_and_indexes_are_those_of_the_journal";
    let table = "Table/Properties";
    for path in [
        format!("{table}/KeySchema/1"),
        format!("{table}/BillingMode"),
        format!("{table}/AttributeDefinitions/5"),
        format!("{table}/GlobalSecondaryIndexes/0"),
        format!("{table}/GlobalSecondaryIndexes/1/KeySchema/1"),
        format!("{table}/GlobalSecondaryIndexes/1/Projection/NonKeyAttributes/3"),
    ] {
        found_by(check, &path, |document| remove(document, &path));
    }
    found_by(check, "an index of everything", |document| {
        let path = format!("{table}/GlobalSecondaryIndexes/0/Projection");
        *at(document, &path) = json!({ "ProjectionType": "ALL" });
    });
    found_by(check, "a stream", |document| {
        at(document, table)["StreamSpecification"] = json!({ "StreamViewType": "KEYS_ONLY" });
    });
    found_by(check, "a time to live", |document| {
        at(document, table)["TimeToLiveSpecification"] =
            json!({ "AttributeName": "ttl", "Enabled": true });
    });
    for path in [
        "Table/DeletionPolicy",
        "Table/UpdateReplacePolicy",
        "Table/Properties/DeletionProtectionEnabled",
        "Table/Properties/PointInTimeRecoverySpecification",
        "Table/Properties/SSESpecification",
    ] {
        let check = "the_table_is_encrypted_protected_and_retained";
        found_by(check, path, |document| remove(document, path));
    }
}

/// Paths of every action and every resource of every statement of a role.
fn grants() -> Vec<String> {
    let document = document();
    let mut paths = Vec::new();
    for role in of_kind(ROLE) {
        let statements = format!("{role}/Properties/Policies/0/PolicyDocument/Statement");
        let all = document.pointer(&format!("/Resources/{statements}")).and_then(Value::as_array);
        for (number, statement) in all.expect("statements").iter().enumerate() {
            let plain = statement.get("Fn::If").is_none();
            let here = format!("{statements}/{number}{}", if plain { "" } else { "/Fn::If/1" });
            let statement = if plain { statement } else { &statement["Fn::If"][1] };
            for part in ["Action", "Resource"] {
                match &statement[part] {
                    Value::Array(items) => {
                        paths.extend((0..items.len()).map(|n| format!("{here}/{part}/{n}")));
                    }
                    _ => paths.push(format!("{here}/{part}")),
                }
            }
        }
    }
    paths
}

#[test]
fn a_permission_that_is_missing_is_found() {
    let grants = grants();
    println!("{} parts of grants", grants.len());
    for path in grants {
        found_by("what_is_granted_is_what_is_used", &path, |document| remove(document, &path));
    }
}

#[test]
fn a_permission_too_many_is_found() {
    let exact = "what_is_granted_is_what_is_used";
    for role in of_kind(ROLE) {
        for action in ["dynamodb:Scan", "dynamodb:DeleteItem", "sqs:PurgeQueue"] {
            found_by(exact, &format!("{role}: {action}"), |document| {
                let path = format!("{role}/Properties/Policies/0/PolicyDocument/Statement/0");
                let statement = at(document, &path);
                statement["Action"] = json!([statement["Action"], action]);
            });
        }
    }
    found_by(exact, "the other index", |document| {
        let statements =
            at(document, "TimerSweepRole/Properties/Policies/0/PolicyDocument/Statement");
        statements.as_array_mut().expect("statements").push(json!({
            "Effect": "Allow", "Action": "dynamodb:Query",
            "Resource": { "Fn::Sub": "${Table.Arn}/index/lists" },
        }));
    });
    let wild = "no_action_and_no_resource_is_a_wildcard";
    let statement = "AppendRole/Properties/Policies/0/PolicyDocument/Statement/2";
    found_by(wild, "any action", |document| {
        at(document, statement)["Action"] = json!("dynamodb:*");
    });
    found_by(wild, "any resource", |document| {
        at(document, statement)["Resource"] = json!("*");
    });
    found_by(wild, "any index", |document| {
        at(document, statement)["Resource"] = json!({ "Fn::Sub": "${Table.Arn}/index/*" });
    });
    found_by(wild, "a managed policy", |document| {
        at(document, "AppendRole/Properties")["ManagedPolicyArns"] =
            json!(["arn:aws:iam::aws:policy/AmazonSQSFullAccess"]);
    });
    let assumed = "every_role_is_assumed_by_its_service_alone";
    let statement = "Properties/AssumeRolePolicyDocument/Statement/0";
    found_by(assumed, "anybody", |document| {
        at(document, &format!("SettleRole/{statement}"))["Principal"] = json!("*");
    });
    found_by(assumed, "a schedule of any account", |document| {
        remove(document, &format!("SchedulerRole/{statement}/Condition"));
    });
}

#[test]
fn an_alarm_that_would_never_ring_is_found() {
    let metric = "every_alarm_names_a_metric_that_is_emitted";
    for id in of_kind("AWS::CloudWatch::Alarm") {
        found_by(metric, &format!("{id}: a misspelt metric"), |document| {
            at(document, &format!("{id}/Properties"))["MetricName"] = json!("SweepLag");
        });
        for property in ["AlarmActions", "OKActions", "TreatMissingData", "Statistic"] {
            let path = format!("{id}/Properties/{property}");
            found_by(metric, &path, |document| remove(document, &path));
        }
        found_by("every_function_and_every_queue_is_watched", &id, |document| {
            document["Nested"]["watch.yaml"]["Resources"]
                .as_object_mut()
                .expect("resources")
                .remove(&id);
        });
    }
    found_by("the_dashboard_names_metrics_that_are_emitted", "a misspelt metric", |document| {
        let body = at(document, "Dashboard/Properties/DashboardBody/Fn::Sub");
        *body = json!(body.as_str().expect("a text").replace("\"Fenced\"", "\"Fences\""));
    });
}

#[test]
fn parameters_names_and_builds_that_mislead_are_found() {
    let described = "every_parameter_is_described_and_used";
    let parameters = document()["Parameters"].as_object().expect("parameters").clone();
    for name in parameters.keys() {
        for field in ["Description", "Default"] {
            found_by(described, &format!("{name} without {field}"), |document| {
                let parameter = document["Parameters"][name].as_object_mut();
                parameter.expect("a parameter").remove(field);
            });
        }
    }
    found_by(described, "one that nothing uses", |document| {
        document["Parameters"]["Speed"] = parameters["LogLevel"].clone();
    });
    let given = "every_parameter_of_a_nested_template_is_given";
    let passed = document()["Resources"]["Watch"]["Properties"]["Parameters"].clone();
    for name in passed.as_object().expect("parameters").keys() {
        found_by(given, &format!("{name} is not given"), |document| {
            remove(document, &format!("Watch/Properties/Parameters/{name}"));
        });
    }
    found_by("every_optional_parameter_has_an_example", "one more option", |document| {
        document["Parameters"]["Suffix"] = parameters["KmsKeyArn"].clone();
    });
    let named = "every_name_carries_the_name_of_the_stack";
    found_by(named, "a queue of any stack's", |document| {
        at(document, "ReplyQueue/Properties")["QueueName"] = json!("replies");
    });
    found_by(named, "a queue without a name", |document| {
        remove(document, "ReplyQueue/Properties/QueueName");
    });
    let built = "every_function_is_built_for_the_architecture_that_it_declares";
    found_by(built, "another runtime", |document| {
        document["Globals"]["Function"]["Runtime"] = json!("provided.al2");
    });
    for id in of_kind(FUNCTION) {
        found_by(built, &id, |document| remove(document, &format!("{id}/Metadata/BuildMethod")));
        found_by("every_function_logs_to_a_group_that_forgets", &id, |document| {
            remove(document, &format!("{id}/Properties/LoggingConfig"));
        });
    }
    for id in of_kind("AWS::Logs::LogGroup") {
        found_by("every_function_logs_to_a_group_that_forgets", &id, |document| {
            remove(document, &format!("{id}/Properties/RetentionInDays"));
        });
    }
}
