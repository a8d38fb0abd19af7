//! The checks: from a template to what is wrong with it.
//!
//! Each is a function of its own with a name that says what must hold. A test
//! calls it on the template of this repository and wants nothing; another takes
//! things away from the template and wants the right check to miss them.

pub mod environment;
pub mod functions;
pub mod parameters;
pub mod permissions;
pub mod queues;
pub mod table;
pub mod watching;

use crate::{Finding, Template};

/// A check.
pub type Check = fn(&Template) -> Vec<Finding>;

macro_rules! checks {
    ($($module:ident::$name:ident,)*) => {
        /// All of them, by name.
        pub const ALL: &[(&str, Check)] = &[$((stringify!($name), $module::$name),)*];
    };
}

checks! {
    parameters::every_intrinsic_function_resolves,
    parameters::every_parameter_is_described_and_used,
    parameters::every_parameter_of_a_nested_template_is_given,
    parameters::every_optional_parameter_has_an_example,
    parameters::every_name_carries_the_name_of_the_stack,
    queues::every_queue_gives_up_to_one_of_its_kind_after_a_thousand_receives,
    queues::visibility_is_six_times_the_time_out,
    queues::queues_are_of_the_kind_that_the_code_uses,
    queues::every_queue_refuses_plain_http,
    queues::every_queue_is_encrypted,
    functions::every_function_is_invoked_by_its_own_queue,
    functions::every_mapping_reports_the_failures_of_a_batch,
    functions::what_nobody_repeats_has_a_place_for_failures,
    functions::every_function_may_recurse,
    functions::every_function_logs_to_a_group_that_forgets,
    functions::every_function_is_built_for_the_architecture_that_it_declares,
    environment::the_environment_is_what_the_code_reads,
    environment::queues_are_those_that_the_code_names,
    table::keys_and_indexes_are_those_of_the_journal,
    table::the_table_is_encrypted_protected_and_retained,
    permissions::no_action_and_no_resource_is_a_wildcard,
    permissions::every_role_is_assumed_by_its_service_alone,
    permissions::what_is_granted_is_what_is_used,
    watching::every_alarm_names_a_metric_that_is_emitted,
    watching::every_function_and_every_queue_is_watched,
    watching::the_dashboard_names_metrics_that_are_emitted,
}

/// What is wrong with a template, by check.
#[must_use]
pub fn run(template: &Template) -> Vec<(&'static str, Finding)> {
    let all = ALL
        .iter()
        .flat_map(|(name, check)| check(template).into_iter().map(move |finding| (*name, finding)));
    all.collect()
}
