//! `infra/template.yaml` under every set of parameters: one test a check.

use everlog_template_tests::Template;
use everlog_template_tests::checks::{
    self, Check, environment, functions, parameters, permissions, queues, table, watching,
};

fn holds(check: Check) {
    let found = check(&Template::of_the_repository());
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_intrinsic_function_resolves() {
    holds(parameters::every_intrinsic_function_resolves);
}

#[test]
fn every_parameter_is_described_and_used() {
    holds(parameters::every_parameter_is_described_and_used);
}

#[test]
fn every_parameter_of_a_nested_template_is_given() {
    holds(parameters::every_parameter_of_a_nested_template_is_given);
}

#[test]
fn every_optional_parameter_has_an_example() {
    holds(parameters::every_optional_parameter_has_an_example);
}

#[test]
fn every_name_carries_the_name_of_the_stack() {
    holds(parameters::every_name_carries_the_name_of_the_stack);
}

#[test]
fn every_queue_gives_up_to_one_of_its_kind_after_a_thousand_receives() {
    holds(queues::every_queue_gives_up_to_one_of_its_kind_after_a_thousand_receives);
}

#[test]
fn visibility_is_six_times_the_time_out() {
    holds(queues::visibility_is_six_times_the_time_out);
}

#[test]
fn queues_are_of_the_kind_that_the_code_uses() {
    holds(queues::queues_are_of_the_kind_that_the_code_uses);
}

#[test]
fn every_queue_refuses_plain_http() {
    holds(queues::every_queue_refuses_plain_http);
}

#[test]
fn every_queue_is_encrypted() {
    holds(queues::every_queue_is_encrypted);
}

#[test]
fn every_function_is_invoked_by_its_own_queue() {
    holds(functions::every_function_is_invoked_by_its_own_queue);
}

#[test]
fn every_mapping_reports_the_failures_of_a_batch() {
    holds(functions::every_mapping_reports_the_failures_of_a_batch);
}

#[test]
fn what_nobody_repeats_has_a_place_for_failures() {
    holds(functions::what_nobody_repeats_has_a_place_for_failures);
}

#[test]
fn every_function_may_recurse() {
    holds(functions::every_function_may_recurse);
}

#[test]
fn every_function_logs_to_a_group_that_forgets() {
    holds(functions::every_function_logs_to_a_group_that_forgets);
}

#[test]
fn every_function_is_built_for_the_architecture_that_it_declares() {
    holds(functions::every_function_is_built_for_the_architecture_that_it_declares);
}

#[test]
fn the_environment_is_what_the_code_reads() {
    holds(environment::the_environment_is_what_the_code_reads);
}

#[test]
fn queues_are_those_that_the_code_names() {
    holds(environment::queues_are_those_that_the_code_names);
}

#[test]
fn keys_and_indexes_are_those_of_the_journal() {
    holds(table::keys_and_indexes_are_those_of_the_journal);
}

#[test]
fn the_table_is_encrypted_protected_and_retained() {
    holds(table::the_table_is_encrypted_protected_and_retained);
}

#[test]
fn no_action_and_no_resource_is_a_wildcard() {
    holds(permissions::no_action_and_no_resource_is_a_wildcard);
}

#[test]
fn every_role_is_assumed_by_its_service_alone() {
    holds(permissions::every_role_is_assumed_by_its_service_alone);
}

#[test]
fn what_is_granted_is_what_is_used() {
    holds(permissions::what_is_granted_is_what_is_used);
}

#[test]
fn every_alarm_names_a_metric_that_is_emitted() {
    holds(watching::every_alarm_names_a_metric_that_is_emitted);
}

#[test]
fn every_function_and_every_queue_is_watched() {
    holds(watching::every_function_and_every_queue_is_watched);
}

#[test]
fn the_dashboard_names_metrics_that_are_emitted() {
    holds(watching::the_dashboard_names_metrics_that_are_emitted);
}

#[test]
fn every_check_has_a_test_of_its_own_here() {
    let here = include_str!("template.rs");
    for (name, _) in checks::ALL {
        assert!(here.contains(&format!("fn {name}()")), "{name}");
    }
}
