//! Policies of the supermarket: against theory, against each other, and by hand.

use balancelab::engine::Case;
use balancelab::spec::Experiment;
use balancelab::stats::Moments;

/// Returns an experiment with some policies on a supermarket.
fn experiment(replications: &str, policies: &str, model: &str) -> Experiment {
    let text = format!(
        "{{name: t, seed: 3, replications: {replications}, policies: [{policies}],
        model: {{supermarket: {{{model}}}}}}}"
    );
    let read = |path: &str| Err(format!("{path} is not there"));
    balancelab::spec::load("spec", text.clone(), &[], &read)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the first row of each policy.
fn rows(policies: &str, model: &str) -> Vec<Vec<f64>> {
    let experiment = experiment("2", policies, model);
    let case = |point| Case::new(&experiment, point).unwrap().replicate(0).unwrap();
    (0..experiment.points()).map(case).collect()
}

/// A response of each policy over its replications, and what theory says of it.
struct Measured {
    mean: f64,
    se: f64,
    theory: Option<f64>,
}

impl Measured {
    /// Returns how many standard errors the mean is off.
    fn z(&self, value: f64) -> f64 {
        (self.mean - value) / self.se
    }

    /// Returns how many standard errors it is off another.
    fn z_of(&self, other: &Measured) -> f64 {
        (self.mean - other.mean) / self.se.hypot(other.se)
    }
}

/// Measures a response of each policy.
fn measure(response: &str, replications: u32, policies: &str, model: &str) -> Vec<Measured> {
    let experiment = experiment(&replications.to_string(), policies, model);
    let column = experiment.columns.iter().position(|column| column == response).unwrap();
    let measured = |point| {
        let case = Case::new(&experiment, point).unwrap();
        let mut moments = Moments::default();
        (0..replications).for_each(|number| moments.push(case.replicate(number).unwrap()[column]));
        let (mean, se) = (moments.mean().unwrap(), moments.se().unwrap());
        Measured { mean, se, theory: case.theory()[column] }
    };
    (0..experiment.points()).map(measured).collect()
}

const EXPONENTIAL: &str = "interarrival: {exponential: 1}, service: {exponential: 1}";

/// Returns equal servers with exponential times.
fn servers(servers: u32, load: f64, more: &str) -> String {
    format!(
        "servers: {servers}, load: {load}, {EXPONENTIAL}, warmup: {{arrivals: 10_000}},
        arrivals: 60_000{more}"
    )
}

#[test]
fn below_a_threshold_that_is_never_reached_is_random() {
    for many in [5, 50] {
        let model = servers(many, 0.5, "");
        let all = measure("sojourn_time", 20, "random, below_threshold: 1_000_000", &model);
        assert!(all[1].z(all[0].theory.unwrap()).abs() < 4.0);
        // Nobody is ever filled up to it.
        let messages = measure("messages_per_job", 2, "below_threshold: 1_000_000", &model);
        assert_eq!(messages[0].mean, 0.0);
    }
    // Filled up to two as often as they fall below: as often as somebody leaves two of them.
    let model = servers(50, 0.9, "");
    let messages = measure("messages_per_job", 2, "below_threshold: 2", &model);
    assert!(messages[0].mean > 0.3 && messages[0].mean < 1.0, "{}", messages[0].mean);
}

/// On two servers an idle one, else the shorter of both, is the shortest queue; with a single choice
/// it is join-idle-queue: the chains of both are solved.
#[test]
fn idle_first_is_what_it_is_made_of() {
    for (of, policies) in [
        (2, "jsq, idle_first, idle_first: {label: r, d: 9, replace: true}"),
        (3, "jiq, idle_first: 1, idle_first: {label: b, beta: 0, d: 3}"),
    ] {
        let load = if of == 2 { 0.8 } else { 0.5 };
        let all = measure("sojourn_time", 40, policies, &servers(of, load, ""));
        let theory = all[0].theory.unwrap();
        // Of nine choices among two servers one in 256 sees a single one.
        for one in &all[..2] {
            assert!(one.z(theory).abs() < 4.0, "{} {theory}", one.mean);
        }
        let exact = if of == 3 { 0.0 } else { 0.02 * theory };
        assert!((all[2].mean - theory).abs() < 4.0 * all[2].se + exact);
    }
    let all = measure("sojourn_time", 4, "jiq, idle_first", &servers(100, 0.95, ""));
    assert!(all[1].mean < all[0].mean);
}

/// Each server is an M/D/1: a wait of ρ/(1 - ρ) halves of its service time.
#[test]
fn size_intervals_make_queues_of_one_size() {
    let sizes = "empirical: [1, 1, 1, 1, 1, 1, 1, 1, 1, 4]";
    for load in [0.5, 0.9] {
        let model = format!(
            "servers: 2, load: {load}, interarrival: {{exponential: 1}}, service: {{{sizes}}},
            warmup: {{arrivals: 10_000}}, arrivals: 100_000"
        );
        // Work of a job: 0.9 for the first server, 0.4 for the second, of 1.3.
        let rate = load * 2.0 / 1.3;
        let wait = |share: f64, size: f64| {
            let busy = rate * share * size;
            assert!(busy < 1.0 || load > 0.8);
            share * busy / (1.0 - busy) * size / 2.0
        };
        if load < 0.8 {
            let theory = wait(0.9, 1.0) + wait(0.1, 4.0);
            let waits = measure("waiting_time", 40, "sita: [2]", &model);
            assert!(waits[0].z(theory).abs() < 4.0, "{} {theory}", waits[0].mean);
            let spread = measure("utilisation_sd", 40, "sita: [2]", &model);
            assert!(spread[0].z(rate * 0.5 / 2.0).abs() < 4.0, "{}", spread[0].mean);
        }
    }
    // A third server has what is above both cutoffs: here nothing, so that it is idle.
    let model = "servers: 3, interarrival: {deterministic: 1}, service: {empirical: [1, 4]},
        arrivals: 1000, capacity: 9";
    let columns = experiment("2", "sita: [2, 4]", model).columns;
    let row = &rows("sita: [2, 4]", model)[0];
    let busy = row[columns.iter().position(|column| column == "utilisation").unwrap()];
    assert!(busy < 2.0 / 3.0);
}

/// Ten servers a dispatcher, load .9, against another program, with lists and a set of departures, on
/// another generator: mean and standard error. With more servers random reports come to the fixed point
/// of Y. Lu and others (2011), 1.765 once it is corrected for ten servers a dispatcher, as 1/servers.
#[test]
fn i_queues_agree_with_another_simulation() {
    let time = |servers: u32, report: &str, replications| {
        let model = format!(
            "servers: {servers}, dispatchers: {}, load: 0.9, {EXPONENTIAL},
            warmup: {{arrivals: {}}}, arrivals: {}",
            servers / 10,
            servers * 500,
            servers * 4000
        );
        measure("sojourn_time", replications, &format!("jiq: {{report: {report}}}"), &model)
            .remove(0)
    };
    for (servers, report, replications, (mean, se)) in [
        (100, "pool", 10, (1.0746, 0.0014)),
        (100, "sq", 10, (1.5141, 0.0062)),
        (100, "random", 10, (1.8265, 0.0033)),
        (1000, "random", 3, (1.7674, 0.0031)),
    ] {
        let ours = time(servers, report, replications);
        let z = (ours.mean - mean) / ours.se.hypot(se);
        assert!(z.abs() < 4.0, "{servers} {report}: {} {z}", ours.mean);
    }
}

/// One dispatcher's I-queue is the pool but for the order in which servers are taken, which is all the
/// same where they are equal.
#[test]
fn the_i_queue_of_one_dispatcher_is_the_pool() {
    let policies = "jiq, jiq: {label: s, report: sq}, jiq: {label: r, report: random}";
    let all = measure("sojourn_time", 40, policies, &servers(3, 0.5, ""));
    let theory = all[0].theory.unwrap();
    assert!(all.iter().all(|one| one.z(theory).abs() < 4.0));
    let all = measure("messages_per_job", 40, policies, &servers(3, 0.8, ""));
    assert!(all[1..].iter().all(|one| one.z_of(&all[0]).abs() < 4.0));
}

/// Every policy is what it was with one dispatcher.
#[test]
fn a_single_dispatcher_changes_nothing() {
    let policies = "random, round_robin, sq, sq: {label: m, d: 1, memory: 2}, jsq, jiq, least_work,
        idle_first, below_threshold: 2, sita: [1, 2, 3], weighted_round_robin: {weights: [1, 2, 1, 3]},
        jiq: {label: r, report: random}, sq: {label: o, information: {update: periodic, age: 3}}";
    let model = servers(4, 0.6, "");
    assert_eq!(rows(policies, &model), rows(policies, &format!("{model}, dispatchers: 1")));
    let identity = |more: &str| {
        let experiment = experiment("2", "sq", &format!("{model}{more}"));
        Case::new(&experiment, 0).unwrap().identity()
    };
    assert_eq!(identity(""), identity(", dispatchers: 1"));
    assert_ne!(identity(""), identity(", dispatchers: 2"));
    let unlike = "round_robin, trigger, theta: {rule: j, alpha: 0.1}, ledger: {memory: 2}";
    let model = servers(2, 0.9, ", capacity: 4");
    let two = rows(unlike, &format!("{model}, dispatchers: 2"));
    assert!(rows(unlike, &model).iter().zip(&two).all(|(one, two)| one != two));
}

/// Four servers get every fourth job each, from one dispatcher; from many they get jobs at random.
#[test]
fn round_robin_of_many_dispatchers_is_random() {
    let sojourn = |dispatchers: u32| {
        let model = servers(4, 0.5, &format!(", dispatchers: {dispatchers}"));
        measure("sojourn_time", 20, "round_robin", &model).remove(0)
    };
    let (one, two, many) = (sojourn(1), sojourn(2), sojourn(200));
    assert!(one.theory.is_some() && two.theory.is_none());
    assert!(one.z(one.theory.unwrap()).abs() < 4.0);
    assert!(two.z_of(&one) > 10.0 && many.z_of(&two) > 10.0);
    assert!((many.mean - 2.0).abs() < 0.02, "{}", many.mean);
}

/// Where the board is never brought up to date all servers look alike.
#[test]
fn a_board_that_stays_empty_is_no_information() {
    let old = "information: {update: periodic, age: 1e9}";
    let policies = format!(
        "random, sq: {{{old}}}, jsq: {{{old}}}, least_work: {{{old}}}, below_threshold: {{threshold: 1,
        {old}}}, idle_first: {{{old}}}, shortest_expected_delay: {{{old}}}"
    );
    let all = measure("sojourn_time", 20, &policies, &servers(20, 0.5, ""));
    let theory = all[0].theory.unwrap();
    assert!((theory - 2.0).abs() < 1e-9);
    for one in &all[1..] {
        assert!(one.z(theory).abs() < 4.0, "{}", one.mean);
    }
    let all = measure("messages_per_job", 2, &policies, &servers(20, 0.5, ""));
    assert_eq!(all[1].mean, 0.0);
}

/// A board of a moment ago shows what is there: the same draws decide the same.
#[test]
fn a_fresh_board_shows_what_is_there() {
    let sojourn = |policies: &str, model: &str| -> Vec<f64> {
        rows(policies, model).iter().map(|row| row[1]).collect()
    };
    let fresh = "information: {update: periodic, age: 1e-11}";
    for model in [servers(4, 0.8, ""), servers(30, 0.8, ""), servers(4, 0.8, ", capacity: 3")] {
        for policy in ["sq: {full: skip", "sq: {d: 3, load: work", "sq: {memory: 1, d: 1"] {
            let pair = format!("{policy}}}, {policy}, label: b, {fresh}}}");
            let pair = sojourn(&pair, &model);
            assert_eq!(pair[0], pair[1], "{policy}");
        }
    }
    // Others draw otherwise, or exponential updates do.
    let short = "information: {update: exponential, age: 1e-6}";
    for policy in ["sq: {label: b, ", "jsq: {label: b, ", "idle_first: {label: b, "] {
        let (name, _) = policy.split_once(':').unwrap();
        let pair = format!("{name}, {policy}{short}}}");
        let all = measure("sojourn_time", 20, &pair, &servers(30, 0.9, ""));
        assert!(all[1].z_of(&all[0]).abs() < 4.0, "{policy} {} {}", all[0].mean, all[1].mean);
    }
}

/// The shortest queue of long ago is the worst to choose, since all choose it (M. Mitzenmacher 2000).
#[test]
fn with_old_information_jobs_herd() {
    let model = servers(100, 0.9, "");
    for update in ["periodic", "exponential"] {
        let old = format!("information: {{update: {update}, age: 10}}");
        let policies = format!("random, sq: {{{old}}}, jsq: {{{old}}}");
        let all = measure("sojourn_time", 3, &policies, &model);
        assert!(all[2].mean > 1.5 * all[0].mean, "{} {}", all[2].mean, all[0].mean);
        assert!(all[1].mean < all[2].mean);
        // Each of 100 servers tells of itself every 10 time units, in which 900 jobs come.
        let messages = &measure("messages_per_job", 3, &policies, &model)[2];
        assert!((messages.mean - 100.0 / 900.0).abs() < 0.002, "{}", messages.mean);
    }
}

/// A job a time unit, on two servers that take .6 and .3 for it, updates at 1.5, 3, 4.5, 6, …: the jobs
/// at 2, 5, 8, … see that of one time unit before, though it has left; those in between see nothing,
/// and the one that comes with an update sees the board as it is then.
#[test]
fn a_board_shows_the_moment_of_its_update() {
    let model = "speeds: [1, 2], interarrival: {deterministic: 1}, service: {deterministic: 0.6},
        arrivals: 9, capacity: 9";
    let old = "information: {update: periodic, age: 1.5}";
    let row = &rows(&format!("jsq: {{tie: first, {old}}}"), model)[0];
    assert!((row[1] - (6.0 * 0.6 + 3.0 * 0.3) / 9.0).abs() < 1e-12, "{}", row[1]);
}

/// The ends of periods fall between updates, and between reports, without changing them.
#[test]
fn periods_leave_what_policies_know_as_it_is() {
    for policy in [
        "jsq: {information: {update: periodic, age: 1.3}}",
        "sq: {information: {update: exponential, age: 1.3}}",
        "jiq: {report: random}",
        "jiq: {report: sq}",
    ] {
        for length in ["arrivals: 4100", "horizon: 300"] {
            let model = format!(
                "servers: 20, load: 0.8, {EXPONENTIAL}, dispatchers: 3, warmup: {{arrivals: 100}},
                {length}"
            );
            let whole = &rows(policy, &model)[0];
            let parts = experiment("{batches: 1000}", policy, &model);
            let case = Case::new(&parts, 0).unwrap();
            let parts: Vec<Vec<f64>> =
                (0..1000).map(|batch| case.replicate(batch).unwrap()).collect();
            let some = parts.iter().filter(|row| row[0] > 0.0);
            let sum: f64 = some.map(|row| row[0] * row[1]).sum();
            assert!((sum / whole[0] - whole[1]).abs() < 1e-9, "{policy} {length}");
        }
    }
}

/// Equal servers get equal shares, whoever is remembered.
#[test]
fn memory_prefers_no_server() {
    let model = format!("servers: 3, load: 0.5, {EXPONENTIAL}, arrivals: 60_000");
    for server in 0..3 {
        let shares = measure(&format!("server_share_pct_{server}"), 20, "sq: {memory: 1}", &model);
        assert!(shares[0].z(100.0 / 3.0).abs() < 4.0, "{server}: {}", shares[0].mean);
    }
}

/// What a server's load is with the job that it gets is in the unit of that load, so that nothing
/// depends on the unit of time.
#[test]
fn memory_is_the_same_in_every_unit_of_time() {
    let policies = ["work", "delay", "waiting", "in_system"]
        .map(|load| format!("sq: {{label: {load}, d: 1, memory: 1, load: {load}}}"))
        .join(", ");
    // Powers of two, so that rounding is the same too.
    let text = format!(
        "{{name: t, seed: 3, replications: 1, common_random_numbers: all, policies: [{policies}],
        model: {{supermarket: {{speeds: [1, 2, 4, 1], load: 0.8, arrivals: 5000,
        interarrival: {{exponential: {{values: [1, 128, 0.0078125], axis: unit}}}},
        service: {{exponential: {{values: [4, 512, 0.03125], axis: unit}}}}}}}}}}"
    );
    let read = |path: &str| Err(format!("{path} is not there"));
    let experiment = balancelab::spec::load("spec", text, &[], &read).unwrap();
    let times: Vec<f64> = (0..12)
        .map(|point| Case::new(&experiment, point).unwrap().replicate(0).unwrap()[1])
        .collect();
    for (at, one) in times[..4].iter().enumerate() {
        assert_eq!((times[at + 4] / 128.0, times[at + 8] * 128.0), (*one, *one), "{at}");
    }
}

/// Full servers are passed over where fewest wait too, however many servers there are.
#[test]
fn a_full_server_is_passed_over_where_fewest_wait() {
    let policies = "jsq: {label: waiting, load: waiting, full: skip}, jsq";
    for (servers, discipline, capacity) in [(16, "fcfs", 2), (17, "fcfs", 2), (17, "ps", 3)] {
        let model = format!(
            "servers: {servers}, servers_per_queue: 2, capacity: {capacity}, load: 0.8,
            discipline: {discipline}, {EXPONENTIAL}, arrivals: 20_000"
        );
        let refused: Vec<f64> = rows(policies, &model).iter().map(|row| row[5]).collect();
        // Nobody is refused while another server has room: with two places for each pair of channels
        // servers matter no more, and else little.
        let off = (refused[0] - refused[1]).abs();
        assert!(off < if discipline == "ps" { 2.0 } else { 1e-9 }, "{servers} {refused:?}");
    }
}

/// Updates of a board are counted while the period lasts, whenever jobs come.
#[test]
fn messages_of_a_board_are_those_of_the_period() {
    let place = crate::program::Place::new();
    place.write("jobs.csv", "time,size\n1,1\n2,1\n5000,1\n");
    place.write(
        "board.yaml",
        "{name: t, policies: [jsq: {information: {age: 10, update: periodic}}], replications: 1,
        model: {supermarket: {servers: 2, trace: jobs.csv, horizon: 100}}}",
    );
    place.fine(&["board.yaml", "--quiet"]);
    let frame = place.parquet("results/t/replications.parquet");
    let messages = frame.column("messages_per_job").unwrap().f64().unwrap().get(0);
    // At 10, 20, …, 100 two servers told two jobs' dispatcher.
    assert_eq!(messages, Some(10.0));
}
