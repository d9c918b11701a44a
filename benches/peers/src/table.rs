//! Many rounds of all sides → medians, ratios, and rows for `benches/results/clips-peers.csv`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// The side whose ratios are printed: flounce as it is called without a choice of lanes.
const OURS: &str = "flounce rows 4 lanes";

/// Reads lines `workload,side,nanoseconds` from `file`, prints the table and appends it to the results.
///
/// # Panics
/// If a line is not of that form or the results cannot be written.
pub fn print(file: &str, date: &str, commit: &str) {
    let text = std::fs::read_to_string(file).expect("the rounds");
    let mut rounds: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split(',').collect();
        let [workload, side, time] = parts[..] else {
            panic!("`{line}` is not `workload,side,nanoseconds`");
        };
        let time = time.parse().expect("nanoseconds");
        rounds.entry((workload, side)).or_default().push(time);
    }
    let median = |times: &[f64]| {
        let mut times = times.to_vec();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let medians: BTreeMap<_, f64> = rounds
        .iter()
        .map(|(&key, times)| (key, median(times)))
        .collect();
    let mut rows = String::new();
    for (&(workload, side), &time) in &medians {
        let ours = medians.get(&(workload, OURS));
        let ratio = ours.map_or(String::new(), |ours| format!("{:>6.2} x", time / ours));
        println!("{workload:<34} {side:<30} {time:>8.2} ns {ratio}");
        writeln!(
            rows,
            "{date},{commit},clips-peers,{workload},{side},ns per joint,{time:.2}"
        )
        .expect("memory");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/clips-peers.csv");
    let new = !path.exists();
    let results = OpenOptions::new().create(true).append(true).open(path);
    let mut results = results.expect("the results");
    if new {
        writeln!(results, "date,commit,bench,workload,side,figure,median").expect("the results");
    }
    results.write_all(rows.as_bytes()).expect("the results");
}
