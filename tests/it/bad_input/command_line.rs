//! Overrides and arguments that don't fit.

use super::{GOOD, balancelab, folder, refused};

fn run(name: &str, arguments: &[&str]) {
    let folder = folder(GOOD);
    let whole: Vec<&str> = ["check", "spec.yaml"].iter().chain(arguments).copied().collect();
    refused(name, &balancelab(folder.path(), &whole));
}

#[test]
fn overrides_that_lead_nowhere() {
    run("set_unknown_top", &["--set", "sed=8"]);
    run("set_unknown_section", &["--set", "modl.loss_router.horizon=5"]);
    run("set_unknown_model", &["--set", "model.loss_rooter.horizon=5"]);
    run("set_unknown_field", &["--set", "model.loss_router.horizn=5"]);
    run("set_unknown_policy", &["--set", "policies.thta.alpha=5"]);
    run("set_policy_beyond_the_last", &["--set", "policies.3.alpha=5"]);
    run("set_unknown_policy_field", &["--set", "policies.theta.alhpa=5"]);
    run("set_unknown_distribution", &["--set", "model.loss_router.service.poison=5"]);
    run("set_below_a_number", &["--set", "seed.x=5"]);
    run("set_below_a_list", &["--set", "model.loss_router.channels.2=5"]);
    run("set_field_without_its_model", &["--set", "model.horizon=5"]);
    run("set_empty_key", &["--set", "model..horizon=5"]);
    run("set_claim_beyond_the_last", &["--set", "published.claims.1.value=5"]);
    run("set_new_section_deep", &["--set", "optimize.policy=theta"]);
}

#[test]
fn overrides_that_say_nothing_sensible() {
    run("set_without_equals", &["--set", "seed"]);
    run("set_without_path", &["--set", "=7"]);
    run("set_without_value", &["--set", "seed="]);
    run("set_bad_yaml", &["--set", "model.loss_router.channels=[2, 4"]);
    run("set_out_of_range", &["--set", "policies.theta.alpha=-1"]);
    run("set_out_of_range_in_a_list", &["--set", "model.loss_router.channels=[2, 0]"]);
    run("set_bad_axis", &["--set", "policies.theta.alpha={linspace: [0, 1, 0]}"]);
    run("set_two_faults", &["--set", "sed=8", "--set", "policies.coin.theta=2"]);
}

#[test]
fn arguments_that_do_not_fit() {
    let folder = folder(GOOD);
    let run = |name: &str, arguments: &[&str]| refused(name, &balancelab(folder.path(), arguments));
    run("replications_flag_zero", &["plan", "spec.yaml", "--replications", "0"]);
    run("replay_no_such_point", &["replay", "spec.yaml", "--point", "3", "--replication", "0"]);
}
