//! Replications until precise: how many a point gets, through the program.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::comparisons::{Record, records};
use crate::program::Place;

const SPEC: &str = "
name: until
seed: 12
model:
  loss_router:
    channels: [2, 4]
    interarrival: {poisson: 15}
    service: {poisson: {values: [60, 80]}}
    horizon: 20_000
policies:
  - coin: {theta: 0.333}
  - trigger
  - alternate
replications: REPLICATIONS
";
const UNTIL: &str = "{min: 20, max: 60, until: [{response: errors_pct, half_width: 0.3}, {response: refusals_pct, relative: 0.04}]}";
/// Each past the one before by an eighth, rounded down; by hand.
const CHECKPOINTS: [usize; 12] = [20, 22, 24, 27, 30, 33, 37, 41, 46, 51, 57, 60];

fn spec(replications: &str) -> String {
    SPEC.replace("REPLICATIONS", replications)
}

/// Returns the rows of a run by point.
fn points(place: &Place, folder: &str) -> BTreeMap<u32, Vec<Record>> {
    let mut points: BTreeMap<u32, Vec<Record>> = BTreeMap::new();
    for row in records(&place.parquet(&format!("{folder}/replications.parquet"))) {
        points.entry(row.number("point").unwrap() as u32).or_default().push(row);
    }
    points
}

/// Returns the mean of a response and the half-width of its 95 % interval.
fn interval(rows: &[Record], response: &str) -> (f64, f64) {
    let values: Vec<f64> = rows.iter().map(|row| row.number(response).unwrap()).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).unwrap().inverse_cdf(0.975);
    (mean, t * (variance / n).sqrt())
}

/// The conditions of `UNTIL`, by hand.
fn precise(rows: &[Record]) -> bool {
    let ((_, errors), (refused, refusals)) =
        (interval(rows, "errors_pct"), interval(rows, "refusals_pct"));
    errors <= 0.3 && refusals <= 0.04 * refused
}

#[test]
fn counts_and_bytes_are_the_same_at_any_number_of_threads() {
    let place = Place::new();
    place.write("spec.yaml", &spec(UNTIL));
    for threads in ["1", "2", "8"] {
        place.fine(&["spec.yaml", "--quiet", "--threads", threads, "--out", threads]);
    }
    let mut counts: Vec<usize> = points(&place, "1").values().map(Vec::len).collect();
    counts.sort_unstable();
    counts.dedup();
    assert!(counts.len() > 2, "not a test of stopping: {counts:?}");
    for name in ["replications", "summary", "comparisons", "best"] {
        let one = place.bytes(&format!("1/{name}.parquet"));
        assert!(one == place.bytes(&format!("2/{name}.parquet")), "{name}");
        assert!(one == place.bytes(&format!("8/{name}.parquet")), "{name}");
    }
}

#[test]
fn a_point_stops_at_the_first_checkpoint_where_all_conditions_hold() {
    let place = Place::new();
    place.write("spec.yaml", &spec(UNTIL));
    let printed = place.fine(&["spec.yaml", "--out", "a"]);
    let points = points(&place, "a");
    assert_eq!(points.len(), 6);
    let (mut stopped, mut at_most) = (0, 0);
    for (point, rows) in &points {
        let end = CHECKPOINTS.iter().position(|&k| k == rows.len());
        let end = end.unwrap_or_else(|| panic!("{} is no checkpoint", rows.len()));
        for &k in &CHECKPOINTS[..end] {
            assert!(!precise(&rows[..k]), "point {point} goes on at {k}");
        }
        let last = precise(rows);
        assert!(last || rows.len() == 60, "point {point} stops at {}", rows.len());
        stopped += usize::from(last && rows.len() < 60);
        at_most += usize::from(!last);
    }
    assert!(stopped > 1 && at_most > 0, "{stopped} {at_most}");
    // Those that had all there are, and not enough, are the ones that say so.
    let said = printed.lines().filter(|line| line.contains("60, not precise")).count();
    assert_eq!((said, printed.matches("not precise").count()), (at_most, at_most), "{printed}");
    // Both conditions bear: with one alone some point stops earlier.
    let one = |condition: &str| {
        place.write("one.yaml", &spec(&format!("{{min: 20, max: 60, until: {condition}}}")));
        place.fine(&["one.yaml", "--quiet", "--out", "one", "--fresh"]);
        place.parquet("one/replications.parquet").height()
    };
    let both: usize = points.values().map(Vec::len).sum();
    assert!(one("{response: errors_pct, half_width: 0.3}") < both);
    assert!(one("{response: refusals_pct, relative: 0.04}") < both);
}

#[test]
fn rows_are_the_first_of_a_run_of_fixed_length() {
    let place = Place::new();
    place.write("until.yaml", &spec(UNTIL));
    place.write("fixed.yaml", &spec("60"));
    place.fine(&["until.yaml", "--quiet", "--out", "a"]);
    place.fine(&["fixed.yaml", "--quiet", "--out", "b"]);
    place.fine(&["until.yaml", "--quiet", "--replications", "60", "--out", "c"]);
    assert!(
        place.bytes("c/replications.parquet").len() > place.bytes("a/replications.parquet").len()
    );
    let (until, fixed) = (points(&place, "a"), points(&place, "b"));
    assert_eq!(place.parquet("c/replications.parquet").height(), 6 * 60);
    for (point, rows) in &until {
        assert_eq!(fixed[point].len(), 60);
        for (row, same) in rows.iter().zip(&fixed[point]) {
            assert_eq!(format!("{row:?}"), format!("{same:?}"));
        }
    }
    // Comparisons are of the replications that both sides have.
    let n = |point: f64| until[&(point as u32)].len() as f64;
    for row in records(&place.parquet("a/comparisons.parquet")) {
        let point = row.number("point").unwrap();
        let coin = if point < 3.0 { 0.0 } else { 3.0 };
        assert_eq!(row.number("n"), Some(n(point).min(n(coin))), "{row:?}");
    }
}

#[test]
fn a_minimum_below_twenty_is_twenty() {
    let place = Place::new();
    let loose = "until: {response: errors_pct, half_width: 50}";
    for (min, count) in [(2, 20), (25, 25)] {
        place.write("spec.yaml", &spec(&format!("{{min: {min}, max: 60, {loose}}}")));
        place.fine(&["spec.yaml", "--quiet", "--out", "a", "--fresh"]);
        assert!(points(&place, "a").values().all(|rows| rows.len() == count), "{min}");
    }
}

#[test]
fn meaningless_conditions_are_refused() {
    let place = Place::new();
    let until = |until: &str| format!("{{max: 60, until: {until}}}");
    let one_of = "a condition has `half_width` or `relative`, and one of them";
    for (replications, message) in [
        (until("{response: eror_pct, half_width: 1}"), "there is no response `eror_pct`"),
        (
            until("[{response: errors_pct, half_width: 1}, {response: n, relative: 0.1}]"),
            "there is no response `n`",
        ),
        (until("{response: errors_pct}"), one_of),
        (until("{response: errors_pct, half_width: 1, relative: 0.1}"), one_of),
        (until("{half_width: 1}"), "`response`"),
        (until("[]"), "no condition: name a response and a half-width"),
        (until("{response: errors_pct, half_width: 0}"), "`half_width`"),
        (until("{response: errors_pct, relative: 1}"), "`relative`"),
        (
            "{min: 9, max: 8, until: {response: errors_pct, half_width: 1}}".to_owned(),
            "at least 9 replications but at most 8",
        ),
        ("{max: 60}".to_owned(), "`until`"),
        ("{until: {response: errors_pct, half_width: 1}}".to_owned(), "`max`"),
    ] {
        place.write("spec.yaml", &spec(&replications));
        let said = place.run(&["check", "spec.yaml"]);
        assert_eq!(said.code, Some(2), "{replications}: {}{}", said.out, said.err);
        assert!(said.err.contains(message), "{replications}\n{}", said.err);
    }
}
