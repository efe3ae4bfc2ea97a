//! Exact values of the systems that balancelab simulates, found without simulating.
//!
//! A value of theory stands beside a simulated one and judges it, so nothing here knows a model, a policy or a random
//! stream: each formula is written from its source. Where a formula's assumptions fail there is no value: `None` for a
//! queue without a steady state, an error for a chain that can't be solved to rounding.
//!
//! | function | gives | assumptions | source |
//! |---|---|---|---|
//! | [`stable_load`] | load, if below one | a single queue of infinite room | |
//! | [`erlang_b`] | loss of M/G/c/c | Poisson arrivals, any service with a mean | Erlang 1917 |
//! | [`erlang_c`] | probability of waiting in M/M/c | Poisson arrivals, exponential service | Erlang 1917 |
//! | [`mm1_sojourn`], [`mm1_number`] | mean time and mean number in system | Poisson, exponential, one server | Kleinrock 1975, ch. 3 |
//! | [`mmck`] | queue lengths and losses of M/M/c/K and M/M/c | Poisson, exponential, c equal channels | Kleinrock 1975, ch. 3 |
//! | [`mmc_wait`] | mean wait of M/M/c | Poisson, exponential, c equal servers | Kleinrock 1975, ch. 3 |
//! | [`mg1_wait`], [`md1_wait`] | mean wait of M/G/1, M/D/1 | Poisson, one server, first come first served | Pollaczek 1930, Khinchine 1932 |
//! | [`mg1_ps_sojourn`] | mean time in system of M/G/1 under processor sharing, or last in first out preemptively | Poisson, one server, any service with a mean | Kleinrock 1976, ch. 4 |
//! | [`ekm1_sojourn`] | mean time in system of E_k/M/1; round robin over k servers | Erlang interarrivals, exponential service | Kleinrock 1975, ch. 6 |
//! | [`stationary`] | stationary distribution of a finite Markov chain | one closed class | Grassmann, Taksar, Heyman 1985 |
//! | [`mean_field`], [`refined_mean_field`] | queue lengths of the supermarket under d choices | Poisson, exponential, many equal servers | Vvedenskaya, Dobrushin, Karpelevich 1996, Mitzenmacher 2001; Gast, Van Houdt 2017 |
//! | [`transient_mean_field`] | the first of them at a time, from any start | Poisson, exponential, many equal servers; exact for one choice | Vvedenskaya, Dobrushin, Karpelevich 1996 |
//! | [`few_servers`] | the same, and join the shortest queue, exactly | Poisson, exponential, few equal servers | the chain |
//! | [`jiq_published`], [`jiq_corrected`] | empty lists and mean time in system of join-idle-queue with several dispatchers | Poisson, exponential, many equal servers and dispatchers, independent lists | Lu and others 2011; the same, less idle servers met at random |
//! | [`LossNetwork::solve`] | errors, refusals, switches, shares, utilisation of a loss router | Poisson arrivals, exponential service | the chain, and Wolff 1982 |
//!
//! Rates are per time unit, times are in that unit, loads and probabilities are pure numbers (fractions, not percent).

mod chain;
mod choices;
mod gauss_seidel;
mod gth;
mod jiq;
mod loss_network;
mod queues;
mod transient;

pub use chain::{ChainError, Stationary, stationary};
pub use choices::{Choice, few_servers, mean_field, refined_mean_field};
pub use jiq::{JiqFigures, jiq_corrected, jiq_published};
pub use loss_network::{LossFigures, LossNetwork, LossPolicy, LossRedirect, Unsolved};
pub use queues::{
    QueueFigures, ekm1_sojourn, erlang_b, erlang_c, md1_wait, mg1_ps_sojourn, mg1_wait, mm1_number,
    mm1_sojourn, mmc_wait, mmck, stable_load,
};
pub use transient::transient_mean_field;
