//! Size interval task assignment: each server has the jobs of an interval of sizes.
//!
//! M. E. Crovella, M. Harchol-Balter, C. D. Murta, "Task assignment in a distributed system: improving
//! performance by unbalancing load" (1998); M. Harchol-Balter, "Performance modeling and design of
//! computer systems" (2013), ch. 24. Short jobs never wait behind long ones.

use super::loads::Sizes;
use super::{Outcome, Router};
use crate::rng::Pcg32;

/// The intervals' ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Sita {
    /// Greatest size of each server but the last, rising.
    pub cutoffs: Vec<f64>,
}

/// The intervals at work.
#[derive(Clone)]
pub struct SitaRouter {
    cutoffs: Vec<f64>,
}

impl Sita {
    pub fn router(&self) -> SitaRouter {
        SitaRouter { cutoffs: self.cutoffs.clone() }
    }
}

impl<S: Sizes + ?Sized> Router<S> for SitaRouter {
    #[inline]
    fn route(&mut self, _: f64, system: &mut S, _: &mut Pcg32) -> usize {
        let size = system.size();
        self.cutoffs.partition_point(|&cutoff| cutoff < size)
    }

    /// The size stays what it is.
    fn tries(&self) -> u32 {
        0
    }

    #[inline]
    fn learn(&mut self, _: usize, _: Outcome) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Job(f64);

    impl Sizes for Job {
        fn size(&self) -> f64 {
            self.0
        }
    }

    #[test]
    fn a_job_goes_to_the_first_server_whose_cutoff_it_does_not_exceed() {
        let mut router = Sita { cutoffs: vec![1.0, 2.5] }.router();
        let mut server = |size| router.route(0.0, &mut Job(size), &mut Pcg32::new(5, 8));
        let sizes = [0.0, 0.5, 1.0, 1.0_f64.next_up(), 2.5, 3.0, f64::MAX];
        assert_eq!(sizes.map(&mut server), [0, 0, 0, 1, 1, 2, 2]);
    }
}
