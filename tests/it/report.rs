//! The report of a run: figures, page, and what the terminal says.

use serde_json::Value;

use crate::program::Place;

/// Two servers, three yardsticks, a rule over a linear axis and over a logarithmic one, a search, and
/// claims.
const SPEC: &str = "
name: small
about: Figures & a page.
seed: 7
model:
  loss_router:
    channels: [2, 4]
    interarrival: {poisson: 15}
    service: {poisson: 60}
    horizon: 30_000
policies:
  - coin: {theta: 0.333}
  - trigger
  - theta: {label: linear, rule: j, max_run: 2, alpha: {linspace: [0, 1, 11]}}
  - theta: {label: detail, rule: j, max_run: 2, alpha: {logspace: [0.001, 0.1, 31]}}
replications: 20
published:
  source: nobody
  claims:
    - {policy: coin, response: errors_pct, value: 25}
    - {policy: linear, response: errors_pct, at: {alpha: 0.5}, value: 19, tolerance: 9}
optimize:
  policy: linear
  minimize: errors_pct
  over: {alpha: {log: [0.001, 1]}}
  method: spsa
  budget: 200
  confirm: {replications: 50}
";

pub fn page(place: &Place, folder: &str) -> String {
    String::from_utf8(place.bytes(&format!("{folder}/report.html"))).unwrap()
}

/// Returns the data of a page.
pub fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn figures(place: &Place, folder: &str) -> Vec<(String, String)> {
    let list = std::fs::read_dir(place.path(&format!("{folder}/figures"))).unwrap();
    let mut all: Vec<(String, String)> = list
        .map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let text = String::from_utf8(place.bytes(&format!("{folder}/figures/{name}"))).unwrap();
            (name, text)
        })
        .collect();
    all.sort();
    all
}

fn six_digits(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap()
}

#[test]
fn a_run_has_figures_of_what_it_swept() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    let said = place.run(&["small.yaml", "--quiet"]);
    assert!(matches!(said.code, Some(0 | 1)), "{}", said.err);
    let names: Vec<String> =
        figures(&place, "results/small").into_iter().map(|(name, _)| name).collect();
    for name in [
        "errors_pct-alpha.svg",
        "errors_pct-alpha-log.svg",
        "errors_pct-differences.svg",
        "search-linear-alpha-0.svg",
        "search-linear-gains-0.svg",
        "servers-utilisation.svg",
    ] {
        assert!(names.contains(&name.to_owned()), "{name} of {names:?}");
    }
    // Refusals are the same whatever the policy is: there is nothing to see.
    assert!(names.iter().all(|name| !name.starts_with("refusals")), "{names:?}");

    // What the page's figures show is what the files say, to six digits.
    let data = data(&page(&place, "results/small"));
    let summary = place.parquet("results/small/summary.parquet");
    let column = |name: &str| summary.column(name).unwrap().clone();
    let text = |name: &str| -> Vec<String> {
        let column = column(name);
        column.str().unwrap().iter().map(|text| text.unwrap().to_owned()).collect()
    };
    let number = |name: &str| -> Vec<Option<f64>> { column(name).f64().unwrap().iter().collect() };
    let (policies, responses) = (text("policy"), text("response"));
    let (alphas, means) = (number("alpha"), number("mean"));
    let (lows, highs) = (number("ci_low"), number("ci_high"));
    let mut compared = 0;
    for figure in data["figures"].as_array().unwrap() {
        if figure["x"]["name"] != "alpha" {
            continue;
        }
        let response = figure["y"]["name"].as_str().unwrap();
        let lines = figure["series"].as_array().unwrap();
        if response == "errors_pct" {
            let is_coin = |line: &Value| line["look"] == "control" && line["name"] == "coin";
            assert!(lines.iter().any(is_coin));
        }
        for line in lines.iter().filter(|line| line["look"] == "line") {
            let policy = data["policies"][line["policy"].as_u64().unwrap() as usize].as_str();
            for (at, x) in line["x"].as_array().unwrap().iter().enumerate() {
                let row = (0..policies.len()).find(|&row| {
                    Some(policies[row].as_str()) == policy
                        && responses[row] == response
                        && alphas[row]
                            .zip(x.as_f64())
                            .is_some_and(|(alpha, x)| (alpha - x).abs() <= 5e-6 * alpha)
                });
                let row = row.unwrap();
                for (name, values) in [("y", &means), ("low", &lows), ("high", &highs)] {
                    assert_eq!(values[row].map(six_digits), line[name][at].as_f64());
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "{compared}");
    // The claim of a point on the axis and what the search found are in the figure of both.
    let errors = &data["figures"][0];
    assert_eq!(errors["y"]["name"], "errors_pct");
    let marks = |name: &str| {
        let series = errors["series"].as_array().unwrap();
        let is_it = |one: &&Value| one["name"].as_str().unwrap().starts_with(name);
        series.iter().find(is_it).unwrap().clone()
    };
    assert_eq!(
        (&marks("published")["x"][0], &marks("published")["y"][0]),
        (&0.5.into(), &19.into())
    );
    let optimum: Value =
        serde_json::from_slice(&place.bytes("results/small/optimum.json")).unwrap();
    let found = &optimum["searches"][0];
    let close = |a: &Value, b: &Value| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-4;
    assert!(close(&marks("found by the search")["x"][0], &found["found"]["alpha"]["value"]));
    assert!(close(&marks("found by the search")["y"][0], &found["confirmed"]["mean"]));
}

#[test]
fn a_report_is_made_again_of_what_is_stored() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    place.run(&["small.yaml", "--quiet"]);
    let (before, drawn) = (page(&place, "results/small"), figures(&place, "results/small"));
    // Elsewhere, without the spec, and over what is left of another report; but a picture of somebody
    // else's stays.
    std::fs::remove_file(place.path("small.yaml")).unwrap();
    std::fs::rename(place.path("results/small"), place.path("moved")).unwrap();
    std::fs::remove_file(place.path("moved/report.html")).unwrap();
    let old = place.path("moved/figures/errors_pct-alpha.svg");
    std::fs::rename(old, place.path("moved/figures/old.svg")).unwrap();
    place.write("moved/figures/mine.svg", "<svg/>");
    let said = place.fine(&["report", "moved"]);
    assert!(said.contains("linear") && said.contains("moved/report.html"), "{said}");
    assert!(page(&place, "moved") == before);
    let mut again = figures(&place, "moved");
    again.retain(|(name, _)| name != "mine.svg");
    assert!(again == drawn, "{again:?}");
    assert_eq!(place.bytes("moved/figures/mine.svg"), b"<svg/>");
    let said: Value = serde_json::from_str(&place.fine(&["report", "moved", "--json"])).unwrap();
    assert_eq!(said["figures"].as_array().unwrap().len(), drawn.len());
    assert!(place.fine(&["report", "moved", "--quiet"]).is_empty());

    // Results of an older version say less of their columns: the spec in them says it.
    let path = place.path("moved/manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let layout = manifest.as_object_mut().unwrap().remove("layout").unwrap();
    manifest["schema"] = 1.into();
    place.write("moved/manifest.json", &manifest.to_string());
    place.fine(&["report", "moved", "--quiet"]);
    let mut again = figures(&place, "moved");
    again.retain(|(name, _)| name != "mine.svg");
    assert!(again == drawn);
    // A later one may say what this program doesn't know.
    manifest["layout"] = layout;
    manifest["schema"] = 3.into();
    place.write("moved/manifest.json", &manifest.to_string());
    let said = place.run(&["report", "moved"]);
    assert!(said.code == Some(4) && said.err.contains("schema 3"), "{}", said.err);
    assert!(
        again == {
            let mut now = figures(&place, "moved");
            now.retain(|(name, _)| name != "mine.svg");
            now
        }
    );
}

#[test]
fn what_is_no_result_has_no_report() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    for (folder, why) in
        [("nowhere", "isn't the folder of a finished run"), ("small.yaml", "finished run")]
    {
        let said = place.run(&["report", folder]);
        assert!(said.code == Some(4) && said.err.contains(why), "{}", said.err);
        assert!(!place.path("nowhere").exists());
    }
    place.run(&["small.yaml", "--quiet", "--set", "optimize=[]"]);
    for (file, content) in
        [("summary.parquet", "no parquet"), ("claims.csv", "policy\n1\n"), ("optimum.json", "{")]
    {
        let path = format!("results/small/{file}");
        let good = place.path(&path).exists().then(|| place.bytes(&path));
        place.write(&path, content);
        let said = place.run(&["report", "results/small"]);
        assert!(said.code == Some(4) && said.err.contains(file), "{file} {}", said.err);
        match good {
            Some(good) => std::fs::write(place.path(&path), good).unwrap(),
            None => std::fs::remove_file(place.path(&path)).unwrap(),
        }
    }
    place.fine(&["report", "results/small"]);
    // A folder where a file is to be is an error of its own.
    std::fs::remove_file(place.path("results/small/report.html")).unwrap();
    std::fs::create_dir(place.path("results/small/report.html")).unwrap();
    let said = place.run(&["report", "results/small"]);
    assert!(said.code == Some(4) && said.err.contains("report.html"), "{}", said.err);
}

/// Whatever a spec calls things, a page shows it as text.
#[test]
fn names_are_text() {
    let place = Place::new();
    let long = "x".repeat(200);
    let names = [
        "<script>alert(1)</script>",
        "\\\"quoted\\\" 'twice' & </script><!-- {{data}}",
        long.as_str(),
        "балансировщик нагрузки",
        "🚦 two lines ﷽",
    ];
    let policies: Vec<String> = names
        .iter()
        .map(|name| {
            format!("theta: {{label: \"{name}\", rule: j, alpha: {{values: [0.1, 0.2, 0.3]}}}}")
        })
        .collect();
    let spec = format!(
        "name: names\nabout: \"<b>bold</b> & {{{{spec}}}}\"\nmodel:\n  loss_router:\n    channels: [2, 4]\n    \
         interarrival: {{poisson: 15}}\n    service: {{poisson: 60}}\n    horizon: 5000\n\
         policies:\n  - trigger\n  - {}\nreplications: 5\n",
        policies.join("\n  - ")
    );
    place.write("names.yaml", &spec);
    place.fine(&["names.yaml", "--quiet"]);
    let page = page(&place, "results/names");
    assert!(!page.contains("<script>alert") && !page.contains("<b>bold"), "unescaped");
    // As many scripts as the page's own: none was opened or closed by a name.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(page.contains("{{spec}}"), "a placeholder in a text isn't filled");
    let labels = data(&page)["policies"].clone();
    assert_eq!(labels[1], "<script>alert(1)</script>");
    assert_eq!(labels[3], long.as_str());
    assert_eq!(labels[4], "балансировщик нагрузки");
    for (name, figure) in figures(&place, "results/names") {
        assert!(!figure.contains("<script"), "{name}");
        assert_eq!(figure.matches("<svg").count(), 1, "{name}");
        assert!(figure.chars().all(|letter| letter == '\n' || !letter.is_control()), "{name}");
        assert!(name.is_ascii() && name.len() < 100, "{name}");
    }
}

/// Shards have the figures of one process.
#[test]
fn merged_results_have_the_same_report() {
    let place = Place::new();
    let spec = SPEC.split("published:").next().unwrap();
    place.write("small.yaml", spec);
    place.fine(&["small.yaml", "--quiet"]);
    for shard in ["1/2", "2/2"] {
        place.fine(&["small.yaml", "--quiet", "--shard", shard, "--out", "parts"]);
    }
    place.fine(&["merge", "parts", "--quiet"]);
    assert!(figures(&place, "parts") == figures(&place, "results/small"));
    assert!(data(&page(&place, "parts")) == data(&page(&place, "results/small")));
}

#[test]
fn large_sweeps_show_the_best_of_each_policy() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    let out = place.run(&["small.yaml", "--set", "optimize=[]"]).out;
    let rows: Vec<&str> = out.lines().filter(|line| line.starts_with("| ")).collect();
    let of =
        |policy: &str| rows.iter().filter(|row| row.starts_with(&format!("| {policy} "))).count();
    // One in the table of the best, and the claims.
    assert_eq!([of("coin"), of("trigger"), of("linear"), of("detail")], [2, 1, 2, 1], "{out}");
    assert!(out.contains("alpha 0 ") && out.contains('█') && out.contains('▁'), "{out}");
    assert!(out.contains("| better |") || out.contains("better |"), "{out}");
    // No colour where nobody looks.
    assert!(!out.contains('\u{1b}'));
    // Few points are shown as they are.
    let few = place
        .run(&[
            "small.yaml",
            "--set",
            "optimize=[]",
            "--fresh",
            "--set",
            "policies.detail.alpha=0.01",
        ])
        .out;
    assert!(!few.contains("along its axis") && few.contains("against coin"), "{few}");
}

/// A page of ten thousand points stays below two megabytes, and says what isn't in it.
#[test]
fn ten_thousand_points_are_a_small_page() {
    let place = Place::new();
    place.write(
        "wide.yaml",
        "name: wide\nmodel:\n  loss_router:\n    channels: [2, 4]\n    interarrival: {poisson: 15}\n    \
         service: {poisson: 60}\n    horizon: 600\npolicies:\n  - trigger\n  - theta: {rule: j, alpha: \
         {linspace: [0, 1, 10000]}}\nreplications: 2\n",
    );
    place.fine(&["wide.yaml", "--quiet"]);
    let page = page(&place, "results/wide");
    assert!(page.len() < 2_000_000, "{}", page.len());
    let data = data(&page);
    let points = &data["tables"][0];
    assert_eq!(points["columns"][0]["values"].as_array().unwrap().len(), 10_001);
    assert!(points["note"].as_str().unwrap().contains("more responses are there"));
    let line = &data["figures"][0]["series"][0];
    let drawn = line["x"].as_array().unwrap().len();
    assert!((600..=1300).contains(&drawn), "{drawn}");
}

/// PDF holds the letters of a font of this machine, without which it says what is missing.
#[test]
fn figures_are_written_as_pdf_too() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    place.run(&["small.yaml", "--quiet", "--set", "optimize=[]"]);
    let said = place.run(&["report", "results/small", "--figures", "pdf"]);
    let names: Vec<String> = std::fs::read_dir(place.path("results/small/figures"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let count = |end: &str| names.iter().filter(|name| name.ends_with(end)).count();
    if said.code == Some(4) {
        assert!(said.err.contains("no font is installed"), "{}", said.err);
        assert_eq!(count(".pdf"), 0);
        return;
    }
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(count(".pdf") > 5 && count(".pdf") == count(".svg"), "{names:?}");
    let pdf = place.bytes("results/small/figures/errors_pct-alpha.pdf");
    let has = |words: &[u8]| pdf.windows(words.len()).any(|window| window == words);
    // 520 pixels of 1/96 inch are 390 points, and text is text.
    assert!(pdf.starts_with(b"%PDF-") && has(b"/Font") && has(b"[0 0 390 "));
    // They go with the figures that they are of.
    place.fine(&["report", "results/small", "--quiet"]);
    assert!(!place.path("results/small/figures/errors_pct-alpha.pdf").exists());
}

/// Marks stand where they belong: in the figure of their scenario, on a line that is drawn.
#[test]
fn marks_stand_in_the_figure_of_their_scenario() {
    let place = Place::new();
    place.write(
        "two.yaml",
        "name: two\nmodel:\n  loss_router:\n    channels: [2, 4]\n    interarrival: {poisson: 15}\n    \
         service: {poisson: {values: [30, 60]}}\n    horizon: 3000\npolicies:\n  - trigger\n  - alternate\n  \
         - theta: {rule: j, alpha: {linspace: [0, 1, 11]}}\n  \
         - theta: {label: b, rule: j, max_run: 2, alpha: {linspace: [0, 1, 11]}}\n  \
         - theta: {label: c, rule: i, alpha: {linspace: [0, 1, 11]}}\n  \
         - theta: {label: d, rule: i, max_run: 2, alpha: {linspace: [0, 1, 11]}}\n\
         replications: 4\npublished:\n  claims:\n    - {policy: theta, response: errors_pct, at: \
         {poisson: 60, alpha: 0.5}, value: 50, tolerance: 99}\noptimize:\n  policy: theta\n  minimize: \
         errors_pct\n  over: {alpha: {linear: [0, 1]}}\n  method: random\n  budget: 40\n  confirm: {replications: 10}\n",
    );
    place.fine(&["two.yaml", "--quiet"]);
    let data = data(&page(&place, "results/two"));
    let optimum: Value = serde_json::from_slice(&place.bytes("results/two/optimum.json")).unwrap();
    let mut facets = 0;
    for figure in data["figures"].as_array().unwrap() {
        if figure["y"]["name"] != "errors_pct" {
            continue;
        }
        let series = figure["series"].as_array().unwrap();
        let marks = |name: &str| -> Vec<f64> {
            let is_it = |one: &&Value| one["name"].as_str().unwrap().starts_with(name);
            let one = series.iter().find(is_it);
            let x = one.map(|one| one["x"].as_array().unwrap().clone()).unwrap_or_default();
            x.iter().map(|x| x.as_f64().unwrap()).collect()
        };
        if figure["x"]["name"] == "poisson" {
            // What is claimed of α = 0.5 isn't what is drawn of the best α, unless that is it.
            let shown = series.iter().any(|series| series["name"] == "theta alpha 0.5");
            assert_eq!(marks("published").len(), usize::from(shown));
            continue;
        }
        let is_heavy = facets == 1;
        assert_eq!(marks("published"), if is_heavy { vec![0.5] } else { vec![] });
        let found = optimum["searches"][facets]["found"]["alpha"]["value"].as_f64().unwrap();
        assert_eq!(marks("found by the search").len(), 1);
        assert!((marks("found by the search")[0] - found).abs() < 1e-5);
        // No two lines or controls are called the same.
        let mut names: Vec<&str> = series.iter().map(|one| one["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
        facets += 1;
    }
    assert_eq!(facets, 2);
}

/// The best point of a sweep is found among all of its points, however many are left out.
#[test]
fn of_many_points_the_best_is_kept() {
    let place = Place::new();
    place.write(
        "many.yaml",
        "name: many\nmodel:\n  loss_router:\n    channels: [2, 4]\n    interarrival: {poisson: 15}\n    \
         service: {poisson: 60}\n    horizon: {values: [900, 901, 902, 903]}\npolicies:\n  - theta: {rule: j, alpha: \
         {linspace: [0, 1, 15001]}}\n  - trigger\nreplications: 2\n",
    );
    place.fine(&["many.yaml", "--quiet"]);
    let summary = place.parquet("results/many/summary.parquet");
    let column = |name: &str| summary.column(name).unwrap().clone();
    let (points, means) = (column("point"), column("mean"));
    let (responses, horizons, policies) = (column("response"), column("horizon"), column("policy"));
    let mut best: Vec<(f64, u32)> = vec![(f64::INFINITY, 0); 4];
    for row in 0..summary.height() {
        let is_of = responses.str().unwrap().get(row) == Some("errors_pct")
            && policies.str().unwrap().get(row) == Some("theta");
        let mean = means.f64().unwrap().get(row).unwrap();
        let scenario = horizons.f64().unwrap().get(row).unwrap() as usize - 900;
        if is_of && mean < best[scenario].0 {
            best[scenario] = (mean, points.u32().unwrap().get(row).unwrap());
        }
    }
    let data = data(&page(&place, "results/many"));
    let kept = data["tables"][0]["columns"][0]["values"].as_array().unwrap();
    assert!(kept.len() < 20_100 && kept.len() > 15_000, "{}", kept.len());
    for (mean, number) in best {
        assert!(kept.contains(&number.into()), "{number} {mean}");
    }
}

/// What can't be replaced stays, and doesn't stop results.
#[test]
fn nothing_of_others_is_lost_to_a_report() {
    let place = Place::new();
    place.write("small.yaml", SPEC);
    place.run(&["small.yaml", "--quiet", "--set", "optimize=[]"]);
    let figure = "results/small/figures/errors_pct-alpha.svg";
    place.write(figure, "<svg>mine</svg>");
    place.write("results/small/figures/errors_pct-differences.pdf", "mine");
    let before = page(&place, "results/small");
    let said = place.run(&["report", "results/small"]);
    assert!(said.code == Some(4) && said.err.contains("errors_pct-alpha.svg"), "{}", said.err);
    assert!(page(&place, "results/small") == before);
    // Nor does a run replace it, but its results are there.
    let said =
        place.run(&["small.yaml", "--quiet", "--set", "optimize=[]", "--replications", "21"]);
    assert!(said.code == Some(4) && said.err.contains("the results are in place"), "{}", said.err);
    assert!(place.path("results/small/manifest.json").exists());
    assert_eq!(place.bytes(figure), b"<svg>mine</svg>");
    std::fs::remove_file(place.path(figure)).unwrap();
    place.fine(&["report", "results/small"]);
    assert_eq!(place.bytes("results/small/figures/errors_pct-differences.pdf"), b"mine");
    std::fs::remove_file(place.path("results/small/summary.parquet")).unwrap();
    let said = place.run(&["report", "results/small"]);
    assert!(said.code == Some(4) && said.err.contains("summary.parquet"), "{}", said.err);
}
