//! The columns that name a point: `point`, `policy`, and one for each swept axis.

use std::collections::HashMap;

use polars::prelude::{Column, DataType, Field, Schema};

use crate::design::Level;
use crate::spec::Experiment;

/// Kinds of the axis columns of an experiment.
#[derive(Clone, Debug)]
pub struct PointColumns {
    names: Vec<String>,
    /// For each axis column whether all its values are numbers.
    numeric: Vec<bool>,
}

impl PointColumns {
    pub fn new(experiment: &Experiment) -> Self {
        let names = experiment.design.columns().to_vec();
        let mut numeric = HashMap::new();
        for (axis, column) in experiment.design.axes() {
            *numeric.entry(column).or_insert(true) &= axis.levels.is_numeric();
        }
        let numeric = names.iter().map(|name| numeric[name.as_str()]).collect();
        PointColumns { names, numeric }
    }

    /// Returns the fields `point`, `policy` and the axes.
    pub fn schema(&self) -> Schema {
        let mut schema = Schema::default();
        schema.insert("point".into(), DataType::UInt32);
        schema.insert("policy".into(), DataType::String);
        for (name, &numeric) in self.names.iter().zip(&self.numeric) {
            let kind = if numeric { DataType::Float64 } else { DataType::String };
            let field = Field::new(name.as_str().into(), kind);
            schema.insert(field.name, field.dtype);
        }
        schema
    }

    /// Returns the columns for rows that belong to these points.
    pub fn build(&self, experiment: &Experiment, points: &[u32]) -> Vec<Column> {
        let mut policies: Vec<&str> = Vec::with_capacity(points.len());
        let mut levels: Vec<Vec<Option<Level>>> = Vec::with_capacity(points.len());
        let mut last = None;
        for &index in points {
            // Rows come point by point, so a point's values are looked up once.
            if last != Some(index) {
                let point = experiment.design.point(index);
                policies.push(&experiment.labels[point.policy]);
                levels.push(experiment.design.levels(&point));
            } else {
                policies.push(policies[policies.len() - 1]);
                levels.push(levels[levels.len() - 1].clone());
            }
            last = Some(index);
        }
        let mut columns =
            vec![Column::new("point".into(), points), Column::new("policy".into(), policies)];
        for (axis, (name, &numeric)) in self.names.iter().zip(&self.numeric).enumerate() {
            let values = levels.iter().map(|row| &row[axis]);
            columns.push(if numeric {
                let numbers: Vec<Option<f64>> = values
                    .map(|level| match level {
                        Some(Level::Number(number)) => Some(*number),
                        _ => None,
                    })
                    .collect();
                Column::new(name.as_str().into(), numbers)
            } else {
                let texts: Vec<Option<String>> =
                    values.map(|level| level.as_ref().map(Level::to_string)).collect();
                Column::new(name.as_str().into(), texts)
            });
        }
        columns
    }
}
