//! Draws: their first values, how many outputs they take, how they follow them.

use super::*;
use rand::Rng;

#[test]
fn draws_are_stable() {
    let cases = [
        (deterministic(2.5), [2.5, 2.5, 2.5, 2.5, 2.5]),
        (
            exponential(2.0),
            [
                7.156334513756377,
                3.6270070751488483,
                2.403677503856532,
                0.8884104840114919,
                0.6545620203880489,
            ],
        ),
        (poisson(0.5), [2.0, 2.0, 2.0, 1.0, 1.0]),
        (poisson(15.0), [21.0, 18.0, 17.0, 20.0, 15.0]),
        (poisson(460.0), [491.0, 479.0, 475.0, 489.0, 466.0]),
        (poisson(1e6), [1001334.0, 1000795.0, 1000612.0, 998733.0, 1000163.0]),
        (geometric(3.0), [9.0, 6.0, 5.0, 1.0, 3.0]),
        (
            erlang(3, 2.0),
            [
                4.395673030920586,
                0.6026975334349771,
                2.0941076052231518,
                1.732780541733589,
                3.359906472003488,
            ],
        ),
        (
            erlang(40, 2.0),
            [
                2.3919527659438358,
                2.0039608859454785,
                1.5517225584468475,
                2.285545846191358,
                2.299154516077859,
            ],
        ),
        (
            hyperexponential(&[0.2, 0.8], &[9.0, 1.0]),
            [
                3.355023705563979,
                1.5903599862602145,
                0.9786952006140563,
                0.22106169069153625,
                0.1041374588798147,
            ],
        ),
        (
            lognormal(3.0, 0.5),
            [
                6.621457004376371,
                4.266770921357418,
                3.4345533651202165,
                2.2614954718576286,
                2.034967761150921,
            ],
        ),
        (
            uniform(1.0, 4.0),
            [
                3.9162194977161837,
                3.5107546851335947,
                3.098077302002654,
                2.0759986639376704,
                1.8373565811633492,
            ],
        ),
        (
            weibull(0.7, 3.0),
            [
                18.538091534448196,
                7.021554398753186,
                3.9011015833879314,
                0.9411728010171978,
                0.6083464512974106,
            ],
        ),
        (
            bounded_pareto(1.5, 2.0, 50.0),
            [
                18.445486793653338,
                6.522947631777068,
                4.402094710669598,
                2.6813167319516613,
                2.482516323636245,
            ],
        ),
        (
            gamma(0.5, 2.0),
            [
                2.7214306315168475,
                0.38231566254390686,
                7.914543640004763,
                3.2965472881076794,
                0.6555215845516081,
            ],
        ),
        (
            gamma(2.5, 2.0),
            [
                3.598545531022824,
                1.8113442644364206,
                0.5072435468734009,
                3.0489592659994793,
                3.116786171784979,
            ],
        ),
        (empirical(&[3.0, 1.0, 4.0, 1.0, 7.0]), [7.0, 7.0, 7.0, 1.0, 1.0]),
    ];
    for (distribution, expected) in cases {
        let found = sample(&distribution, 5);
        // Logarithms and powers may differ in their last bit between platforms; integers and sums may not.
        let slack = if distribution.is_integer() { 0.0 } else { 1e-14 };
        let stable =
            found.iter().zip(expected).all(|(x, y): (&f64, f64)| (x - y).abs() <= slack * y);
        assert!(stable, "{distribution:?}: {found:?}");
    }
}

#[test]
fn a_draw_takes_the_outputs_of_the_table() {
    let cases = [
        (deterministic(2.0), 0),
        (poisson(15.0), 1),
        (geometric(3.0), 1),
        (empirical(&[1.0, 2.5]), 1),
        (exponential(2.0), 2),
        (hyperexponential(&[0.2, 0.8], &[9.0, 1.0]), 2),
        (lognormal(3.0, 0.5), 2),
        (uniform(1.0, 4.0), 2),
        (weibull(0.7, 3.0), 2),
        (bounded_pareto(1.5, 2.0, 50.0), 2),
        (erlang(3, 2.0), 6),
        (erlang(16, 2.0), 32),
    ];
    for (distribution, outputs) in cases {
        let sampler = distribution.sampler().expect("valid");
        let mut rng = stream(0, Role::Service);
        for _ in 0..100 {
            let mut expected = rng.clone();
            expected.advance(outputs);
            sampler.sample(&mut rng);
            assert_eq!(rng, expected, "{distribution:?}");
        }
    }
}

/// Two scenarios on the same stream then differ in the same direction, which is what common random numbers need.
#[test]
fn inverted_draws_grow_with_the_first_output() {
    let inverted = [
        geometric(30.0),
        empirical(&[1.0, 2.5, 4.0]),
        exponential(2.0),
        hyperexponential(&[0.8, 0.2], &[1.0, 9.0]),
        lognormal(3.0, 0.5),
        uniform(1.0, 4.0),
        weibull(0.7, 3.0),
        bounded_pareto(1.5, 2.0, 50.0),
    ];
    for distribution in inverted {
        let sampler = distribution.sampler().expect("valid");
        let mut pairs: Vec<(u32, f64)> = (0..1000)
            .map(|r| {
                (stream(r, Role::Service).next_u32(), sampler.sample(&mut stream(r, Role::Service)))
            })
            .collect();
        pairs.sort_by_key(|pair| pair.0);
        let name = distribution.identity();
        // Within a branch alone: a mixture starts again at each.
        let falls = pairs.windows(2).filter(|pair| pair[0].1 > pair[1].1).count();
        let branches = if let Distribution::Hyperexponential { means, .. } = &distribution {
            means.len()
        } else {
            1
        };
        assert_eq!(falls, branches - 1, "{name}");
    }
}
