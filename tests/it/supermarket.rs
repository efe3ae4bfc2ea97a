//! The supermarket: queues against theory, against another kernel, and by hand.

use balancelab::engine::Case;
use balancelab::model::{Arrivals, Length, LossRouter, Model, Redirect, Supermarket, Warmup};
use balancelab::policy::{
    Alternate, Coin, Least, Load, Policy, Random, Rank, Rule, Sq, Theta, Tie, Trigger,
};
use balancelab::rng::{Distribution, StreamKey};
use balancelab::sim::Discipline;
use balancelab::stats::Moments;

use crate::program::Place;

fn experiment(text: &str) -> balancelab::spec::Experiment {
    let read = |path: &str| Err(format!("{path} is not there"));
    balancelab::spec::load("spec", text.to_owned(), &[], &read)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Compares the mean of every column with its theoretical value; returns how many there were.
fn compare(text: &str) -> usize {
    let experiment = experiment(text);
    let replications = experiment.replications.checkpoints()[0];
    let mut compared = 0;
    for point in 0..experiment.points() {
        let case = Case::new(&experiment, point).unwrap();
        let mut moments = vec![Moments::default(); experiment.columns.len()];
        for replication in 0..replications {
            let values = case.replicate(replication).unwrap();
            moments.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
        }
        for ((moments, theory), name) in moments.iter().zip(case.theory()).zip(&experiment.columns)
        {
            let Some(theory) = theory else { continue };
            let mean = moments.mean().unwrap();
            let spread = moments.se().unwrap();
            // Rare levels are no normal variable; and sums have rounding.
            if theory > 1e-4 || !name.starts_with("queue_ge") {
                let label = &experiment.labels[experiment.design.point(point).policy];
                let z = (mean - theory) / spread;
                // Quantiles are those of bins.
                let bin = if name.starts_with("sojourn_p") { 0.005 * theory } else { 1e-9 };
                let equal = (mean - theory).abs() < bin;
                assert!(z.abs() < 4.0 || equal, "{label} {name}: {mean} {theory} {z}");
                compared += 1;
            }
        }
    }
    compared
}

/// Every policy that theory knows, on few servers and on many, in every column.
#[test]
fn queues_agree_with_theory() {
    let spec = |model: &str, policies: &str| {
        format!(
            "{{name: t, seed: 3, replications: 40, policies: {policies}, model: {{supermarket: {{
            interarrival: {{exponential: 1}}, warmup: {{arrivals: 10_000}}, arrivals: 50_000,
            {model}}}}}}}"
        )
    };
    let exponential = "service: {exponential: 2}";
    let all = "[sq, sq: {label: r, replace: true}, random, round_robin, jsq, jiq,
        jsq: {label: w, load: waiting}, shortest_expected_delay]";
    for servers in [2, 3] {
        for load in [0.5, 0.8] {
            let model = format!("servers: {servers}, load: {load}, {exponential}");
            let columns = compare(&spec(&model, all));
            assert!(columns > 40, "{columns}");
        }
    }
    // Losses.
    let all =
        "[sq, sq: {label: r, replace: true}, random, jsq, jiq, jsq: {label: w, load: waiting}]";
    for (capacity, load) in [(1, 0.9), (3, 1.5)] {
        let model = format!("servers: 2, load: {load}, capacity: {capacity}, {exponential}");
        let columns = compare(&spec(&model, all));
        assert!(columns > 40, "{columns}");
    }
    // Where nobody can wait, full servers that aren't asked are known by that.
    let skips = "[jsq: {load: waiting, full: skip}, sq: {load: waiting, full: skip},
        sq: {label: r, replace: true, load: waiting, full: skip}]";
    for servers in [2, 3] {
        let model = format!("servers: {servers}, load: 0.9, capacity: 1, {exponential}");
        let columns = compare(&spec(&model, skips));
        assert!(columns > 15, "{columns}");
    }
    // Queues of their own.
    let split = "[random, weighted_random: {weights: [3, 2, 1]}]";
    for model in [
        "speeds: [3, 2, 1], load: 0.6, servers_per_queue: 1",
        "speeds: [3, 2, 2], load: 0.5, servers_per_queue: 4",
        "speeds: [1, 1, 1], load: 0.9, servers_per_queue: 3, capacity: 5",
    ] {
        let columns = compare(&spec(&format!("{model}, {exponential}"), split));
        assert!(columns > 15, "{columns}");
    }
    for service in
        ["deterministic: 2", "uniform: {low: 0, high: 4}", "gamma: {mean: 2, shape: 0.5}"]
    {
        let model = format!("speeds: [3, 2, 1], load: 0.6, service: {{{service}}}");
        let columns = compare(&spec(&model, split));
        assert!(columns > 7, "{columns}");
    }
    // Many servers.
    let model = format!("servers: 100, load: 0.7, {exponential}");
    assert!(
        compare(&spec(&model, "[sq, sq: {label: r, replace: true}, sq: {label: s, d: 3}]")) > 20
    );
}

/// Servers without room to wait are those of the loss router without redirection: another kernel, on
/// the same streams, agrees to the last digit.
#[test]
fn full_servers_refuse_what_the_loss_router_refuses() {
    let (interarrival, service) =
        (Distribution::Exponential { mean: 1.0 }, Distribution::Lognormal { mean: 5.0, cv: 2.0 });
    let (channels, horizon, warmup) = (3, 20_000.0, Warmup::Time(500.0));
    let loss = Model::LossRouter(LossRouter {
        channels: vec![channels; 2],
        interarrival: interarrival.clone(),
        service: service.clone(),
        speeds: vec![1.0, 2.0],
        horizon,
        warmup,
        redirect: Redirect::None,
        departure_first: true,
        max_arrivals: 1 << 40,
    });
    let queues = Model::Supermarket(Supermarket {
        speeds: vec![1.0, 2.0],
        channels,
        capacity: Some(channels),
        dispatchers: 1,
        discipline: Discipline::Fcfs,
        outages: Vec::new(),
        breakdowns: None,
        interarrival: Arrivals::Renewal(interarrival),
        batch: None,
        load: None,
        service,
        length: Length::Time(horizon),
        start: 0,
        snapshots: 0,
        warmup,
        max_arrivals: 1 << 40,
    });
    let column = |model: &Model, name: &str| {
        model.columns().iter().position(|column| column == name).unwrap()
    };
    let rank = Rank { load: Load::InSystem, tie: Tie::Random, full: false };
    let theta = Theta { rule: Rule::I, alpha: 0.05, start: 0.5, clamp: [0.1, 0.9], max_run: None };
    for policy in [
        Policy::Coin(Coin::two(0.4)),
        Policy::Random(Random),
        Policy::Trigger(Trigger { first: 1 }),
        Policy::Alternate(Alternate { first: 0, flip_on_refusal: false }),
        Policy::Theta(theta),
        Policy::Sq(Sq { d: 2, replace: true, memory: 0, beta: 0.8, rank }),
        Policy::Sq(Sq { d: 1, replace: false, memory: 1, beta: 1.0, rank }),
        Policy::Least(Least { rank: Rank { load: Load::Delay, tie: Tie::Fastest, ..rank } }),
    ] {
        for replication in 0..4 {
            let key = StreamKey { seed: 6, scenario: 8, replication };
            let loss_row = loss.compile().unwrap().replicate(&policy, &key).unwrap();
            let row = queues.compile().unwrap().replicate(&policy, &key).unwrap();
            for name in ["arrivals", "refusals_pct"] {
                let (ours, theirs) = (row[column(&queues, name)], loss_row[column(&loss, name)]);
                assert_eq!(ours, theirs, "{policy:?} {name}");
            }
            assert!(row[column(&queues, "refusals_pct")] > 1.0);
            let both = [0, 1].map(|k| loss_row[column(&loss, &format!("utilisation_{k}"))]);
            let mean = row[column(&queues, "utilisation")];
            assert!((mean - (both[0] + both[1]) / 2.0).abs() < 1e-9, "{policy:?}");
            assert_eq!(row[column(&queues, "waiting_time")], 0.0);
        }
    }
}

fn row(text: &str) -> impl Fn(&str) -> f64 + use<> {
    let experiment = experiment(text);
    let values = Case::new(&experiment, 0).unwrap().replicate(0).unwrap();
    let columns = experiment.columns.clone();
    move |name| values[columns.iter().position(|column| column == name).unwrap()]
}

/// Jobs followed by hand.
#[test]
fn a_few_jobs_by_hand() {
    let spec = |more: &str| {
        format!(
            "{{name: t, replications: 2, policies: [round_robin], model: {{supermarket: {{
            interarrival: {{deterministic: 1}}, service: {{deterministic: 5}}, {more}}}}}}}"
        )
    };
    // One server, two jobs, no further arrivals: they leave at 6 and 11. Counted up to the second
    // arrival the server was busy for one of two time units.
    let two = row(&spec("servers: 1, arrivals: 2, capacity: 9"));
    assert_eq!((two("arrivals"), two("sojourn_time"), two("waiting_time")), (2.0, 7.0, 2.0));
    assert_eq!((two("utilisation"), two("jobs_per_server"), two("queue_ge_2")), (0.5, 0.5, 0.0));
    assert!((two("sojourn_sd") - 8.0_f64.sqrt()).abs() < 1e-12);
    // Up to time 20, with room for two: taken at 1, 2, 6 (one leaves just then), 11, 16.
    let full = row(&spec("servers: 1, horizon: 20, capacity: 2"));
    assert_eq!((full("arrivals"), full("refusals_pct")), (20.0, 75.0));
    assert_eq!((full("utilisation"), full("queue_ge_2"), full("queue_ge_3")), (0.95, 0.9, 0.0));
    // Two servers in turn, of speed 1 and 5: the second has always done by its next job.
    let turns = row(&spec("speeds: [1, 5], arrivals: 4, capacity: 9"));
    assert_eq!(
        (turns("sojourn_time"), turns("waiting_time")),
        ((5.0 + 1.0 + 8.0 + 1.0) / 4.0, 0.75)
    );
    // A warm-up of one job, and a stretch to load 1/2: jobs at 5, 10, 15, 20, 25.
    let warm = row(&spec("servers: 2, load: 0.5, arrivals: 5, warmup: {arrivals: 1}"));
    assert_eq!((warm("arrivals"), warm("counted_from"), warm("sojourn_time")), (4.0, 5.0, 5.0));
    assert_eq!((warm("utilisation"), warm("utilisation_sd")), (0.5, 0.0));
}

/// What leaves nothing to count fails with a reason, and no size of the numbers is taken for a fault.
#[test]
fn the_ends_of_the_range_are_no_faults_of_the_program() {
    let run = |replications: &str, model: &str| {
        let experiment = experiment(&format!(
            "{{name: t, replications: {replications}, policies: [random], model: {{supermarket: {{
            interarrival: {{exponential: 1}}, service: {{exponential: 1}}, {model}}}}}}}"
        ));
        Case::new(&experiment, 0).unwrap().replicate(0).map_err(|failure| failure.to_string())
    };
    let base = "servers: 2, load: 0.5, arrivals: 5";
    let few = |left, periods| {
        Err(format!(
            "{left} arrivals are left after the warm-up, fewer than the periods to count: {periods}"
        ))
    };
    assert_eq!(run("{batches: 20}", base), few(5, 20));
    assert_eq!(run("2", &format!("{base}, warmup: 4.999")), few(0, 1));
    let late = run("2", "servers: 2, load: 0.5, horizon: 5, warmup: {arrivals: 4}");
    assert!(late.is_ok() || late.unwrap_err().contains("leaves nothing before the horizon"));
    for model in [
        "servers: 2, load: 1e300, capacity: 2, arrivals: 100",
        "servers: 2, load: 1e-300, arrivals: 100",
        "speeds: [1e-300, 1e300], load: 0.5, arrivals: 100",
        "servers: 2, load: 0.5, horizon: 1e-9",
        "servers: 3, servers_per_queue: 1000000, load: 0.5, arrivals: 100",
    ] {
        assert!(run("2", model).is_ok(), "{model}: {:?}", run("2", model));
    }
}

#[test]
fn batches_are_the_one_run_cut_in_parts() {
    let spec = |replications: &str, length: &str| {
        let text = format!(
            "{{name: t, replications: {replications}, policies: [sq], model: {{supermarket: {{
            servers: 5, interarrival: {{exponential: 1}}, load: 0.8, service: {{exponential: 1}},
            warmup: {{arrivals: 100}}, {length}}}}}}}"
        );
        experiment(&text)
    };
    for length in ["arrivals: 4100", "horizon: 1000"] {
        let whole = spec("2", length);
        let whole = Case::new(&whole, 0).unwrap().replicate(0).unwrap();
        let parts = spec("{batches: 8}", length);
        let case = Case::new(&parts, 0).unwrap();
        let parts: Vec<Vec<f64>> = (0..8).map(|batch| case.replicate(batch).unwrap()).collect();
        let arrivals: f64 = parts.iter().map(|row| row[0]).sum();
        assert_eq!(arrivals, whole[0]);
        if length.starts_with("arrivals") {
            assert!(parts.iter().all(|row| row[0] == 500.0));
        }
        let sojourn: f64 = parts.iter().map(|row| row[0] * row[1]).sum::<f64>() / arrivals;
        assert!((sojourn - whole[1]).abs() < 1e-9);
    }
}

#[test]
fn what_a_model_does_not_show_is_refused() {
    let place = Place::new();
    let supermarket = "supermarket: {servers: 3, interarrival: {exponential: 1}, load: 0.5,
        service: {exponential: 1}, arrivals: 1000}";
    let loss = "loss_router: {channels: [2, 4], interarrival: {exponential: 1},
        service: {exponential: 5}, horizon: 100}";
    for (model, policy, message) in [
        (supermarket, "trigger", "the policy goes by refusals"),
        (supermarket, "theta: {rule: j, alpha: 0.1}", "the policy goes by refusals"),
        (supermarket, "sq: {d: 4}", "`d: 4` different servers can't be drawn of 3"),
        (
            supermarket,
            "weighted_round_robin: {weights: [1, 2]}",
            "there are 2 weights for the model's 3",
        ),
        (supermarket, "weighted_random: {weights: [1, 2]}", "the coin chooses among 2 servers"),
        (loss, "jsq: {load: waiting}", "the model's servers have no queues"),
        (loss, "least_work", "the model's servers have no queues"),
    ] {
        place.write(
            "t.yaml",
            &format!("{{name: t, model: {{{model}}}, policies: [{policy}], replications: 2}}"),
        );
        let said = place.run(&["check", "t.yaml"]);
        assert!(said.code == Some(2) && said.err.contains(message), "{policy}: {}", said.err);
    }
    // No steady state, unless a horizon makes it a transient study or full servers refuse.
    for (from, to, fine) in [
        ("load: 0.5", "load: 1", false),
        ("load: 0.5", "load: 1, capacity: 5", true),
        (
            "load: 0.5, service: {exponential: 1}, arrivals: 1000",
            "load: 2, service: {exponential: 1}, horizon: 50",
            true,
        ),
        ("load: 0.5", "servers_per_queue: 1", true),
        ("exponential: 1}, load: 0.5", "exponential: 0.3}", false),
    ] {
        let model = supermarket.replace("\n       ", "").replace(from, to);
        place.write(
            "t.yaml",
            &format!("{{name: t, model: {{{model}}}, policies: [sq], replications: 2}}"),
        );
        let said = place.run(&["t.yaml", "--quiet", "--fresh"]);
        assert_eq!(said.code, Some(if fine { 0 } else { 2 }), "{to}: {}", said.err);
        assert!(fine || said.err.contains("unstable: the load is 1"), "{}", said.err);
    }
}

/// Disciplines, on servers that are followed event by event.
#[test]
fn other_disciplines_agree_with_theory() {
    let spec = |model: &str, policies: &str| {
        format!(
            "{{name: t, seed: 5, replications: 30, policies: {policies}, model: {{supermarket: {{
            interarrival: {{exponential: 1}}, warmup: {{arrivals: 5_000}}, arrivals: 40_000,
            {model}}}}}}}"
        )
    };
    let exponential = "service: {exponential: 1}";
    let [ps, lifo] = ["ps", "lifo"].map(|discipline| format!("discipline: {discipline}"));
    for (model, policies, least) in [
        (format!("servers: 2, load: 0.7, {ps}, {exponential}"), "[random, sq, jsq, jiq]", 50),
        (format!("servers: 2, load: 0.7, {lifo}, {exponential}"), "[random, sq, jsq]", 35),
        // Whatever the sizes: M/G/1 and, with two channels, M/G/2 under processor sharing.
        (
            format!("servers: 2, load: 0.7, {ps}, service: {{lognormal: {{mean: 2, cv: 2}}}}"),
            "[coin: {theta: 0.4}]",
            14,
        ),
        (
            format!(
                "servers: 2, load: 0.7, {ps}, servers_per_queue: 2, capacity: 5,
            service: {{uniform: {{low: 0, high: 2}}}}"
            ),
            "[random]",
            12,
        ),
        // Nobody is interrupted and sizes aren't looked at, so the mean wait is that of M/G/1.
        (
            format!("servers: 1, load: 0.7, {lifo}, service: {{lognormal: {{mean: 2, cv: 1}}}}"),
            "[random]",
            6,
        ),
    ] {
        let compared = compare(&spec(&model, policies));
        assert!(compared >= least, "{compared} {model}");
    }
    // Last come, first served: E W^2 is that of first come, first served, over 1 - load (L. Takacs
    // 1963).
    let model = format!("servers: 1, load: 0.5, {lifo}, {exponential}");
    let experiment = experiment(&spec(&model, "[random]"));
    let at = experiment.columns.iter().position(|column| column == "waiting_sd").unwrap();
    let mut spread = Moments::default();
    for replication in 0..30 {
        spread.push(Case::new(&experiment, 0).unwrap().replicate(replication).unwrap()[at]);
    }
    let expected = (4.0_f64 / 0.5 - 1.0).sqrt();
    let z = (spread.mean().unwrap() - expected) / spread.se().unwrap();
    assert!(z.abs() < 4.0, "{z}");
}

/// Whatever can be simulated both ways: an outage after the end changes who simulates, and nothing
/// else.
#[test]
fn both_ways_to_simulate_give_the_same_rows() {
    let spec = |policy: &str, outages: &str| {
        format!(
            "{{name: t, seed: 5, replications: 1, policies: [{policy}], model: {{supermarket: {{
            speeds: [1, 2, 1.5], interarrival: {{exponential: 1}}, load: 0.8, capacity: 6,
            servers_per_queue: 2, service: {{lognormal: {{mean: 3, cv: 2}}}},
            warmup: 100, horizon: 5000{outages}}}}}}}"
        )
    };
    for policy in [
        "random",
        "sq: {tie: fastest}",
        "jsq",
        "least_work: {tie: first}",
        "jiq",
        "shortest_expected_delay",
        "round_robin",
        "trigger",
        "sq: {d: 1, memory: 1}",
    ] {
        let fast = experiment(&spec(policy, ""));
        let slow = experiment(&spec(policy, ", outages: [{server: 1, from: 9000, to: 9001}]"));
        let key = StreamKey { seed: 5, scenario: 9, replication: 3 };
        let rows = [&fast, &slow].map(|experiment| {
            let point = experiment.design.point(0);
            let model = experiment.model(&point).unwrap().compile().unwrap();
            model.replicate(&experiment.policy(&point).unwrap(), &key).unwrap()
        });
        for ((name, fast), slow) in fast.columns.iter().zip(&rows[0]).zip(&rows[1]) {
            // Those of jobs that come and of jobs that leave differ by those that stay.
            let share = if name.starts_with("sojourn") || name.starts_with("waiting") {
                0.02
            } else {
                1e-9
            };
            assert!((fast - slow).abs() <= share * fast.abs(), "{policy} {name}: {fast} {slow}");
        }
    }
}

/// Batches, a rate that changes, and recorded jobs.
#[test]
fn arrivals_of_every_kind_agree_with_theory() {
    let mean = |arrivals: &str, column: &str| {
        let experiment = experiment(&format!(
            "{{name: t, seed: 5, replications: 40, policies: [random], model: {{supermarket: {{
            servers: 1, service: {{exponential: 1}}, warmup: {{arrivals: 10_000}},
            arrivals: 60_000, {arrivals}}}}}}}"
        ));
        let at = experiment.columns.iter().position(|name| name == column).unwrap();
        let mut all = Moments::default();
        for replication in 0..40 {
            all.push(Case::new(&experiment, 0).unwrap().replicate(replication).unwrap()[at]);
        }
        (all.mean().unwrap(), all.se().unwrap())
    };
    let near = |(mean, error): (f64, f64), expected: f64| {
        assert!(((mean - expected) / error).abs() < 4.0, "{mean} ± {error}, not {expected}");
    };
    // M^X/M/1: the mean number is that of M/M/1, and rho / (1 - rho) (E X^2 / E X - 1) / 2 more
    // (D. Gross, C. Harris 1998, sec. 3.1). X of 3 always, and geometric of mean 2: E X^2 = 6.
    let batches = "interarrival: {exponential: 6}, batch: {deterministic: 3}";
    near(mean(batches, "jobs_per_server"), 1.0 + (3.0 - 1.0) / 2.0);
    let batches = "interarrival: {exponential: 1}, load: 0.6, batch: {geometric: 2}";
    near(mean(batches, "jobs_per_server"), 1.5 + 1.5 * (3.0 - 1.0) / 2.0);
    // A rate that changes very often is a Poisson stream of the mean rate; one that hardly changes is
    // one or the other.
    let often = "mmpp: {rates: [0, 1.2, 0.4], durations: [0.001, 0.002, 0.001]}";
    near(mean(often, "jobs_per_server"), 0.7 / 0.3);
    // M/M/1 fed by a stream that is on half of the time (interrupted Poisson, so GI/M/1): with
    // rates g on, a to go off, b to go on, E exp(-s T) = g (s + b) / (s^2 + (g + a + b) s + g b).
    let (on, off, rate) = (2.0, 2.0, 1.0_f64);
    let (a, b) = (1.0 / on, 1.0 / off);
    let transform = |s: f64| rate * (s + b) / (s * s + (rate + a + b) * s + rate * b);
    let sigma = (0..500).fold(0.5_f64, |sigma, _| transform(1.0 - sigma));
    let stream = format!("mmpp: {{rates: [{rate}, 0], durations: [{on}, {off}]}}");
    near(mean(&stream, "sojourn_time"), 1.0 / (1.0 - sigma));
}

/// One server, two jobs that are recorded, and no more: both finish.
#[test]
fn a_trace_is_followed_to_its_end() {
    let place = Place::new();
    place.write("jobs.csv", "size, time, user\n2,1,a\n1.5,2,b\n");
    let spec = |more: &str| {
        format!(
            "{{name: t, policies: [random], replications: 1, model: {{supermarket: {{servers: 1,
            trace: jobs.csv{more}}}}}}}"
        )
    };
    let columns = |folder: &str, names: [&str; 4]| {
        let frame = place.parquet(&format!("{folder}/replications.parquet"));
        names.map(|name| frame.column(name).unwrap().f64().unwrap().get(0).unwrap())
    };
    let names = ["arrivals", "sojourn_time", "jobs_per_server", "utilisation"];
    place.write("trace.yaml", &spec(", horizon: 10"));
    place.fine(&["trace.yaml", "--quiet"]);
    // From 1 to 3 and from 3 to 4.5: times of 2 and 2.5.
    assert_eq!(columns("results/t", names), [2.0, 2.25, 0.45, 0.35]);
    // Under processor sharing: 1 alone to 2, then halves: the first leaves at 4, the other at 4.5.
    place.write("trace.yaml", &spec(", horizon: 10, discipline: ps"));
    place.fine(&["trace.yaml", "--quiet", "--fresh"]);
    assert_eq!(columns("results/t", names), [2.0, 2.75, 0.55, 0.35]);
    // From the first to the last arrival 2 units of work come in 1 of time; half as fast, and to the
    // last arrival: from 2 to 4 and from 4 to 5.5.
    place.write("trace.yaml", &spec(", load: 0.875"));
    place.fine(&["trace.yaml", "--quiet", "--fresh"]);
    assert_eq!(columns("results/t", names)[..2], [2.0, 1.75]);
}

/// Jobs that are there at the very beginning are jobs like any others, however they are served.
#[test]
fn jobs_that_come_at_0_are_counted() {
    let place = Place::new();
    place.write("jobs.csv", "time,size\n0,1\n0,2\n1,1\n2,1\n2,3\n5,0\n6,1\n");
    for (discipline, outages) in [
        ("fcfs", ""),
        ("fcfs", "outages: [{server: 0, from: 30, to: 40}],"),
        ("ps", ""),
        ("lifo", ""),
    ] {
        let spec = format!(
            "{{name: t, policies: [random], replications: 1, model: {{supermarket: {{servers: 1,
            {outages} discipline: {discipline}, trace: jobs.csv, horizon: 20}}}}}}"
        );
        place.write("trace.yaml", &spec);
        place.fine(&["trace.yaml", "--quiet", "--fresh"]);
        let frame = place.parquet("results/t/replications.parquet");
        let get = |name: &str| frame.column(name).unwrap().f64().unwrap().get(0).unwrap();
        assert_eq!((get("arrivals"), get("server_share_pct_0")), (7.0, 100.0));
        assert!((get("jobs_per_server") * 20.0 - get("sojourn_time") * 7.0).abs() < 1e-9);
        if discipline == "fcfs" {
            assert!((get("sojourn_time") - 22.0 / 7.0).abs() < 1e-12);
        }
    }
}

/// Servers that fail: what is left to serve, and whose turn it is.
#[test]
fn shares_return_to_the_weights_after_an_outage() {
    let failing = "{name: t, seed: 5, policies: [random], replications: 1, model: {supermarket: {
        servers: 1, interarrival: {exponential: 2}, service: {exponential: 1}, warmup: 500,
        horizon: 30_000, failures: {mtbf: 40, mttr: 10}}}}";
    let failing = experiment(failing);
    let at = failing.columns.iter().position(|name| name == "jobs_per_server").unwrap();
    let mut jobs = Moments::default();
    for replication in 0..40 {
        jobs.push(Case::new(&failing, 0).unwrap().replicate(replication).unwrap()[at]);
    }
    // M/M/1 with breakdowns at any time (I. Mitrani, B. Avi-Itzhak 1968): with failures at rate f,
    // repairs at rate r, L = rho/(A - rho) (1 + f mu/(f + r)^2), A = r/(f + r).
    let (f, r, rho) = (1.0 / 40.0, 1.0 / 10.0, 0.5);
    let up = r / (f + r);
    let expected = rho / (up - rho) * (1.0 + f / ((f + r) * (f + r)));
    let z = (jobs.mean().unwrap() - expected) / jobs.se().unwrap();
    assert!(z.abs() < 4.0, "{:?}, not {expected}", jobs.mean());

    // Jobs come at 1, 2, …; weights 5, 1 and 1. In turns of 7 they are shared as the weights say,
    // while server 0 is down between the others, and afterwards as before.
    let shares = |policy: &str, from: f64, to: f64| {
        let row = row(&format!(
            "{{name: t, policies: [{policy}], replications: 1, model: {{supermarket: {{
            servers: 3, interarrival: {{deterministic: 1}}, service: {{deterministic: 0.5}},
            outages: [{{server: 0, from: 700, to: 1400}}], warmup: {from}, horizon: {to}}}}}}}"
        ));
        [0, 1, 2].map(|k| row(&format!("server_share_pct_{k}")))
    };
    for style in ["smooth", "interleaved"] {
        let policy = format!("weighted_round_robin: {{weights: [5, 1, 1], style: {style}}}");
        let near = |shares: [f64; 3], weights: [f64; 3]| {
            for (share, weight) in shares.iter().zip(weights) {
                assert!(
                    (share - 100.0 * weight / 7.0).abs() < 1.0,
                    "{style} {shares:?} {weights:?}"
                );
            }
        };
        near(shares(&policy, 0.0, 699.5), [5.0, 1.0, 1.0]);
        near(shares(&policy, 699.5, 1399.5), [0.0, 3.5, 3.5]);
        near(shares(&policy, 1400.5, 2100.5), [5.0, 1.0, 1.0]);
    }
    // However rare the others are, they are shared as the policy has them.
    for policy in [
        "coin: {probabilities: [0.98, 0.01, 0.01]}",
        "weighted_random: [98, 1, 1]",
        "weighted_round_robin: [98, 1, 1]",
        "weighted_round_robin: {weights: [98, 1, 1], style: interleaved}",
    ] {
        let shares = shares(policy, 699.5, 1399.5);
        assert!(shares[0] == 0.0 && (shares[1] - 50.0).abs() < 10.0, "{policy}: {shares:?}");
    }
    // Where none is up they are as good as each other, and the shortest queue is what it is.
    let all_down =
        row("{name: t, policies: [jsq: {tie: first}], replications: 1, model: {supermarket: {
        servers: 2, interarrival: {deterministic: 1}, service: {deterministic: 1}, horizon: 8,
        outages: [{server: 0, from: 0, to: 20}, {server: 1, from: 0, to: 20}]}}}");
    assert_eq!(all_down("server_share_pct_0"), 50.0);
    assert_eq!(all_down("messages_per_job"), 4.0);
    // One that is down has no room, so it isn't asked for ever where the others are full.
    let full =
        row("{name: t, policies: [jsq: {full: skip}], replications: 1, model: {supermarket: {
        servers: 2, capacity: 1, interarrival: {deterministic: 1}, service: {deterministic: 10},
        horizon: 8, outages: [{server: 0, from: 0, to: 20}]}}}");
    assert_eq!((full("messages_per_job"), full("server_share_pct_1")), (4.0, 12.5));
    for policy in ["round_robin", "random", "jsq", "sq", "jiq", "least_work", "trigger"] {
        assert_eq!(shares(policy, 699.5, 1399.5)[0], 0.0, "{policy}");
        assert!(shares(policy, 1400.5, 2100.5).iter().sum::<f64>() > 99.9, "{policy}");
    }
}

/// Of a server that reports what it can, who sends jobs where: also if it fails, on many servers.
#[test]
fn policies_run_on_servers_that_fail() {
    let spec = "{name: t, seed: 5, replications: 1, policies: [random, round_robin, sq, jsq, jiq,
        jiq: {label: r, report: random}, jiq: {label: s, report: sq}, idle_first,
        below_threshold: {threshold: 2}, least_work,
        jsq: {label: old, information: {age: 3, update: periodic}}],
        model: {supermarket: {servers: 20, dispatchers: 2, interarrival: {exponential: 1}, load: 0.5,
        discipline: {values: [fcfs, ps, lifo]}, service: {exponential: 1}, arrivals: 30_000,
        failures: {mtbf: 30, mttr: 3}}}}";
    let experiment = experiment(spec);
    let at = experiment.columns.iter().position(|name| name == "sojourn_time").unwrap();
    let mut random = f64::NAN;
    for point in 0..experiment.points() {
        let sojourn = Case::new(&experiment, point).unwrap().replicate(0).unwrap()[at];
        let label = &experiment.labels[experiment.design.point(point).policy];
        if label == "random" {
            random = sojourn;
        }
        // Whoever looks does better than who doesn't, or than who goes by what is old.
        assert!(
            sojourn > 0.9 && (sojourn < random || label == "random" || label == "old"),
            "{label}"
        );
    }
}

/// The last period ends with the horizon itself, though a warm-up makes its length a rounded number.
#[test]
fn a_warmup_leaves_the_horizon_where_it_is() {
    let place = Place::new();
    place.write("jobs.csv", "time,size\n0,1\n5.3,1\n");
    let column = |name: &str| {
        let frame = place.parquet("results/t/replications.parquet");
        frame.column(name).unwrap().f64().unwrap().get(0)
    };
    for (warmup, more) in [("1.1", ""), ("1.1", ", snapshots: 2"), ("{arrivals: 1}", "")] {
        let spec = format!(
            "{{name: t, policies: [random], replications: 1, model: {{supermarket: {{servers: 1,
            trace: jobs.csv, horizon: 5.3, warmup: {warmup}{more}}}}}}}"
        );
        place.write("trace.yaml", &spec);
        place.fine(&["trace.yaml", "--quiet", "--fresh"]);
        assert_eq!(column("arrivals"), Some(1.0), "{spec}");
        if !more.is_empty() {
            assert_eq!(column("queue_ge_1_at_2"), Some(0.0));
        }
    }
    // Where no job comes there are no times, and no spread of them either.
    place.write(
        "trace.yaml",
        "{name: t, policies: [random], replications: 1, model: {supermarket: {servers: 1,
        trace: jobs.csv, horizon: 5, warmup: 2}}}",
    );
    place.fine(&["trace.yaml", "--quiet", "--fresh"]);
    let names = ["arrivals", "sojourn_time", "sojourn_sd", "waiting_sd"];
    assert_eq!(names.map(column), [Some(0.0), None, None, None]);
}

/// The limit of many servers stands beside theory of as many as there are.
#[test]
fn summaries_have_the_mean_field() {
    let place = Place::new();
    place.write(
        "limit.yaml",
        "{name: t, policies: [sq, random, jsq, sq: {label: m, memory: 1}], replications: 2,
        model: {supermarket: {servers: 20, load: 0.9, interarrival: {exponential: 1},
        service: {exponential: 2}, arrivals: 1000}}}",
    );
    place.fine(&["limit.yaml", "--quiet"]);
    let frame = place.parquet("results/t/summary.parquet");
    let text = |name: &str, row| frame.column(name).unwrap().str().unwrap().get(row).unwrap();
    let limits = frame.column("mean_field").unwrap().f64().unwrap();
    let limit = |policy: &str, response: &str| {
        let row = (0..frame.height())
            .find(|&row| (text("policy", row), text("response", row)) == (policy, response));
        limits.get(row.unwrap())
    };
    // E[T] = 2 · 2.614057 and s_2 = λ³ for two choices, 2/(1 − λ) and λ² for one.
    assert!((limit("sq", "sojourn_time").unwrap() - 2.0 * 2.614057).abs() < 2e-6);
    assert!((limit("sq", "waiting_time").unwrap() - 2.0 * 1.614057).abs() < 2e-6);
    assert!((limit("sq", "queue_ge_2").unwrap() - 0.9_f64.powi(3)).abs() < 1e-12);
    assert_eq!(limit("sq", "queue_ge_10"), Some(0.0));
    assert!((limit("random", "sojourn_time").unwrap() - 20.0).abs() < 1e-9);
    assert!((limit("random", "queue_ge_2").unwrap() - 0.81).abs() < 1e-12);
    assert_eq!(limit("sq", "messages_per_job"), None);
    assert_eq!((limit("jsq", "sojourn_time"), limit("m", "sojourn_time")), (None, None));
}
