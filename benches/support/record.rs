//! The record of results: `benches/results/MACHINE.csv`, one row per measurement, with date and commit.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// One figure.
pub struct Row {
    /// What was measured, one word.
    pub workload: String,
    /// The side that ran.
    pub side: String,
    /// What the figure counts, with its unit.
    pub figure: String,
    /// The median over the rounds.
    pub median: f64,
}

/// Appends `rows` to the file of `machine`.
pub fn append(bench: &str, machine: &str, rows: &[Row]) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/results");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{machine}.csv"));
    let new = !path.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if new {
        writeln!(file, "date,commit,bench,workload,side,figure,median")?;
    }
    let (date, commit) = (today(), commit());
    for Row {
        workload,
        side,
        figure,
        median,
    } in rows
    {
        writeln!(
            file,
            "{date},{commit},{bench},{workload},{side},{figure},{median:.2}"
        )?;
    }
    Ok(())
}

/// Short hash of the commit, `+` behind it when files are changed; `unknown` outside a repository.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        let output = command
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(hash) = git(&["rev-parse", "--short", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let changed = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        ":!benches/results",
    ]);
    let clean = changed.is_some_and(|changed| changed.is_empty());
    if clean { hash } else { hash + "+" }
}

/// The date in UTC, `YYYY-MM-DD`.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut days = since.map_or(0, |since| since.as_secs() / 86_400);
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [
        31,
        28 + u64::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}
