//! The optimiser's methods on problems with known answers, against what they say of themselves.
//!
//! Run with `cargo bench --bench optimizer`, and two numbers after `--` for other than 60
//! macroreplications of 1 000 replications. Each is a search with a seed of its own. The long runs at
//! two of the three loads of one problem are for SPSA alone.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod problems;

use balancelab::optimize::{Found, Search, Stop, search};
use balancelab::spec::Method;
use balancelab::stats::{Good, Moments};
use problems::Problem;

/// Mean gaps of peers after 1 000 replications, measured (REFERENCE.md, section 7).
const PEERS: [(&str, &str, f64); 8] = [
    ("MM1-1", "SimOpt 1.2.4 SPSA", 0.761),
    ("MM1-1", "SimOpt 1.2.4 ASTRO-DF", 0.0270),
    ("MM1-1", "SimOpt 1.2.4 random search", 0.0022),
    ("MM1-1", "SimOpt 1.2.4 ADAM with gradients", 0.0008),
    ("EXAMPLE-1", "SimOpt 1.2.4 SPSA", 7.12),
    ("EXAMPLE-1", "Nevergrad SPSA", 7.996),
    ("EXAMPLE-1", "Nevergrad TBPSA", 0.070),
    ("EXAMPLE-1", "Optuna TPE", 0.152),
];

fn main() {
    let mut numbers = std::env::args().filter_map(|arg| arg.parse().ok());
    let (runs, budget) = (numbers.next().unwrap_or(60), numbers.next().unwrap_or(1000));
    println!(
        "budget {budget} replications, {runs} macroreplications; gap: true mean at the point found, less the minimum\n"
    );
    println!(
        "| problem | method | mean gap | ± (95 %) | largest gap | rms error | predicted / empirical s.e. | spent |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let all = problems::all();
    for problem in &all {
        let long = problem.name.ends_with("= 3") || problem.name.ends_with("= 10");
        let methods = methods(problem.best.len());
        for (name, method) in methods.iter().take(if long { 1 } else { usize::MAX }) {
            report(problem, name, method, (runs, budget));
        }
    }
    println!("\n| problem | peer | mean gap |\n|---|---|---|");
    for (problem, peer, gap) in PEERS {
        println!("| {problem} | {peer} | {gap} |");
    }
    println!("\n| problem | what `auto` says |\n|---|---|");
    for problem in &all {
        println!(
            "| {} | {} |",
            problem.name,
            run(problem, &Method::Auto, 0, budget).unwrap().0.why
        );
    }
}

/// Returns the methods, SPSA first.
fn methods(dimension: usize) -> Vec<(&'static str, Method)> {
    let replications = None;
    // Of those that the budget pays for, without the optimum among them where that is at the middle.
    let points = [20, 8, 4, 4].get(dimension - 1).copied().unwrap_or(3);
    vec![
        ("spsa", Method::Spsa(Default::default())),
        ("golden_section", Method::GoldenSection { replications }),
        ("brent", Method::Brent { replications }),
        ("nelder_mead", Method::NelderMead { replications }),
        ("particle_swarm", Method::ParticleSwarm { particles: 10, replications }),
        ("cma_es", Method::CmaEs { population: None, replications }),
        ("random", Method::Random { points: None }),
        ("sobol", Method::Sobol { points: None }),
        ("grid", Method::Grid { points, delta: None, confidence: 0.95 }),
        ("response_surface", Method::ResponseSurface { rounds: 7 }),
    ]
}

fn run(problem: &Problem, method: &Method, seed: u64, budget: u64) -> Result<(Found, u64), Stop> {
    let mut search_of =
        Search::new(problem.space(), problem, Good::Less, (seed, 7), budget, &|_| {});
    let found = search(&mut search_of, method, &problem.start)?;
    assert!(search_of.spent() <= budget);
    Ok((found, search_of.spent()))
}

/// Prints a method's line, unless it is one for fewer parameters or a larger budget.
fn report(problem: &Problem, name: &str, method: &Method, (runs, budget): (u64, u64)) {
    let (mut gap, mut worst) = (Moments::default(), 0.0_f64);
    let (mut at, mut variance) = (Moments::default(), Moments::default());
    let (mut square, mut spent) = (Moments::default(), Moments::default());
    for seed in 0..runs {
        let Ok((found, cost)) = run(problem, method, seed, budget) else { return };
        let point = problem.space().natural(&found.unit);
        gap.push((problem.gap)(&point));
        worst = worst.max((problem.gap)(&point));
        at.push(found.unit[0]);
        found.se.iter().for_each(|se| variance.push(se[0] * se[0]));
        square.push((point[0] - problem.best[0]).powi(2));
        spent.push(cost as f64);
    }
    let ratio = variance.mean().map(|mean| format!("{:.2}", mean.sqrt() / at.sd().unwrap()));
    println!(
        "| {} | {name} | {:.5} | {:.5} | {worst:.5} | {:.4} | {} | {:.0} |",
        problem.name,
        gap.mean().unwrap(),
        gap.interval(0.95).unwrap().half_width(),
        square.mean().unwrap().sqrt(),
        ratio.as_deref().unwrap_or("–"),
        spent.mean().unwrap()
    );
}
