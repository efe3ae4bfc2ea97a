//! What differs between two specs.

use super::path::label;
use super::yaml::{Node, Value, parse};

/// Fields that bear on no row. Confidence does, where the data decide how many there are.
const WITHOUT_ROWS: [&str; 6] = ["name", "about", "published", "adjust", "baseline", "optimize"];

/// Returns a line for each field that bears on rows and differs between two specs, given as JSON:
/// `model.loss_router.service.poisson: 460 → 480`.
pub fn changes(earlier: &str, now: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Ok(earlier), Ok(now)) = (parse(earlier, 0), parse(now, 0)) {
        compare(&mut Vec::new(), Some(&earlier), Some(&now), &mut lines);
    }
    lines
}

fn compare(path: &mut Vec<String>, a: Option<&Node>, b: Option<&Node>, lines: &mut Vec<String>) {
    let at = |path: &[String]| path.join(".");
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (Some(a), None) => return lines.push(format!("{}: {} is gone", at(path), a.shown())),
        (None, Some(b)) => return lines.push(format!("{}: {} is new", at(path), b.shown())),
        (None, None) => return,
    };
    let depth = path.len();
    let policies = depth == 1 && path[0] == "policies";
    let mut both = |keys: Vec<(String, Option<&Node>, Option<&Node>)>| {
        for (key, a, b) in keys {
            path.push(key);
            compare(path, a, b, lines);
            path.pop();
        }
    };
    match (&a.value, &b.value) {
        // `coin` is `coin: {}`, and a policy that is gone is told of as a whole.
        (Value::List(before), Value::List(after)) if policies => {
            let find =
                |list: &'_ [Node], name: &str| list.iter().position(|policy| label(policy) == name);
            let mut keys: Vec<_> = before
                .iter()
                .map(|policy| {
                    let name = label(policy);
                    (name.to_owned(), Some(policy), find(after, name).map(|at| &after[at]))
                })
                .collect();
            let new = after.iter().filter(|policy| find(before, label(policy)).is_none());
            keys.extend(new.map(|policy| (label(policy).to_owned(), None, Some(policy))));
            both(keys);
        }
        (Value::Map(before), Value::Map(after)) => {
            let listed = |key: &str| depth > 0 || !WITHOUT_ROWS.contains(&key);
            let mut keys: Vec<_> = before
                .iter()
                .map(|entry| (entry.key.clone(), Some(&entry.node), b.get(&entry.key)))
                .collect();
            let new = after.iter().filter(|entry| a.get(&entry.key).is_none());
            keys.extend(new.map(|entry| (entry.key.clone(), None, Some(&entry.node))));
            keys.retain(|(key, ..)| listed(key));
            both(keys);
        }
        _ if a.canonical() != b.canonical() => {
            lines.push(format!("{}: {} → {}", at(path), a.shown(), b.shown()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &str, b: &str) -> Vec<String> {
        changes(&parse(a, 0).unwrap().json(), &parse(b, 0).unwrap().json())
    }

    #[test]
    fn changes_are_told_by_path_and_those_without_rows_are_not() {
        let a = "{about: x, model: {loss_router: {service: {poisson: 460}, horizon: 1_000}},
            policies: [coin, theta: {label: j, rule: j, alpha: {values: [1, 2]}}], seed: 1}";
        assert_eq!(between(a, a), Vec::<String>::new());
        let b = a
            .replace("460", "480")
            .replace("about: x, ", "")
            .replace("1_000", "1000")
            .replace("[1, 2]", "[1]")
            .replace("[coin,", "[trigger,")
            .replace(", seed: 1", "");
        let expected = [
            "model.loss_router.service.poisson: 460 → 480",
            "policies.coin: coin is gone",
            "policies.j.theta.alpha.values: [1, 2] → [1]",
            "policies.trigger: trigger is new",
            "seed: 1 is gone",
        ];
        assert_eq!(between(a, &b), expected);
    }

    #[test]
    fn json_says_what_the_yaml_said() {
        let text =
            "a: [1, 7.70, 1e-300, -3, 18446744073709551615, true, null, 'x\"\\ é\t', '1']\nb: {}";
        let tree = parse(text, 0).unwrap();
        let again = parse(&tree.json(), 0).unwrap();
        assert_eq!(tree.canonical(), again.canonical(), "{}", tree.json());
        assert_eq!(again.json(), tree.json());
    }
}
