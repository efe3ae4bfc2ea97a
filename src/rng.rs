//! Random streams, and the distributions drawn from them.
//!
//! A replication's identity is a [`StreamKey`]; each [`Role`] in it has its own [`Pcg32`], made once when the
//! replication starts and moved into whatever draws in that role. A [`Distribution`] is checked and compiled into a
//! [`Sampler`] once a scenario, and the sampler is then read by every replication of it.
//!
//! # Stream table
//!
//! | role | index | who draws | outputs an event |
//! |---|---|---|---|
//! | [`Role::Arrivals`] | 0 | the arrival process | those of one interarrival time |
//! | [`Role::Service`] | 1 | job sizes, drawn at the arrival whatever becomes of the job | those of one service time |
//! | [`Role::Routing`] | 2 | the policy: servers to look at, coins, ties, dispatchers, reports, updates | as many as the policy states, by policy |
//! | [`Role::Redirect`] | 3 | the model: choices made after routing, such as where a redirected job goes | as many as the model states |
//! | [`Role::Outages`] | 4 | failures and repairs of servers, in order of time | those of one exponential time |
//! | reserved | 5 and up | nobody yet | |
//!
//! A new role takes the next index; an index is never renumbered or used again, since that would change stored results.
//! Arrivals and sizes never share a stream with a policy, so every policy meets the same jobs (common random numbers).
//! What one draw of each distribution takes is the table of [`Sampler`].
//!
//! # Trade-offs
//!
//! A stream depends on seed, scenario, replication and role and on nothing else, so more replications, other threads
//! or another order of work change no existing result. The price is that streams are apart by chance, not by
//! construction: state and increment are a hash, 127 bits of it effective, so that two of n streams are equal with
//! probability below n² · 2⁻¹²⁸, and related increments, which make PCG streams correlate, are as unlikely.
//! Pcg32 (O'Neill 2014, PCG-XSH-RR 64/32) is chosen because its state steps in SIMD lanes. Its period is 2⁶⁴.
//!
//! Draws are the same on every machine: they are made of integer and IEEE operations and of the pure Rust functions of
//! `libm`, not of the platform's mathematical library, whose last bit differs from one processor to another. The one
//! exception is gamma (and Erlang of many phases), which `rand_distr` draws with the platform's logarithm.

mod alias;
pub mod distribution;
mod gamma;
mod logarithm;
mod normal;
mod sampler;

pub use alias::AliasTable;
pub use distribution::{Distribution, Invalid};
pub use rand_pcg::Pcg32;
pub use sampler::{Ahead, Branch, Draw, Exponential, Sampler};

use rand::Rng;
use xxhash_rust::xxh3::xxh3_128;

/// Name of the generator and of the way keys become streams, for the metadata of results.
///
/// It changes whenever an equal key would give other numbers.
pub const GENERATOR: &str = "pcg32/xxh3-128 v1";

/// First bytes of every hashed key, which set it apart from any other hashed content.
const KEY_TAG: [u8; 16] = *b"balancelab/rng/1";

/// What a stream is for; the discriminant is its index in the stream table of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Role {
    /// Interarrival times.
    Arrivals = 0,
    /// Job sizes.
    Service = 1,
    /// The policy's own choices.
    Routing = 2,
    /// The model's choices after routing.
    Redirect = 3,
    /// When servers fail and are repaired.
    Outages = 4,
}

/// Identity of one replication's streams, free of thread, order and policy.
///
/// ```
/// use balancelab::rng::{Role, StreamKey, content_hash, unit};
///
/// let scenario = content_hash(b"loss_router channels=[10,20]");
/// let key = StreamKey { seed: 1, scenario, replication: 0 };
/// let mut arrivals = key.stream(Role::Arrivals);
/// assert_eq!(unit(&mut arrivals), unit(&mut key.stream(Role::Arrivals)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamKey {
    /// Seed of the experiment.
    pub seed: u64,
    /// [`content_hash`] of the scenario: a point without its policy.
    pub scenario: u128,
    /// Replication, counted from 0.
    pub replication: u32,
}

impl StreamKey {
    /// Returns the stream of a role, at its beginning.
    ///
    /// The key is 48 bytes: the ASCII tag `balancelab/rng/1`, then, little-endian, seed (8 bytes), scenario (16),
    /// replication (4) and role index (4). Of their XXH3-128 hash (seed 0) the low half goes in as PCG's initial state
    /// s and the high half as its stream number h. The increment is c = 2h + 1 mod 2⁶⁴, so the top bit of h is lost,
    /// and the first state is (s + c) · 6364136223846793005 + c, one to one in s.
    pub fn stream(&self, role: Role) -> Pcg32 {
        let mut bytes = [0; 48];
        bytes[..16].copy_from_slice(&KEY_TAG);
        bytes[16..24].copy_from_slice(&self.seed.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.scenario.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.replication.to_le_bytes());
        bytes[44..].copy_from_slice(&(role as u32).to_le_bytes());
        let hash = xxh3_128(&bytes);
        Pcg32::new(hash as u64, (hash >> 64) as u64)
    }
}

/// Returns the 128-bit content hash of scenarios and specs: XXH3-128 with seed 0, stable across versions and platforms.
///
/// It guards against accidents, not against adversaries.
pub fn content_hash(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

/// Returns a uniform number in [0, 1), a multiple of 2⁻⁵³, from two outputs.
///
/// The first output gives the 32 most significant bits, the top 21 bits of the second the rest.
#[inline]
pub fn unit(rng: &mut Pcg32) -> f64 {
    bits53(rng) as f64 * ULP
}

/// Returns a uniform number in (0, 1], a multiple of 2⁻⁵³, from two outputs: fit for a logarithm.
///
/// It is 1 − [`unit()`] of the same outputs, so that −ln of it grows with them.
#[inline]
pub fn unit_open(rng: &mut Pcg32) -> f64 {
    1.0 - unit(rng)
}

/// Returns a whole number below `n`, from one output; each is within 2⁻³² of its probability 1/n.
#[inline]
pub fn below(rng: &mut Pcg32, n: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32
}

/// 2⁻⁵³, the grain of a 53-bit uniform number.
const ULP: f64 = f64::EPSILON / 2.0;

/// Returns 53 uniform bits from two outputs, the first of them on top.
#[inline]
fn bits53(rng: &mut Pcg32) -> u64 {
    let high = u64::from(rng.next_u32());
    let low = u64::from(rng.next_u32());
    high << 21 | low >> 11
}
