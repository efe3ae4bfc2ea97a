//! The design of an experiment: axes, and the points that they span.
//!
//! A [`Design`] is made once from the swept fields of a spec. It numbers its points without
//! storing them: scenarios outermost, then policies in the order of the file, then the policy's
//! own axes, the last one fastest. Only `where:` needs a list, of the points it keeps.
//!
//! Axes with an `axis:` name in common move together. Fields of the model share one name space
//! with each policy, policies don't with each other: they are alternatives, not factors.

mod axis;
mod filter;
mod range;

pub use axis::{Axis, Level, Levels, MAX_LEVELS, TooMany};
pub use filter::Filter;
pub use range::Range;

/// Axes that move together: positions in the list of their owner.
type Group = Vec<usize>;

/// The axes of a spec, and the points they span.
#[derive(Clone, Debug)]
pub struct Design {
    model: Side,
    policies: Vec<Side>,
    /// Names of the axis columns, in the order of the spec.
    columns: Vec<String>,
    /// Raw indices that `where:` kept, where there is one, rising.
    kept: Option<Vec<u32>>,
    len: u64,
}

/// The axes of the model or of one policy.
#[derive(Clone, Debug, Default)]
struct Side {
    axes: Vec<Axis>,
    /// For each axis its column.
    columns: Vec<usize>,
    /// Digits of the side's own number, most significant first.
    groups: Vec<Group>,
    /// For each of a policy's axes that moves with a group of the model: that group.
    tied: Vec<Option<usize>>,
    combinations: u64,
}

/// One combination of swept values and policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Number of the point, as in the column `point`.
    pub index: u32,
    /// Position of the policy in the spec.
    pub policy: usize,
    /// Number of the scenario.
    pub scenario: u64,
    /// Number of the combination of those of the policy's axes that don't move with the model's.
    pub combination: u64,
    /// For each swept field of the model, the position on its axis.
    pub model_levels: Vec<usize>,
    /// For each swept field of the policy, the position on its axis.
    pub policy_levels: Vec<usize>,
}

/// Why axes make no design.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DesignError {
    #[error("axis `{name}` has {a} values in one place and {b} in another")]
    Uneven { name: String, a: usize, b: usize, policy: Option<usize>, axis: usize },
    #[error("an axis can't be called `{name}`: results have a column of that name")]
    Reserved { name: String, policy: Option<usize>, axis: usize },
    #[error("the axes span {0} points, more than the {max} that can be numbered", max = u32::MAX)]
    TooManyPoints(u128),
    #[error("`where` keeps no point at all")]
    Nothing,
    #[error("`{condition}` is about `{name}`, which is no axis")]
    UnknownAxis { filter: usize, condition: String, name: String, columns: Vec<String> },
    #[error("`{condition}`: {message}")]
    Filter { filter: usize, condition: String, message: String },
}

impl Design {
    /// Makes the design of the model's axes, each policy's axes and the conditions of `where:`;
    /// `reserved` tells names that axis columns can't have.
    ///
    /// # Errors
    /// [`DesignError`]; `Uneven` names the axis by owner and position.
    pub fn new(
        model: Vec<Axis>,
        policies: Vec<Vec<Axis>>,
        filters: &[Filter],
        reserved: &dyn Fn(&str) -> bool,
    ) -> Result<Design, DesignError> {
        let columns = axis::columns(&model, &policies, reserved);
        if let Some((owner, name)) = columns.iter().find(|(_, name)| reserved(name)) {
            let (policy, axis) = (owner.policy, owner.position);
            return Err(DesignError::Reserved { name: name.clone(), policy, axis });
        }
        let model = Side::new(model, None, &columns, None)?;
        let policies = policies
            .into_iter()
            .enumerate()
            .map(|(index, axes)| Side::new(axes, Some(&model), &columns, Some(index)))
            .collect::<Result<Vec<_>, _>>()?;
        let raw = policies.iter().map(|side| u128::from(side.combinations)).sum::<u128>()
            * u128::from(model.combinations);
        if raw > u128::from(u32::MAX) {
            return Err(DesignError::TooManyPoints(raw));
        }
        let mut names: Vec<String> = Vec::new();
        for (_, name) in columns {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut design = Design { model, policies, columns: names, kept: None, len: raw as u64 };
        if !filters.is_empty() {
            design.filter(filters)?;
        }
        Ok(design)
    }

    /// Returns the number of points.
    pub fn len(&self) -> u32 {
        self.len as u32
    }

    /// Returns whether the design has no point; a made one has.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of scenarios before `where:`.
    pub fn scenarios(&self) -> u64 {
        self.model.combinations
    }

    /// Returns the number of combinations of a policy's own axes before `where:`.
    pub fn combinations(&self, policy: usize) -> u64 {
        self.policies[policy].combinations
    }

    /// Returns the names of the axis columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns each axis with its column: the model's, then the policies'.
    pub fn axes(&self) -> impl Iterator<Item = (&Axis, &str)> {
        std::iter::once(&self.model)
            .chain(&self.policies)
            .flat_map(|side| side.axes.iter().zip(&side.columns))
            .map(|(axis, &column)| (axis, self.columns[column].as_str()))
    }

    /// Returns the axis behind each column that the points of a policy have.
    pub fn axes_of(&self, policy: usize) -> impl Iterator<Item = (&Axis, &str)> {
        [&self.model, &self.policies[policy]].into_iter().flat_map(|side| {
            let first = side.groups.iter().map(|group| group[0]);
            first.map(|axis| (&side.axes[axis], self.columns[side.columns[axis]].as_str()))
        })
    }

    /// Returns each of a policy's axes that don't move with the model's, with its column; of those
    /// that move together the first.
    pub fn own_axes(&self, policy: usize) -> impl Iterator<Item = (&Axis, &str)> {
        let side = &self.policies[policy];
        let first = side.groups.iter().map(|group| group[0]);
        first.map(|axis| (&side.axes[axis], self.columns[side.columns[axis]].as_str()))
    }

    /// Returns how many combinations of a policy's own axes meet a condition on column and level,
    /// before `where:`.
    pub fn combinations_of(&self, policy: usize, meets: &dyn Fn(&str, &Level) -> bool) -> u64 {
        let side = &self.policies[policy];
        side.numbers(|group, digit| self.fits(side, group, digit, meets)).len() as u64
    }

    /// Returns the scenarios that have points, rising, each with its first point.
    pub fn scenario_starts(&self) -> Box<dyn Iterator<Item = (u64, u32)> + '_> {
        let per_scenario = self.per_scenario();
        let Some(kept) = &self.kept else {
            let start = move |scenario| (scenario, (scenario * per_scenario) as u32);
            return Box::new((0..self.model.combinations).map(start));
        };
        let of = move |raw: u32| u64::from(raw) / per_scenario;
        let starts = kept.chunk_by(move |&a, &b| of(a) == of(b));
        Box::new(starts.scan(0, move |next, chunk| {
            let first = *next;
            *next += chunk.len() as u32;
            Some((of(chunk[0]), first))
        }))
    }

    /// Returns the point's value on each axis of the model, with its column; of axes that move
    /// together the first.
    pub fn scenario_levels(&self, point: &Point) -> Vec<(&str, Level)> {
        let side = &self.model;
        let first = side.groups.iter().map(|group| group[0]);
        let level = |axis: usize| {
            let column = self.columns[side.columns[axis]].as_str();
            (column, side.axes[axis].levels.level(point.model_levels[axis]))
        };
        first.map(level).collect()
    }

    /// Returns where each axis of a policy stands in a scenario: those that move with the model's
    /// where these stand, the others at their first values.
    pub fn policy_levels(&self, policy: usize, scenario: u64) -> Vec<usize> {
        let side = &self.policies[policy];
        side.positions(&vec![0; side.groups.len()], &self.model.digits(scenario))
    }

    /// Returns whether an axis of a policy moves together with one of the model's.
    pub fn is_tied(&self, policy: usize, axis: usize) -> bool {
        self.policies[policy].tied[axis].is_some()
    }

    /// Returns whether a policy has axes that move together with the model's.
    pub fn moves_with_model(&self, policy: usize) -> bool {
        self.policies[policy].tied.iter().any(Option::is_some)
    }

    /// Returns the first point of a policy whose levels all meet a condition on column and level,
    /// and how many there are. The condition is asked once for each level, not for each point.
    pub fn points_of(
        &self,
        policy: usize,
        meets: &dyn Fn(&str, &Level) -> bool,
    ) -> (Option<u32>, u64) {
        let side = &self.policies[policy];
        let own = side.numbers(|group, digit| self.fits(side, group, digit, meets));
        let model = &self.model;
        let scenarios = model.numbers(|group, digit| self.fits(model, group, digit, meets));
        let (mut first, mut count) = (None, 0);
        for scenario in scenarios {
            for combination in &own {
                let index = self.index(self.number(scenario, policy, *combination));
                first = first.or(index);
                count += u64::from(index.is_some());
            }
        }
        (first, count)
    }

    /// Whether a group of axes meets a condition at a digit.
    fn fits(
        &self,
        side: &Side,
        group: usize,
        digit: usize,
        meets: &dyn Fn(&str, &Level) -> bool,
    ) -> bool {
        let axis = side.groups[group][0];
        meets(&self.columns[side.columns[axis]], &side.axes[axis].levels.level(digit))
    }

    /// Returns the first point of a policy in a scenario that has these values on its axes.
    pub fn point_in(&self, scenario: u64, policy: usize, at: &[(String, Level)]) -> Option<u32> {
        let meets = |column: &str, level: &Level| {
            at.iter().all(|(name, wanted)| name != column || level.is_about(wanted))
        };
        let side = &self.policies[policy];
        let own = side.numbers(|group, digit| self.fits(side, group, digit, &meets));
        let mut raws = own.iter().map(|own| self.number(scenario, policy, *own));
        raws.find_map(|raw| self.index(raw))
    }

    /// Returns the raw number of a point.
    fn number(&self, scenario: u64, policy: usize, combination: u64) -> u32 {
        let before: u64 = self.policies[..policy].iter().map(|side| side.combinations).sum();
        (scenario * self.per_scenario() + before + combination) as u32
    }

    /// Returns the number of a point, if `where:` kept it.
    fn index(&self, raw: u32) -> Option<u32> {
        match &self.kept {
            Some(kept) => kept.binary_search(&raw).ok().map(|index| index as u32),
            None => Some(raw),
        }
    }

    /// Returns the point with number `index` < [`Design::len`].
    pub fn point(&self, index: u32) -> Point {
        let raw = match &self.kept {
            Some(kept) => kept[index as usize],
            None => index,
        };
        Point { index, ..self.raw(u64::from(raw)) }
    }

    /// Returns the point's value in each axis column; nothing where its policy has no such axis.
    ///
    /// Of axes that move together the first shows its values, the model's before a policy's, so
    /// that all points of a scenario show the same.
    pub fn levels(&self, point: &Point) -> Vec<Option<Level>> {
        let mut row = vec![None; self.columns.len()];
        let sides = [
            (&self.model, &point.model_levels),
            (&self.policies[point.policy], &point.policy_levels),
        ];
        for (side, positions) in sides {
            for ((axis, &column), &at) in side.axes.iter().zip(&side.columns).zip(positions) {
                if row[column].is_none() {
                    row[column] = Some(axis.levels.level(at));
                }
            }
        }
        row
    }

    fn per_scenario(&self) -> u64 {
        self.policies.iter().map(|side| side.combinations).sum()
    }

    /// Returns whether a point has these values on these axes, numbers up to a rounding error.
    pub fn meets(&self, point: &Point, wanted: &[(String, Level)]) -> bool {
        wanted
            .iter()
            .all(|(name, level)| self.level(point, name).is_some_and(|own| own.is_about(level)))
    }

    fn raw(&self, raw: u64) -> Point {
        let per_scenario = self.per_scenario();
        let scenario = raw / per_scenario;
        let mut rest = raw % per_scenario;
        let mut policy = 0;
        while rest >= self.policies[policy].combinations {
            rest -= self.policies[policy].combinations;
            policy += 1;
        }
        let scenario_digits = self.model.digits(scenario);
        let side = &self.policies[policy];
        let digits = side.digits(rest);
        Point {
            index: 0,
            policy,
            scenario,
            combination: rest,
            model_levels: self.model.positions(&scenario_digits, &[]),
            policy_levels: side.positions(&digits, &scenario_digits),
        }
    }

    fn filter(&mut self, filters: &[Filter]) -> Result<(), DesignError> {
        for (position, filter) in filters.iter().enumerate() {
            if let Some(unknown) = filter.names().iter().find(|name| !self.columns.contains(name)) {
                return Err(DesignError::UnknownAxis {
                    filter: position,
                    condition: filter.text().to_owned(),
                    name: unknown.clone(),
                    columns: self.columns.clone(),
                });
            }
        }
        let mut kept = Vec::new();
        for raw in 0..self.len {
            let point = self.raw(raw);
            let value = |name: &str| self.level(&point, name);
            let mut keeps = true;
            for (position, filter) in filters.iter().enumerate() {
                keeps &= filter.keeps(value).map_err(|message| DesignError::Filter {
                    filter: position,
                    condition: filter.text().to_owned(),
                    message,
                })?;
            }
            if keeps {
                kept.push(raw as u32);
            }
        }
        if kept.is_empty() {
            return Err(DesignError::Nothing);
        }
        self.len = kept.len() as u64;
        self.kept = Some(kept);
        Ok(())
    }

    /// Returns the point's value in a column, as [`Design::levels`] does for all.
    fn level(&self, point: &Point, column: &str) -> Option<Level> {
        let sides = [
            (&self.model, &point.model_levels),
            (&self.policies[point.policy], &point.policy_levels),
        ];
        sides.into_iter().find_map(|(side, positions)| {
            let axis = side.columns.iter().position(|&at| self.columns[at] == column)?;
            Some(side.axes[axis].levels.level(positions[axis]))
        })
    }
}

impl Side {
    fn new(
        axes: Vec<Axis>,
        model: Option<&Side>,
        columns: &[(axis::Owner, String)],
        policy: Option<usize>,
    ) -> Result<Side, DesignError> {
        let mut side = Side { combinations: 1, ..Side::default() };
        for (position, axis) in axes.iter().enumerate() {
            let uneven = |other: &Axis| DesignError::Uneven {
                name: axis.shared.clone().unwrap_or_default(),
                a: other.levels.len(),
                b: axis.levels.len(),
                policy,
                axis: position,
            };
            let partner = |list: &[Axis], groups: &[Group]| {
                let name = axis.shared.as_ref()?;
                groups.iter().position(|group| list[group[0]].shared.as_ref() == Some(name))
            };
            let tied = model.and_then(|model| partner(&model.axes, &model.groups));
            let own = partner(&axes[..position], &side.groups);
            if let (Some(group), Some(model)) = (tied, model) {
                let other = &model.axes[model.groups[group][0]];
                if other.levels.len() != axis.levels.len() {
                    return Err(uneven(other));
                }
            } else if let Some(group) = own {
                let other = &axes[side.groups[group][0]];
                if other.levels.len() != axis.levels.len() {
                    return Err(uneven(other));
                }
                side.groups[group].push(position);
            } else {
                side.groups.push(vec![position]);
                side.combinations = side.combinations.saturating_mul(axis.levels.len() as u64);
            }
            side.tied.push(tied);
        }
        let owner = |position| axis::Owner { policy, position };
        side.columns = (0..axes.len())
            .map(|position| {
                let name = columns.iter().find(|(of, _)| *of == owner(position));
                let name = name.map(|(_, name)| name);
                let mut seen: Vec<&String> = Vec::new();
                for (_, column) in columns {
                    if !seen.contains(&column) {
                        seen.push(column);
                    }
                }
                seen.iter().position(|column| Some(*column) == name).unwrap_or_default()
            })
            .collect();
        side.axes = axes;
        Ok(side)
    }

    /// Returns the mixed-radix digits of `number`, one a group.
    fn digits(&self, mut number: u64) -> Vec<usize> {
        let mut digits = vec![0; self.groups.len()];
        for (digit, group) in digits.iter_mut().zip(&self.groups).rev() {
            let radix = self.axes[group[0]].levels.len() as u64;
            *digit = (number % radix) as usize;
            number /= radix;
        }
        digits
    }

    /// Returns the numbers whose digits are all among the wanted ones, rising.
    fn numbers(&self, wanted: impl Fn(usize, usize) -> bool) -> Vec<u64> {
        let mut numbers = vec![0];
        for (group, axes) in self.groups.iter().enumerate() {
            let radix = self.axes[axes[0]].levels.len();
            let digits: Vec<usize> = (0..radix).filter(|&digit| wanted(group, digit)).collect();
            let longer =
                |number: u64| digits.iter().map(move |&digit| number * radix as u64 + digit as u64);
            numbers = numbers.into_iter().flat_map(longer).collect();
        }
        numbers
    }

    /// Returns the position on each axis, from the side's own digits and the scenario's.
    fn positions(&self, own: &[usize], scenario: &[usize]) -> Vec<usize> {
        let mut positions = vec![0; self.axes.len()];
        for (group, &digit) in self.groups.iter().zip(own) {
            for &axis in group {
                positions[axis] = digit;
            }
        }
        for (axis, group) in self.tied.iter().enumerate() {
            if let Some(group) = group {
                positions[axis] = scenario[*group];
            }
        }
        positions
    }
}
