//! Comparisons with the baseline and with the best, computed again from the replications.
//!
//! What the files must hold is worked out here from `replications.parquet` by the textbook's
//! formulas, with quantiles of `statrs`, and shares no code with the library.

use std::collections::BTreeMap;
use std::path::Path;

use polars::prelude::{AnyValue, CsvReader, DataFrame, SerReader};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::program::Place;

const SPEC: &str = "
name: pairs
seed: 11
model:
  loss_router:
    channels: [2, 4]
    interarrival: {poisson: 15}
    service: {poisson: {values: [40, 80]}}
    horizon: 20_000
policies:
  - coin: {theta: 0.333}
  - trigger
  - theta: {label: learner, rule: j, alpha: {values: [0, 0.1, 0.5]}}
replications: 25
";

/// Responses with a good direction, and whether less is good.
const DIRECTED: [(&str, bool); 3] =
    [("errors_pct", true), ("refusals_pct", true), ("accepted_pct", false)];

/// A row of a result file.
#[derive(Debug)]
pub struct Record(BTreeMap<String, AnyValue<'static>>);

impl Record {
    /// Returns a number; nothing where the cell is empty.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.0[column].extract::<f64>()
    }

    pub fn text(&self, column: &str) -> &str {
        self.0[column].get_str().unwrap()
    }

    fn flag(&self, column: &str) -> bool {
        matches!(self.0[column], AnyValue::Boolean(true))
    }
}

/// Returns the rows of a frame.
pub fn records(frame: &DataFrame) -> Vec<Record> {
    let row = |row| {
        let cell = |column: &polars::prelude::Column| {
            (column.name().to_string(), column.get(row).unwrap().into_static())
        };
        Record(frame.columns().iter().map(cell).collect())
    };
    (0..frame.height()).map(row).collect()
}

/// Returns the rows of a csv file.
pub fn csv(path: &Path) -> Vec<Record> {
    records(&CsvReader::new(std::fs::File::open(path).unwrap()).finish().unwrap())
}

/// A point of a run with what it measured.
struct Point {
    number: u32,
    policy: String,
    service: f64,
    alpha: Option<f64>,
    /// By response, in the order of replications.
    samples: BTreeMap<String, Vec<f64>>,
}

/// Returns the points of a run from its replications.
fn points(place: &Place, folder: &str) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for row in records(&place.parquet(&format!("{folder}/replications.parquet"))) {
        let number = row.number("point").unwrap() as u32;
        if points.last().is_none_or(|point| point.number != number) {
            points.push(Point {
                number,
                policy: row.text("policy").to_owned(),
                service: row.number("poisson").unwrap(),
                alpha: row.number("alpha"),
                samples: BTreeMap::new(),
            });
        }
        let samples = &mut points.last_mut().unwrap().samples;
        for response in ["arrivals", "errors_pct", "refusals_pct", "accepted_pct"] {
            let list = samples.entry(response.to_owned()).or_default();
            assert_eq!(row.number("replication"), Some(list.len() as f64));
            list.push(row.number(response).unwrap());
        }
    }
    points
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

fn differences(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours - theirs).collect()
}

fn student(freedom: usize) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom as f64).unwrap()
}

/// Returns the two-sided p value of "no difference".
fn p_value(differences: &[f64]) -> f64 {
    let (mean, n) = (mean(differences), differences.len());
    if mean == 0.0 {
        return 1.0;
    }
    let t = mean / (variance(differences) / n as f64).sqrt();
    2.0 * student(n - 1).cdf(-t.abs())
}

/// Returns the adjusted p value and the α of the interval of each comparison.
fn adjusted(adjust: &str, p: &[f64]) -> Vec<(f64, f64)> {
    const ALPHA: f64 = 0.05;
    let m = p.len() as f64;
    match adjust {
        "none" => p.iter().map(|&p| (p, ALPHA)).collect(),
        "bonferroni" => p.iter().map(|&p| ((m * p).min(1.0), ALPHA / m)).collect(),
        _ => {
            let mut order: Vec<usize> = (0..p.len()).collect();
            order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
            let mut result = vec![(0.0, 0.0); p.len()];
            let (mut least, mut left) = (0.0_f64, m);
            for (rank, &index) in order.iter().enumerate() {
                least = least.max(((m - rank as f64) * p[index]).min(1.0));
                result[index] = (least, ALPHA / left);
                if least <= ALPHA {
                    left -= 1.0;
                }
            }
            result
        }
    }
}

#[track_caller]
fn assert_near(found: Option<f64>, expected: f64, what: &str) {
    let found = found.unwrap_or_else(|| panic!("no {what}"));
    let near = (found - expected).abs() <= 1e-7 * (1.0 + expected.abs());
    assert!(found == expected || near, "{what}: {found} is not {expected}");
}

/// Runs a spec and checks every row of the comparisons; returns the rows.
fn check(place: &Place, spec: &str, adjust: &str, baseline: (&str, Option<f64>)) -> Vec<Record> {
    place.write("spec.yaml", spec);
    place.fine(&["spec.yaml", "--quiet", "--out", "a", "--fresh"]);
    let points = points(place, "a");
    let rows = records(&place.parquet("a/comparisons.parquet"));
    let mut found: BTreeMap<(u32, String), &Record> = BTreeMap::new();
    for row in &rows {
        let key = (row.number("point").unwrap() as u32, row.text("response").to_owned());
        assert!(found.insert(key, row).is_none());
    }
    for service in [40.0, 80.0] {
        let is_baseline = |point: &&Point| (point.policy.as_str(), point.alpha) == baseline;
        let scenario = || points.iter().filter(|point| point.service == service);
        let theirs = scenario().find(is_baseline).unwrap();
        let others: Vec<&Point> = scenario().filter(|point| !is_baseline(point)).collect();
        assert_eq!(others.len(), 4);
        for (response, less) in DIRECTED {
            let sample = |point: &Point| point.samples[response].clone();
            let against = |point: &&Point| differences(&sample(point), &sample(theirs));
            let differences: Vec<Vec<f64>> = others.iter().map(against).collect();
            let p: Vec<f64> = differences.iter().map(|differences| p_value(differences)).collect();
            let adjusted = adjusted(adjust, &p);
            for ((point, differences), (p, alpha)) in others.iter().zip(&differences).zip(adjusted)
            {
                let row = found.remove(&(point.number, response.to_owned())).unwrap();
                assert_eq!(row.text("policy"), point.policy);
                let axes = (row.number("alpha"), row.number("poisson"));
                assert_eq!(axes, (point.alpha, Some(service)));
                let n = differences.len();
                assert_eq!((n, row.number("n")), (25, Some(25.0)));
                let (difference, spread) = (mean(differences), variance(differences));
                let half = student(n - 1).inverse_cdf(1.0 - alpha / 2.0) * (spread / 25.0).sqrt();
                assert_near(row.number("difference"), difference, "difference");
                assert_near(row.number("ci_low"), difference - half, "ci_low");
                assert_near(row.number("ci_high"), difference + half, "ci_high");
                assert_near(row.number("p"), p, "p");
                let unpaired = variance(&sample(point)) + variance(&sample(theirs));
                match row.number("variance_reduction") {
                    // At 40 nothing is ever refused.
                    None => assert_eq!((unpaired, service), (0.0, 40.0)),
                    by => assert_near(by, unpaired / spread, "variance_reduction"),
                }
                let verdict = match difference {
                    _ if p > 0.05 => "undecided",
                    difference if (difference < 0.0) == less => "better",
                    _ => "worse",
                };
                assert_eq!(row.text("verdict"), verdict, "{row:?}");
            }
        }
    }
    assert!(found.is_empty(), "too many rows: {found:?}");
    rows
}

fn verdicts(rows: &[Record]) -> Vec<&str> {
    let rows = rows.iter().filter(|row| row.text("response") == "errors_pct");
    rows.map(|row| row.text("verdict")).collect()
}

#[test]
fn every_policy_is_compared_with_the_first_in_its_own_scenario() {
    let place = Place::new();
    let rows = check(&place, SPEC, "bonferroni", ("coin", None));
    for verdict in ["better", "worse", "undecided"] {
        assert!(verdicts(&rows).contains(&verdict), "{:?}", verdicts(&rows));
    }
    let text = csv(&place.path("a/comparisons.csv"));
    assert_eq!(text.len(), rows.len());
    for (text, row) in text.iter().zip(&rows) {
        assert_eq!(text.text("verdict"), row.text("verdict"));
        assert_eq!(text.number("difference"), row.number("difference"));
    }
}

#[test]
fn a_baseline_is_named_by_its_label_or_at_a_point() {
    let place = Place::new();
    let with = |baseline: &str| format!("{SPEC}baseline: {baseline}\n");
    check(&place, &with("trigger"), "bonferroni", ("trigger", None));
    check(&place, &with("learner"), "bonferroni", ("learner", Some(0.0)));
    let at = with("{policy: learner, at: {alpha: 0.5}}");
    check(&place, &at, "bonferroni", ("learner", Some(0.5)));
}

#[test]
fn holm_and_none_adjust_as_by_hand() {
    let place = Place::new();
    let with = |adjust: &str| format!("{SPEC}adjust: {adjust}\n");
    let none = check(&place, &with("none"), "none", ("coin", None));
    let holm = check(&place, &with("holm"), "holm", ("coin", None));
    let bonferroni = check(&place, &with("bonferroni"), "bonferroni", ("coin", None));
    for ((none, holm), bonferroni) in none.iter().zip(&holm).zip(&bonferroni) {
        let width = |row: &Record| row.number("ci_high").unwrap() - row.number("ci_low").unwrap();
        assert!(width(none) <= width(holm) && width(holm) <= width(bonferroni));
    }
}

#[test]
fn an_unknown_baseline_is_refused() {
    let place = Place::new();
    for (baseline, message) in [
        ("tigger", "there is no policy `tigger`"),
        ("{policy: learner, at: {alpha: 0.7}}", "no point of `learner` is such a baseline"),
        ("{policy: coin, at: {alpha: 0.1}}", "no point of `coin` is such a baseline"),
    ] {
        place.write("spec.yaml", &format!("{SPEC}baseline: {baseline}\n"));
        let said = place.run(&["check", "spec.yaml"]);
        assert_eq!(said.code, Some(2));
        assert!(said.err.contains(message), "{}", said.err);
    }
}

/// Coin against trigger on the second series: the published system, in full length.
#[test]
fn pairing_narrows_the_interval_by_as_much_as_its_column_says() {
    let place = Place::new();
    let spec = SPEC
        .replace("[2, 4]", "[10, 20]")
        .replace("{values: [40, 80]}", "460")
        .replace("horizon: 20_000", "horizon: 1_000_000")
        .replace("replications: 25", "replications: 100");
    let spec: Vec<&str> = spec.lines().filter(|line| !line.contains("learner")).collect();
    place.write("spec.yaml", &spec.join("\n"));
    place.fine(&["spec.yaml", "--quiet", "--seed", "2005", "--out", "a"]);
    let rows = records(&place.parquet("a/comparisons.parquet"));
    let row = rows.iter().find(|row| row.text("response") == "errors_pct").unwrap();
    let replications = records(&place.parquet("a/replications.parquet"));
    let sample = |policy: &str| -> Vec<f64> {
        let rows = replications.iter().filter(|row| row.text("policy") == policy);
        rows.map(|row| row.number("errors_pct").unwrap()).collect()
    };
    let unpaired = variance(&sample("trigger")) + variance(&sample("coin"));
    let half = (row.number("ci_high").unwrap() - row.number("ci_low").unwrap()) / 2.0;
    let unpaired_half = student(198).inverse_cdf(0.975) * (unpaired / 100.0).sqrt();
    assert!(half < unpaired_half, "{half} {unpaired_half}");
    let ratio = (student(99).inverse_cdf(0.975) / student(198).inverse_cdf(0.975)).powi(2);
    let reduction = row.number("variance_reduction").unwrap();
    assert!(reduction > 1.0, "{reduction}");
    assert_near(Some(reduction), ratio * (unpaired_half / half).powi(2), "variance_reduction");
}

#[test]
fn independent_streams_reduce_no_variance() {
    let place = Place::new();
    let spec = format!("{SPEC}common_random_numbers: none\n");
    place.write("spec.yaml", &spec.replace("replications: 25", "replications: 1000"));
    place.fine(&["spec.yaml", "--quiet", "--out", "a"]);
    let points = points(&place, "a");
    for (a, point) in points.iter().enumerate() {
        for other in &points[..a] {
            let pairs = point.samples["arrivals"].iter().zip(&other.samples["arrivals"]);
            let equal = pairs.filter(|(a, b)| a == b).count();
            // Two counts of 1333 with a spread of 9.5 are equal by chance in 3 %.
            assert!(equal < 70, "{} and {}: {equal}", other.number, point.number);
        }
    }
    let rows = records(&place.parquet("a/comparisons.parquet"));
    for row in rows.iter().filter(|row| row.number("poisson") == Some(80.0)) {
        // 1/(1 − ρ) at most, with a standard deviation of 0.03 for ρ = 0.
        let reduction = row.number("variance_reduction").unwrap();
        assert!((reduction - 1.0).abs() < 0.14, "{row:?}");
    }
}

#[test]
fn all_points_share_their_arrivals_where_they_are_asked_to() {
    let place = Place::new();
    for (common, equal) in [("all", true), ("scenario", false)] {
        place.write("spec.yaml", &format!("{SPEC}common_random_numbers: {common}\n"));
        place.fine(&["spec.yaml", "--quiet", "--out", common]);
        let points = points(&place, common);
        let arrivals = |point: &Point| point.samples["arrivals"].clone();
        assert_eq!(points.len(), 10);
        for point in &points[1..] {
            let same = arrivals(point) == arrivals(&points[0]);
            assert_eq!(same, equal || point.service == points[0].service, "{common}");
        }
    }
}

/// Hsu's intervals by their equation: θ_i ∈ [min(0, min (D_il − w_il)), max(0, min (D_il + w_il))].
#[test]
fn gains_over_the_best_of_the_others_are_those_of_the_equation() {
    let place = Place::new();
    place.write("spec.yaml", SPEC);
    place.fine(&["spec.yaml", "--quiet", "--out", "a"]);
    let points = points(&place, "a");
    let rows = records(&place.parquet("a/best.parquet"));
    assert_eq!(rows.len(), points.len() * DIRECTED.len());
    let mut excluded = 0;
    for row in &rows {
        let (response, number) = (row.text("response"), row.number("point").unwrap() as u32);
        let less = DIRECTED.iter().find(|(name, _)| *name == response).unwrap().1;
        let own = points.iter().find(|point| point.number == number).unwrap();
        assert_eq!((row.text("policy"), row.number("alpha")), (own.policy.as_str(), own.alpha));
        let [mut low, mut lead, mut least] = [f64::INFINITY; 3];
        for other in points.iter().filter(|other| other.service == own.service) {
            if other.number == number {
                continue;
            }
            let gains = differences(&own.samples[response], &other.samples[response]);
            let gain = if less { -mean(&gains) } else { mean(&gains) };
            let quantile = student(gains.len() - 1).inverse_cdf(1.0 - 0.05 / 4.0);
            let half = quantile * (variance(&gains) / gains.len() as f64).sqrt();
            least = least.min(gain);
            low = low.min(gain - half);
            lead = lead.min(gain + half);
        }
        assert_near(row.number("gain"), least, "gain");
        assert_near(row.number("gain_low"), low.min(0.0), "gain_low");
        assert_near(row.number("gain_high"), lead.max(0.0), "gain_high");
        assert_eq!(row.flag("may_be_best"), lead >= 0.0, "{row:?}");
        excluded += usize::from(lead < 0.0);
    }
    assert!(excluded > 2, "{excluded}");
    // The least errors of a scenario may be the best.
    for service in [40.0, 80.0] {
        let errors = |point: &&Point| mean(&point.samples["errors_pct"]);
        let scenario = points.iter().filter(|point| point.service == service);
        let least = scenario.min_by(|a, b| errors(a).total_cmp(&errors(b))).unwrap().number;
        let of = |row: &&Record| row.number("point") == Some(f64::from(least));
        let row = rows.iter().filter(of).find(|row| row.text("response") == "errors_pct");
        assert!(row.unwrap().flag("may_be_best"));
    }
}

/// Two policies that are the same but for their labels share nothing either.
#[test]
fn independent_streams_are_independent_even_of_equal_policies() {
    let place = Place::new();
    place.write(
        "twins.yaml",
        "name: twins\nmodel:\n  loss_router: {channels: [2, 4], interarrival: {poisson: 15}, \
         service: {poisson: 80}, horizon: 20000}\npolicies:\n  - coin: {theta: 0.333, label: a}\n  \
         - coin: {theta: 0.333, label: b}\nreplications: 20\ncommon_random_numbers: none\n",
    );
    place.fine(&["twins.yaml", "--quiet", "--out", "a"]);
    let frame = place.parquet("a/replications.parquet");
    let errors: Vec<f64> =
        frame.column("errors_pct").unwrap().f64().unwrap().into_no_null_iter().collect();
    assert_eq!(errors.iter().zip(&errors[20..]).filter(|(a, b)| a == b).count(), 0);
}
