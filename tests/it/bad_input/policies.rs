//! Policies with one thing wrong, and those that ask for what a model doesn't show.

use super::{check, good_but};

/// Checks a supermarket with one policy.
fn supermarket(name: &str, policy: &str) {
    check(
        name,
        format!(
            "name: small\nmodel:\n  supermarket: {{servers: 3, interarrival: {{exponential: 1}}, \
             load: 0.5, service: {{exponential: 1}}, arrivals: 1000}}\npolicies:\n  - {policy}\n\
             replications: 2\n"
        ),
    );
}

/// Checks the loss router with one policy.
fn loss_router(name: &str, policy: &str) {
    check(name, good_but("- trigger", &format!("- {policy}")));
}

#[test]
fn policies_of_queues_with_one_thing_wrong() {
    supermarket("jiq_report", "jiq: {report: all}");
    supermarket("idle_first_memory", "idle_first: {memory: 1}");
    supermarket("idle_first_too_many", "idle_first: {d: 4}");
    supermarket("threshold_missing", "below_threshold");
    supermarket("threshold_zero", "below_threshold: 0");
    supermarket("cutoffs_missing", "sita");
    supermarket("cutoffs_falling", "sita: {cutoffs: [2, 1]}");
    supermarket("cutoffs_equal", "sita: [2, 2]");
    supermarket("cutoffs_zero", "sita: [0, 1]");
    supermarket("cutoffs_few", "sita: [1]");
    supermarket("information_word", "sq: {information: fresh}");
    supermarket("information_without_age", "jsq: {information: periodic}");
    supermarket("information_without_update", "jsq: {information: {age: 3}}");
    supermarket("information_age_zero", "sq: {information: {update: periodic, age: 0}}");
    supermarket("information_unknown_key", "sq: {information: {update: periodic, ages: 1}}");
    supermarket("information_of_random", "random: {information: {update: periodic, age: 1}}");
    supermarket("information_too_many", "sq: {d: 4, information: {update: periodic, age: 1}}");
}

#[test]
fn what_the_loss_router_does_not_show() {
    loss_router("loss_sita", "sita: [3]");
    loss_router("loss_i_queues", "jiq: {report: random}");
    loss_router("loss_information", "sq: {information: {update: periodic, age: 1}}");
    check("loss_dispatchers", good_but("horizon: 1000", "horizon: 1000\n    dispatchers: 2"));
    check(
        "dispatchers_zero",
        "name: small\nmodel:\n  supermarket: {servers: 3, dispatchers: 0, interarrival: \
         {exponential: 1}, service: {exponential: 1}, horizon: 9}\npolicies: [random]\n\
         replications: 2\n",
    );
}
