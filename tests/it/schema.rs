//! The JSON Schema of a spec: that it takes what the program takes, and refuses what it refuses.
//!
//! A schema is judged by the few keywords that ours has; another one fails the test.

use serde_json::{Map, Value, json};

use super::program::Place;

/// Returns why a value doesn't fit a schema.
fn fault(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let rules = schema.as_object().unwrap();
    rules.iter().find_map(|(keyword, rule)| {
        let wrong = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => None,
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                fault(root, &root["$defs"][name], value)
            }
            "anyOf" | "oneOf" => {
                let forms = rule.as_array().unwrap();
                let faults: Vec<Option<String>> =
                    forms.iter().map(|form| fault(root, form, value)).collect();
                let fit = faults.iter().filter(|fault| fault.is_none()).count();
                let fits = if keyword == "oneOf" { fit == 1 } else { fit > 0 };
                (!fits).then(|| format!("{fit} of {keyword} {faults:?}"))
            }
            "type" => {
                let is = match rule.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "number" => value.is_number(),
                    "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
                    other => panic!("unknown type {other}"),
                };
                (!is).then(|| format!("not of type {rule}"))
            }
            "const" => (value != rule).then(|| format!("not {rule}")),
            "enum" => {
                (!rule.as_array().unwrap().contains(value)).then(|| format!("none of {rule}"))
            }
            "minimum" | "maximum" | "exclusiveMinimum" => value.as_f64().and_then(|number| {
                let bound = rule.as_f64().unwrap();
                let fits = match keyword.as_str() {
                    "minimum" => number >= bound,
                    "maximum" => number <= bound,
                    _ => number > bound,
                };
                (!fits).then(|| format!("{keyword} {rule}"))
            }),
            "minItems" | "maxItems" => value.as_array().and_then(|list| {
                let (len, bound) = (list.len() as u64, rule.as_u64().unwrap());
                let fits = if keyword == "minItems" { len >= bound } else { len <= bound };
                (!fits).then(|| format!("{keyword} {rule}"))
            }),
            "items" => value
                .as_array()
                .and_then(|list| list.iter().find_map(|item| fault(root, rule, item))),
            "minProperties" | "maxProperties" => value.as_object().and_then(|map| {
                let (len, bound) = (map.len() as u64, rule.as_u64().unwrap());
                let fits = if keyword == "minProperties" { len >= bound } else { len <= bound };
                (!fits).then(|| format!("{keyword} {rule}"))
            }),
            "required" => value.as_object().and_then(|map| {
                let names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                let missing: Vec<&str> = names.filter(|name| !map.contains_key(*name)).collect();
                (!missing.is_empty()).then(|| format!("without {missing:?}"))
            }),
            "properties" => value.as_object().and_then(|map| {
                let known = |(name, own)| Some((name, rule.get(name)?, own));
                map.iter().filter_map(known).find_map(|(name, rule, own)| {
                    fault(root, rule, own).map(|wrong| format!("{name}: {wrong}"))
                })
            }),
            "additionalProperties" => value.as_object().and_then(|map| {
                let none = Map::new();
                let listed = rules.get("properties").and_then(Value::as_object).unwrap_or(&none);
                let mut others = map.iter().filter(|(name, _)| !listed.contains_key(*name));
                others.find_map(|(name, own)| match rule {
                    Value::Bool(false) => Some(format!("unknown key {name}")),
                    rule => fault(root, rule, own).map(|wrong| format!("{name}: {wrong}")),
                })
            }),
            other => panic!("unknown keyword {other}"),
        };
        wrong.map(|wrong| format!("{wrong}\n  for {value}"))
    })
}

fn schema() -> Value {
    serde_json::from_str(&Place::new().fine(&["schema"])).unwrap()
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn the_specs_of_the_repository_fit() {
    let schema = schema();
    let experiments = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let mut judged = 0;
    for entry in experiments.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let spec = yaml(&std::fs::read_to_string(&path).unwrap());
        assert_eq!(fault(&schema, &schema, &spec), None, "{}", path.display());
        judged += 1;
    }
    assert!(judged >= 4);
}

/// Returns a good spec with a search.
fn spec(optimize: &str) -> Value {
    let mut spec = yaml(
        "name: small\n\
         model: {loss_router: {channels: [2, 4], interarrival: {poisson: 15}, service: {poisson: 80}, horizon: 1000}}\n\
         policies: [trigger, coin: 0.5, theta: {rule: j, alpha: {values: [0.01, 0.1]}}]\n",
    );
    spec["optimize"] = yaml(optimize);
    spec
}

const SEARCH: &str = "{policy: theta, minimize: errors_pct, over: {alpha: {log: [0.01, 1]}}, \
                      budget: 100, method: auto}";

#[test]
fn searches_fit_that_the_program_takes() {
    let schema = schema();
    let but = |old: &str, new: &str| {
        assert!(SEARCH.contains(old));
        SEARCH.replace(old, new)
    };
    let all = "{label: a, policy: theta, maximize: accepted_pct, over: {alpha: {log: [0.01, 1]}, \
               max_run: {linear: [1, 9], integer: true}}, start: {alpha: 0.1}, budget: 100, \
               against: [trigger, {policy: theta, at: {alpha: 0.01}}], confirm: {replications: 9, \
               delta: 0.1}}";
    let good = [
        SEARCH.to_owned(),
        all.to_owned(),
        format!("[{SEARCH}, {all}]"),
        "[]".to_owned(),
        but("auto", "golden_section"),
        but("auto", "{spsa: {pairs: 2, form: one_measurement}}"),
        but("auto", "{spsa: {}}"),
        but("auto", "{grid: 11}"),
        but("method: auto", "confirm: 50"),
    ];
    let place = Place::new();
    for search in good {
        let spec = spec(&search);
        assert_eq!(fault(&schema, &schema, &spec), None, "{search}");
        place.write("spec.json", &spec.to_string());
        place.fine(&["check", "spec.json"]);
    }
}

#[test]
fn policies_of_queues_fit_that_the_program_takes() {
    let schema = schema();
    let place = Place::new();
    for (policy, fine) in [
        ("jiq: {report: random}", true),
        ("jiq: {report: all}", false),
        ("idle_first: {d: 3, information: {update: periodic, age: 2}}", true),
        ("idle_first: {memory: 1}", false),
        ("below_threshold: 2", true),
        ("below_threshold: {threshold: {values: [1, 2]}}", true),
        ("below_threshold", false),
        ("sita: [1, 2.5]", true),
        ("sita: {cutoffs: []}", false),
        ("sq: {information: none}", true),
        ("sq: {information: {update: none}}", true),
        ("jsq: {information: {update: exponential, age: {logspace: [0.1, 10, 3]}}}", true),
        ("jsq: {information: {update: often, age: 1}}", false),
        ("jsq: {information: {update: periodic, age: 0}}", false),
        ("random: {information: none}", false),
    ] {
        let mut spec = spec("[]");
        spec["policies"] = yaml(&format!("[{policy}]"));
        spec["model"] = yaml(
            "supermarket: {servers: 3, dispatchers: 2, interarrival: {exponential: 1}, \
             service: {exponential: 1}, horizon: 9}",
        );
        assert_eq!(fault(&schema, &schema, &spec).is_none(), fine, "{policy}");
        place.write("spec.json", &spec.to_string());
        assert_eq!(place.run(&["check", "spec.json"]).code == Some(0), fine, "{policy}");
    }
}

#[test]
fn searches_do_not_fit_that_the_program_refuses() {
    let schema = schema();
    let cases = [
        ("policy: theta", "policy: 3"),
        ("policy: theta, ", ""),
        ("minimize: errors_pct", "minimise: errors_pct"),
        ("minimize: errors_pct, ", ""),
        ("minimize: errors_pct", "minimize: errors_pct, maximize: errors_pct"),
        ("over: {alpha: {log: [0.01, 1]}}, ", ""),
        ("{alpha: {log: [0.01, 1]}}", "{}"),
        ("{log: [0.01, 1]}", "[0.01, 1]"),
        ("log: [0.01, 1]", "log: [0, 1]"),
        ("log: [0.01, 1]", "log: [0.01, 0.1, 1]"),
        ("log: [0.01, 1]", "integer: true"),
        ("log: [0.01, 1]", "log: [0.01, 1], linear: [0, 1]"),
        ("log: [0.01, 1]", "logspace: [0.01, 1, 3]"),
        ("budget: 100, ", ""),
        ("budget: 100", "budget: 10"),
        ("budget: 100", "budget: 100, start: {alpha: low}"),
        ("budget: 100", "budget: 100, start: [0.1]"),
        ("budget: 100", "budget: 100, against: trigger"),
        ("budget: 100", "budget: 100, against: [{at: {alpha: 0.1}}]"),
        ("budget: 100", "budget: 100, confirm: {replications: 1}"),
        ("budget: 100", "budget: 100, confirm: 1"),
        ("method: auto", "method: spas"),
        ("method: auto", "method: {spsa: {pair: 2}}"),
        ("method: auto", "method: {spsa: {pairs: {values: [1, 2]}}}"),
        ("method: auto", "method: {particle_swarm: {particles: 1}}"),
    ];
    let place = Place::new();
    for (old, new) in cases {
        assert!(SEARCH.contains(old), "{old}");
        let spec = spec(&SEARCH.replace(old, new));
        assert!(fault(&schema, &schema, &spec).is_some(), "{new}");
        place.write("spec.json", &spec.to_string());
        assert_eq!(place.run(&["check", "spec.json"]).code, Some(2), "{new}");
    }
    assert!(fault(&schema, &schema, &json!({"name": "x"})).is_some());
}
