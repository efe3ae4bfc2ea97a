//! `verify` on the paper's own figures.

use crate::program::Place;

const SERIES: [&str; 2] = ["series1.yaml", "series2.yaml"];

fn place() -> Place {
    let place = Place::new();
    for name in SERIES {
        let path = format!("{}/experiments/{name}", env!("CARGO_MANIFEST_DIR"));
        place.write(name, &std::fs::read_to_string(path).unwrap());
    }
    place
}

#[test]
fn the_published_figures_of_both_series_pass() {
    let out = place().fine(&["verify", SERIES[0], SERIES[1], "--replications", "40"]);
    assert_eq!(out.matches("5 of 5 claims pass").count(), 2, "{out}");
}

#[test]
fn a_claim_moved_by_three_points_fails_and_is_named() {
    let place = place();
    let path = place.path(SERIES[1]);
    let spec = std::fs::read_to_string(&path).unwrap();
    assert!(spec.contains("value: 22.7"));
    place.write(SERIES[1], &spec.replace("value: 22.7", "value: 25.7"));
    let said = place.run(&["verify", SERIES[0], SERIES[1], "--replications", "40"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let named = "series2: claim failed: errors_pct of coin was published as 25.7";
    assert!(said.err.contains(named), "{}", said.err);
}
