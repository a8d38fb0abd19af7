//! `everlog doctor`.

use super::{Failure, Global};
use crate::deployed::{Address, Deployed};
use crate::doctor::{Level, Report, examine};

/// Examines a deployed fleet; exit code 0 unless something is at fault.
pub(super) async fn doctor(global: &Global) -> Result<u8, Failure> {
    let address = global
        .address()
        .unwrap_or_else(|| Address { table: super::TABLE.into(), ..Address::default() });
    let deployed = Deployed::find(&address).await.map_err(|e| Failure::stack(&e))?;
    let report = examine(&deployed).await;
    match global.json {
        true => println!("{}", serde_json::to_string(&report.0).map_err(|e| Failure::stack(&e))?),
        false => print(&report),
    }
    Ok(u8::from(report.level() == Level::Fault))
}

fn print(report: &Report) {
    for finding in &report.0 {
        let mark = match finding.level {
            Level::Ok => "✓",
            Level::Advice => "!",
            Level::Fault => "✗",
        };
        println!("{mark} {:<24} {}", finding.part, finding.what);
        if let Some(advice) = &finding.advice {
            println!("  {:<24} → {advice}", "");
        }
    }
    let count = |level| report.0.iter().filter(|f| f.level == level).count();
    println!("{} faults, {} to know of", count(Level::Fault), count(Level::Advice));
}
