//! What a report says of a run, and of files that aren't what the run wrote.

use serde_json::Value;

use crate::program::Place;
use crate::report::{data, page};

const MODEL: &str = "
seed: 7
model:
  loss_router:
    channels: [2, 4]
    interarrival: {poisson: 15}
    service: {poisson: 80}
    horizon: 5_000
";

fn manifest(place: &Place, folder: &str) -> Value {
    serde_json::from_slice(&place.bytes(&format!("{folder}/manifest.json"))).unwrap()
}

/// Returns a table's column.
fn column(data: &Value, table: usize, name: &str) -> Option<Value> {
    let columns = data["tables"][table]["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).cloned()
}

/// Points with more replications than others aren't better or worse by that: refusals, which no policy
/// changes, have no winner, and the others are judged by what they share.
#[test]
fn unequal_numbers_of_replications_make_no_winner() {
    let place = Place::new();
    let policies = "policies:\n  - coin: {theta: {linspace: [0.1, 0.9, 5]}}\n  - alternate\n";
    let until = "replications: {max: 200, until: {response: errors_pct, half_width: 0.9}}\n";
    place.write("until.yaml", &format!("name: until{MODEL}{policies}{until}"));
    place.fine(&["until.yaml", "--quiet"]);
    let said = place.fine(&["report", "results/until"]);
    assert!(said.contains("judged by the replications that points share"), "{said}");
    assert!(!said.contains("refusals_pct"), "{said}");
    let data = data(&page(&place, "results/until"));
    let summary = place.parquet("results/until/summary.parquet");
    let counts: Vec<u64> =
        summary.column("n").unwrap().u64().unwrap().iter().map(Option::unwrap).collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(least < most);
    let note = data["tables"][0]["note"].as_str().unwrap();
    assert!(note.starts_with(&format!("Means of {least} to {most} replications")), "{note}");
    let column = column(&data, 0, "replications").unwrap();
    assert_eq!(column["values"].as_array().unwrap().len(), 6);
    assert_eq!(column["values"][0], counts[0] as f64);
}

/// Where the baseline has few replications, those that the others share decide between them; so they do
/// in a scenario that has no baseline.
#[test]
fn what_two_points_share_decides_between_them() {
    let place = Place::new();
    let policies = "policies:\n  - coin: {label: base, theta: 1.0}\n  \
                    - theta: {label: a, rule: j, max_run: 2, alpha: {values: [0.07, 0.14]}}\n";
    let until =
        "replications: {min: 5, max: 4000, until: {response: errors_pct, relative: 0.012}}\n";
    place.write("few.yaml", &format!("name: few{MODEL}{policies}{until}"));
    for seed in ["1", "2", "3", "4", "5", "6"] {
        place.fine(&[
            "few.yaml",
            "--quiet",
            "--fresh",
            "--seed",
            seed,
            "--set",
            "model.loss_router.horizon=4000",
        ]);
        let said = place.fine(&["report", "results/few"]);
        let best = place.parquet("results/few/best.parquet");
        let text = |name: &str| best.column(name).unwrap().str().unwrap().clone();
        let gain = best.column("gain").unwrap().f64().unwrap().clone();
        let alpha = best.column("alpha").unwrap().f64().unwrap().clone();
        let of_errors =
            (0..best.height()).filter(|&row| text("response").get(row) == Some("errors_pct"));
        let leads: Vec<usize> = of_errors.filter(|&row| gain.get(row).unwrap() >= 0.0).collect();
        let [lead] = leads[..] else { panic!("{leads:?}") };
        let name = format!("a alpha {} has the least errors_pct", alpha.get(lead).unwrap());
        assert!(said.starts_with(&name), "{name}: {said}");
    }
    let spec = format!(
        "name: none{MODEL}policies:\n  - coin: {{theta: {{values: [0.1, 0.2, 0.3]}}}}\n  - alternate\n\
         where: \"!(theta == 0.3 && poisson == 60)\"\nbaseline: {{policy: coin, at: {{theta: 0.3}}}}\n\
         replications: {{max: 200, until: {{response: errors_pct, half_width: 0.9}}}}\n"
    );
    place.write("none.yaml", &spec.replace("poisson: 80", "poisson: {values: [60, 80]}"));
    place.fine(&["none.yaml", "--quiet"]);
    let said = place.fine(&["report", "results/none"]);
    assert!(said.contains("At poisson 60: alternate has the least errors_pct"), "{said}");
    assert!(!said.contains("refusals_pct"), "{said}");
}

/// What a selection promises is what the report says of its response, and nothing else.
#[test]
fn what_was_selected_is_said() {
    let place = Place::new();
    let policies = "policies:\n  - coin: {theta: {linspace: [0.1, 0.4, 9]}}\n  - trigger\n";
    let select = "replications: 400\nselect: {response: errors_pct, delta: 0.3}\n";
    place.write("some.yaml", &format!("name: some{MODEL}{policies}{select}"));
    for seed in ["2", "3", "7"] {
        place.fine(&["some.yaml", "--quiet", "--fresh", "--seed", seed]);
        let said = place.fine(&["report", "results/some"]);
        let selected = manifest(&place, "results/some")["selected"].clone();
        let theta = 0.1 + 0.0375 * selected["point"].as_f64().unwrap();
        let chosen =
            format!("Selected: coin theta {theta} has the least errors_pct, with probability 0.95");
        assert!(said.starts_with(&chosen), "{chosen}: {said}");
        assert_eq!(said.matches("has the least").count(), 1, "{said}");
    }
}

/// A point that a selection has left behind isn't shown as its policy's best.
#[test]
fn what_was_left_behind_is_not_the_best() {
    let place = Place::new();
    let policies = "policies:\n  - coin: {label: base, theta: 1.0}\n  \
                    - theta: {label: a, rule: j, max_run: 2, alpha: {linspace: [0.01, 0.5, 45]}}\n";
    let select = "replications: 800\nselect: {response: errors_pct, delta: 0.1}\n";
    place.write("many.yaml", &format!("name: many{MODEL}{policies}{select}"));
    for seed in ["1", "2", "3", "6"] {
        let out = place.fine(&[
            "many.yaml",
            "--fresh",
            "--seed",
            seed,
            "--set",
            "model.loss_router.horizon=4000",
        ]);
        let row = out.lines().find(|line| line.starts_with("| a ")).unwrap();
        let alpha: f64 = row.split('|').nth(2).unwrap().trim().parse().unwrap();
        let number = 1 + ((alpha - 0.01) / (0.49 / 44.0)).round() as u64;
        let selected = manifest(&place, "results/many")["selected"].clone();
        let left: Vec<u64> =
            selected["left"].as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect();
        assert!(left.contains(&number), "{alpha} is {number}, left are {left:?}");
    }
}

/// A baseline of a swept policy has a value.
#[test]
fn the_baseline_is_one_point() {
    let place = Place::new();
    let policies = "policies:\n  - theta: {label: plain, rule: j, alpha: 0.1, max_run: {values: [1, 2, 3, 10]}}\n";
    place.write("one.yaml", &format!("name: one{MODEL}{policies}replications: 20\n"));
    let said = place.fine(&["one.yaml"]);
    assert!(said.contains("against plain max_run 1, "), "{said}");
    let said = place.fine(&["report", "results/one"]);
    assert!(said.contains("Its difference from plain max_run 1 is "), "{said}");
    let other = ["one.yaml", "--fresh", "--set", "baseline={policy: plain, at: {max_run: 3}}"];
    assert!(place.fine(&other).contains("against plain max_run 3, "));
}

/// What a search found for one policy isn't on the curve of another.
#[test]
fn found_values_are_on_their_own_curves() {
    let place = Place::new();
    let search = "optimize:\n  policy: searched\n  minimize: errors_pct\n  over: {alpha: {log: [0.01, 1]}}\n  \
                  method: random\n  budget: 40\n  confirm: {replications: 10}\n";
    // The second is like it at a single value, the last is the same.
    for (other, is_same) in [
        ("rule: i, start: 0.99", false),
        ("rule: j, start: 0.99, max_run: 8", false),
        ("start: 0.99, rule: j", true),
    ] {
        let policies = format!(
            "policies:\n  - theta: {{label: searched, rule: j, start: 0.99, alpha: {{logspace: [0.01, 1, 5]}}}}\n  \
             - theta: {{label: other, {other}, alpha: {{linspace: [0, 1, 5]}}}}\n"
        );
        place.write("two.yaml", &format!("name: two{MODEL}{policies}replications: 5\n{search}"));
        place.fine(&["two.yaml", "--quiet", "--fresh"]);
        let mut shown = Vec::new();
        for figure in data(&page(&place, "results/two"))["figures"].as_array().unwrap() {
            if figure["x"]["name"] == "alpha" && figure["y"]["name"] == "errors_pct" {
                let mut series = figure["series"].as_array().unwrap().iter();
                let found = series.any(|one| one["name"].as_str().unwrap().starts_with("found by"));
                shown.push((figure["x"]["log"] == true, found));
            }
        }
        shown.sort_unstable();
        assert_eq!(shown, [(false, is_same), (true, true)], "{other}");
    }
    // It is told of on the page, beside the values that it was confirmed with.
    let page = page(&place, "results/two");
    assert!(page.contains("<h3>searched</h3>") && page.contains("<td>found: alpha "), "{page}");
    assert!(page.contains("; confirmed in 10 that it never saw."));
}

/// Numbers of one policy are numbers, whatever another has on an axis of that name.
#[test]
fn numbers_beside_lists_are_numbers() {
    let place = Place::new();
    let policies = "policies:\n  - theta: {label: a, rule: j, alpha: 0.1, max_run: {values: [1, 2, 3]}}\n  \
                    - theta: {label: b, rule: j, alpha: 0.1, max_run: {values: [[1, 2], [2, 1]]}}\n";
    place.write("mixed.yaml", &format!("name: mixed{MODEL}{policies}replications: 5\n"));
    place.fine(&["mixed.yaml", "--quiet"]);
    assert!(place.path("results/mixed/figures/errors_pct-max_run.svg").exists());
}

/// Files that are missing, cut, or of another run are told of, and the report that was there stays.
#[test]
fn files_of_a_report_belong_together() {
    let place = Place::new();
    let policies = "policies:\n  - coin: {theta: 0.333}\n  - theta: {label: j, rule: j, alpha: {values: [0.1, 0.2]}}\n";
    let claims = "published:\n  source: nobody\n  claims:\n    \
                  - {policy: coin, response: errors_pct, value: 25, tolerance: 99}\n    \
                  - {policy: coin, response: refusals_pct, value: 25, tolerance: 99}\n";
    let search = "optimize:\n  policy: j\n  minimize: errors_pct\n  over: {alpha: {log: [0.01, 1]}}\n  \
                  method: random\n  budget: 40\n  confirm: {replications: 10}\n";
    place
        .write("all.yaml", &format!("name: all{MODEL}{policies}replications: 5\n{claims}{search}"));
    place.fine(&["all.yaml", "--quiet"]);
    place.fine(&["all.yaml", "--quiet", "--seed", "8", "--out", "other"]);
    let before = page(&place, "results/all");
    let claims = String::from_utf8(place.bytes("results/all/claims.csv")).unwrap();
    let cut: Vec<&str> = claims.lines().take(2).collect();
    for (file, content, why) in [
        ("claims.csv", None, "0 of the 2 claims"),
        ("claims.csv", Some(cut.join("\n").into_bytes()), "1 of the 2 claims"),
        ("optimum.json", None, "No such file"),
        ("trace.parquet", None, "No such file"),
        ("summary.parquet", Some(place.bytes("other/summary.parquet")), "of another run"),
        ("comparisons.parquet", Some(place.bytes("other/comparisons.parquet")), "of another run"),
        ("optimum.json", Some(place.bytes("other/optimum.json")), "of another run"),
    ] {
        let path = format!("results/all/{file}");
        let good = place.bytes(&path);
        match content {
            Some(content) => std::fs::write(place.path(&path), content).unwrap(),
            None => std::fs::remove_file(place.path(&path)).unwrap(),
        }
        let said = place.run(&["report", "results/all"]);
        let is_told = said.err.contains(file) && said.err.contains(why);
        assert!(said.code == Some(4) && is_told, "{file}, {why}: {}", said.err);
        assert!(!said.err.contains("--out") && page(&place, "results/all") == before);
        std::fs::write(place.path(&path), good).unwrap();
    }
    place.fine(&["report", "results/all"]);
    assert!(page(&place, "results/all") == before);
}

/// Where there is no room for a new report the old one stays.
#[cfg(unix)]
#[test]
fn a_report_that_fails_leaves_the_old_one() {
    let place = Place::new();
    let policies = "policies:\n  - coin: {theta: {linspace: [0, 1, 5]}}\n";
    place.write("old.yaml", &format!("name: old{MODEL}{policies}replications: 5\n"));
    place.fine(&["old.yaml", "--quiet"]);
    let before = page(&place, "results/old");
    let program = place.command(&[]).get_program().to_owned();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -f 20; exec \"$0\" report results/old"]).arg(program);
    let output = command.current_dir(place.path("")).output().unwrap();
    assert!(!output.status.success());
    assert!(page(&place, "results/old") == before);
    assert!(place.path("results/old/figures/errors_pct-theta.svg").exists());
    place.fine(&["report", "results/old", "--quiet"]);
    assert!(page(&place, "results/old") == before);
}

/// Numbers of many digits are neither rounded to others nor made equal to what they differ from.
#[test]
fn digits_that_matter_are_shown() {
    let place = Place::new();
    let model = "
model:
  loss_router:
    channels: [2, 4]
    interarrival: {deterministic: 1}
    service: {poisson: 80}
    horizon: {values: [1_234_567, 1_234_999]}
policies: [coin: {theta: 0.333}, alternate]
replications: 2
published:
  claims:
    - {policy: coin, response: arrivals, at: {horizon: 1234567}, value: 1234572, tolerance: 4}
";
    place.write("long.yaml", &format!("name: long{model}"));
    assert_eq!(place.run(&["long.yaml", "--quiet"]).code, Some(1));
    let said = place.fine(&["report", "results/long"]);
    for horizon in ["1234567", "1234999"] {
        assert!(said.contains(&format!("At horizon {horizon}: ")), "{said}");
    }
    assert!(said.contains("of coin at horizon 1234567."), "{said}");
    let page = page(&place, "results/long");
    let cells = "<td class=\"number\">1234572</td><td class=\"number\">1234567 ± 0</td>";
    assert!(page.contains(cells), "{page}");
    // The whole part of what the tables show, too.
    let column = column(&data(&page), 0, "arrivals").unwrap();
    assert_eq!(column["values"][0], 1_234_567);
}

/// What is judged is said to be, and what isn't fails without a verdict on the figure.
#[test]
fn claims_are_judged_by_what_there_is() {
    let place = Place::new();
    let claim = "{policy: coin, response: errors_pct, value: 90, tolerance: 1}";
    let rest = "policies: [coin: {theta: 0.333}]\nreplications: 1\npublished: {claims: [CLAIM]}\n";
    let spec = format!("name: one{MODEL}{}", rest.replace("CLAIM", claim));
    place.write("one.yaml", &spec);
    let said = place.run(&["one.yaml", "--quiet"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(!said.err.contains("nothing to judge by"), "{}", said.err);
    let told = place.fine(&["report", "results/one"]);
    assert!(told.contains("doesn't agree with the published errors_pct of coin."), "{told}");
    // Of two replications one is refused.
    let spec = spec.replace("5_000", "6_000\n    max_arrivals: 401").replace(": 1\n", ": 2\n");
    place.write("one.yaml", &spec.replace(", tolerance: 1", ""));
    let said = place.run(&["one.yaml", "--quiet", "--fresh", "--seed", "3"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(said.err.contains("nothing to judge by"), "{}", said.err);
    let told = place.fine(&["report", "results/one"]);
    assert!(!told.contains("doesn't agree"), "{told}");
    assert!(told.contains("No published figure can be judged; 1 of 1 can't be judged"), "{told}");
}

/// Two claims on two points of an axis have two names, though they give fewer digits than it has.
#[test]
fn claims_are_named_by_the_axes_that_they_name() {
    let place = Place::new();
    let rest = "policies: [theta: {label: l, rule: j, alpha: {logspace: [0.001, 0.1, 5]}}]
replications: 4
published:
  claims:
    - {policy: l, response: errors_pct, at: {alpha: 0.0031622776602}, value: 5}
    - {policy: l, response: errors_pct, at: {alpha: 0.0316227766}, value: 5}
";
    place.write("two.yaml", &format!("name: two{MODEL}{rest}"));
    assert_eq!(place.run(&["two.yaml", "--quiet"]).code, Some(1));
    let said = place.fine(&["report", "results/two"]);
    let expected = "2 of 2 published figures: errors_pct of l at alpha 0.00316228; errors_pct of l at alpha 0.0316228.";
    assert!(said.contains(expected), "{said}");
}

/// Equally many values may be of other replications.
#[test]
fn equal_numbers_of_other_replications_are_not_the_same() {
    let place = Place::new();
    let spec = "
name: eq
seed: 69
model: {supermarket: {servers: 2, capacity: 1, interarrival: {exponential: 1}, load: 3, service: {exponential: 1}, arrivals: 5, warmup: {arrivals: 3}}}
policies: [{weighted_random: {label: a, weights: [1, 1]}}, {weighted_random: {label: b, weights: [2, 1]}}]
replications: 30
";
    place.write("eq.yaml", spec);
    place.fine(&["eq.yaml", "--quiet"]);
    let said = place.fine(&["report", "results/eq"]);
    let summary = place.parquet("results/eq/summary.parquet");
    let (responses, n) = (summary.column("response").unwrap(), summary.column("n").unwrap());
    let of = (0..summary.height())
        .filter(|&row| responses.str().unwrap().get(row) == Some("sojourn_time"));
    let counts: Vec<u64> = of.map(|row| n.u64().unwrap().get(row).unwrap()).collect();
    assert!(counts[0] == counts[1] && counts[0] < 30, "{counts:?}");
    assert!(said.contains("a has the least sojourn_time"), "{said}");
    assert!(said.contains("judged by the replications that points share"), "{said}");
}

/// Points of one policy that have met the others on other replications are in order of their means; only
/// the best of all stands for its policy whatever its mean.
#[test]
fn a_policy_is_shown_at_its_least_mean() {
    let place = Place::new();
    let rest = "
policies:
  - coin: {theta: {linspace: [0.1, 0.9, 21]}}
  - theta: {label: runs, rule: j, max_run: 2, alpha: {logspace: [0.0001, 1, 21]}}
replications: {max: 60, until: {response: errors_pct, half_width: 1.0}}
";
    place.write("many.yaml", &format!("name: many{}{rest}", MODEL.replace("5_000", "2_000")));
    for seed in ["18", "19", "20", "21", "22", "23"] {
        let said = place.fine(&["many.yaml", "--seed", seed, "--fresh"]);
        assert!(said.contains("; the best of all is judged by the replications"), "{said}");
        let summary = place.parquet("results/many/summary.parquet");
        let text = |name: &str| summary.column(name).unwrap().str().unwrap().clone();
        let number = |name: &str| summary.column(name).unwrap().f64().unwrap().clone();
        let (mean, theta) = (number("mean"), number("theta"));
        let of_coin = (0..summary.height()).filter(|&row| {
            text("policy").get(row) == Some("coin")
                && text("response").get(row) == Some("errors_pct")
        });
        let least = of_coin.min_by(|&a, &b| mean.get(a).partial_cmp(&mean.get(b)).unwrap());
        let least = balancelab::report::short(theta.get(least.unwrap()).unwrap());
        let row = said.lines().find(|line| line.contains(" coin ") && line.contains('±')).unwrap();
        assert!(row.split_whitespace().any(|cell| cell == least), "{least} not in {row}");
    }
}

/// What is true of the points that a table shows isn't said of all.
#[test]
fn equal_points_that_are_shown_do_not_speak_for_others() {
    let place = Place::new();
    let alphas: Vec<String> =
        (0..21).map(|i| if i % 2 == 0 { format!("{i}e-12") } else { format!("0.{i}") }).collect();
    let rest = format!(
        "policies:\n  - coin: {{theta: 0.333}}\n  \
         - theta: {{label: l, rule: j, start: 0.333, alpha: {{values: [{}]}}}}\nreplications: 4\n",
        alphas.join(", ")
    );
    place.write("some.yaml", &format!("name: some{MODEL}{rest}"));
    let said = place.fine(&["some.yaml"]);
    assert!(
        said.contains("errors_pct is the same in every replication of these points\n"),
        "{said}"
    );
}

/// Scenarios that differ in a late digit are told apart wherever they are named, and a search that ends at
/// a bound claims no standard error.
#[test]
fn scenarios_that_are_close_have_their_own_names() {
    let place = Place::new();
    let model = MODEL.replace("poisson: 80", "poisson: {values: [79.9999993, 79.9999997]}");
    let select = "select: {response: errors_pct, delta: 8, first_stage: 5}\n";
    let policies = "policies: [coin: {theta: 0.3}, alternate]\nreplications: 20\n";
    place.write("chosen.yaml", &format!("name: chosen{model}{policies}{select}"));
    let said = place.fine(&["chosen.yaml"]);
    assert!(said.contains("alternate poisson 79.999999"), "{said}");
    assert!(said.contains(" 79.9999993 ") && said.contains(" 79.9999997 "), "{said}");
    let search = "optimize: {policy: coin, minimize: errors_pct, over: {theta: {linear: [0.5, 0.9]}}, \
                  method: response_surface, budget: 200, confirm: {replications: 5}}\n";
    place.write("sought.yaml", &format!("name: sought{model}{policies}{search}"));
    place.fine(&["sought.yaml", "--quiet"]);
    let said = place.fine(&["report", "results/sought"]);
    for value in ["79.9999993", "79.9999997"] {
        let expected = format!("The search coin at poisson {value} found theta = 0.5 in ");
        assert!(said.contains(&expected), "{said}");
    }
    let optimum: Value =
        serde_json::from_slice(&place.bytes("results/sought/optimum.json")).unwrap();
    assert!(optimum["searches"][0]["found"]["theta"]["se"].is_null(), "{optimum:#}");
    // Nor do tables round a load that isn't 1.
    let axis = column(&data(&page(&place, "results/sought")), 0, "poisson").unwrap();
    assert_eq!(axis["values"][0], 79.9999993);
}
