//! `verify`: the claims of specs, run and judged, and nothing else.

use std::collections::BTreeMap;

use serde_json::json;

use super::args::{SpecArgs, Verify};
use super::failures::name_failures;
use super::progress::{Progress, cancel_on_signal};
use super::run::{claim_json, end, name_failed_claims};
use super::{End, Loaded, Usage, complain, load_whole, print};
use crate::claims::{self, Judged};
use crate::engine::{self, EngineError, NoStore, Output, Plan};
use crate::frame::{Staging, StoreError, Work};
use crate::report;
use crate::stats::Moments;

pub(super) fn verify(args: &Verify) -> anyhow::Result<End> {
    // All specs are checked before any is run.
    let spec_args =
        |path: &std::path::PathBuf| SpecArgs { spec: path.clone(), changes: args.changes.clone() };
    let specs: Vec<SpecArgs> = args.specs.iter().map(spec_args).collect();
    let loaded = specs.iter().map(load_whole).collect::<anyhow::Result<Vec<_>>>()?;
    let cancel = cancel_on_signal()?;
    let mut worst = End::Fine;
    let mut summaries = Vec::new();
    for Loaded { experiment, stored, .. } in &loaded {
        let folder = args.out.as_ref().map(|out| out.join(&experiment.name));
        if let Some(folder) = &folder
            && Staging::manifest(folder)?.is_some()
        {
            let folder = folder.display();
            let why =
                format!("{folder} has the results of a run; choose another folder with --out");
            return Err(Usage(why).into());
        }
        let plan = Plan::of(experiment, experiment.claimed_points());
        let progress = Progress::new(experiment, plan.total(), args.output.quiet)?;
        let options = args.effort.options(cancel);
        let mut moments: BTreeMap<u32, Vec<Moments>> = BTreeMap::new();
        let mut sink = |output: Output| -> Result<(), StoreError> {
            let Output::Row(row) = output else { return Ok(()) };
            let point = moments.entry(row.point).or_default();
            point.resize(row.values.len(), Moments::default());
            point.iter_mut().zip(&row.values).for_each(|(moments, &value)| moments.push(value));
            Ok(())
        };
        let observe = |event: engine::Event| progress.observe(event);
        let failed = engine::run(experiment, &plan, options, &NoStore, &observe, &mut sink);
        progress.finish();
        let failed = match failed {
            Err(EngineError::Interrupted) => {
                complain(&anyhow::anyhow!("interrupted"))?;
                return Ok(End::Interrupted);
            }
            Err(EngineError::Failed(failed)) => {
                name_failures(experiment, stored, &failed, "")?;
                return Ok(End::ReplicationsFailed);
            }
            other => other?,
        };
        let judge = |claim| claims::judge(experiment, claim, moments.get(&claim.point));
        let judged: Vec<Judged> = experiment.claims.iter().map(judge).collect();
        if let Some(folder) = &folder {
            let work = Work::open(folder)?;
            let mut staging = Staging::new(&work);
            claims::table(&judged).write(&mut staging, "claims.csv")?;
            staging.commit_without_manifest()?;
            work.leave()?;
        }
        let passed = judged.iter().filter(|claim| claim.passed).count();
        if args.output.json {
            summaries.push(json!({
                "name": experiment.name, "failed": failed.len(),
                "claims": judged.iter().map(claim_json).collect::<Vec<_>>(),
            }));
        } else if !args.output.quiet {
            let count = judged.len();
            print(&format!(
                "{}: {passed} of {count} claims pass, {} each\n",
                experiment.name, experiment.replications
            ))?;
            if count > 0 {
                print(&format!("{}\n", report::claims(experiment, &judged)))?;
            }
        }
        name_failures(experiment, stored, &failed, "")?;
        name_failed_claims(experiment, &judged)?;
        let end = end(&judged, &failed);
        if end as u8 > worst as u8 {
            worst = end;
        }
    }
    if args.output.json {
        print(&format!("{:#}\n", json!(summaries)))?;
    }
    Ok(worst)
}
