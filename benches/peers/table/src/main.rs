//! Many rounds of all sides → medians, ratios, and rows for `benches/results/`.
//!
//! `flounce-peers-table list|grid ROUNDS OURS RESULTS FIGURE DATE COMMIT` reads lines `workload,side,nanoseconds` from the
//! file ROUNDS, prints them as a list or as a grid with ratios to the side OURS, and appends a row per workload and side
//! to the file RESULTS, where FIGURE says what was counted. Nothing but std: it is built in a moment.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// What one side took for one workload, round by round, nanoseconds.
struct Entry {
    workload: String,
    side: String,
    times: Vec<f64>,
}

impl Entry {
    fn median(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}

/// The rounds of all sides, in the order in which workloads and sides came first.
struct Medians(Vec<Entry>);

impl Medians {
    /// Reads lines `workload,side,nanoseconds` from `file`.
    ///
    /// # Panics
    /// If there is no line, or one is not of that form.
    fn read(file: &str) -> Self {
        let text = std::fs::read_to_string(file).expect("the rounds");
        let mut entries: Vec<Entry> = Vec::new();
        for line in text.lines() {
            let parts: Vec<&str> = line.split(',').collect();
            let [workload, side, time] = parts[..] else {
                panic!("`{line}` is not `workload,side,nanoseconds`");
            };
            let time = time.parse().expect("nanoseconds");
            let known = |entry: &&mut Entry| entry.workload == workload && entry.side == side;
            if let Some(entry) = entries.iter_mut().find(known) {
                entry.times.push(time);
            } else {
                entries.push(Entry {
                    workload: workload.to_owned(),
                    side: side.to_owned(),
                    times: vec![time],
                });
            }
        }
        assert!(!entries.is_empty(), "{file} has no rounds");
        Self(entries)
    }

    fn entry(&self, workload: &str, side: &str) -> Option<&Entry> {
        self.0
            .iter()
            .find(|entry| entry.workload == workload && entry.side == side)
    }

    /// Prints a line per workload and side, sorted by name, with its ratio to the side `ours`.
    fn print_list(&self, ours: &str) {
        let mut entries: Vec<&Entry> = self.0.iter().collect();
        entries.sort_by_key(|entry| (&entry.workload, &entry.side));
        for entry in entries {
            let time = entry.median();
            let ours = self.entry(&entry.workload, ours).map(Entry::median);
            let ratio = ours.map_or(String::new(), |ours| format!("{:>6.2} x", time / ours));
            println!(
                "{:<34} {:<30} {time:>8.2} ns {ratio}",
                entry.workload, entry.side
            );
        }
    }

    /// Prints a row per workload: the medians of all sides, then how many times as long as `ours` the others take.
    fn print_grid(&self, ours: &str) {
        let workloads = distinct(self.0.iter().map(|entry| entry.workload.as_str()));
        let sides = distinct(self.0.iter().map(|entry| entry.side.as_str()));
        let others = || sides.iter().filter(|&&side| side != ours);
        let mut head = vec!["workload".to_owned(), "rounds".to_owned()];
        head.extend(sides.iter().map(|side| format!("{side}, ns")));
        head.extend(others().map(|side| format!("{side}, ×")));
        let row = |workload: &&str| {
            let median = |side: &str| self.entry(workload, side).map(Entry::median);
            let rounds = |side: &&str| Some(self.entry(workload, side)?.times.len());
            let rounds = sides.iter().filter_map(rounds).min().unwrap_or(0);
            let mut cells = vec![(*workload).to_owned(), rounds.to_string()];
            cells.extend(sides.iter().map(|side| three_digits(median(side))));
            let ratio = |side: &&str| Some(median(side)? / median(ours)?);
            cells.extend(others().map(|side| three_digits(ratio(side))));
            cells
        };
        let rows: Vec<Vec<String>> = workloads.iter().map(row).collect();
        println!("Medians; × says how many times as long as {ours} a side takes.\n");
        print_columns(&head, &rows);
    }

    /// Appends a row per workload and side to the file `results`, whose name is the bench's.
    ///
    /// # Panics
    /// If it cannot be written.
    fn append(&self, results: &Path, figure: &str, date: &str, commit: &str) {
        let bench = results.file_stem().unwrap_or_default().to_string_lossy();
        let mut entries: Vec<&Entry> = self.0.iter().collect();
        entries.sort_by_key(|entry| (&entry.workload, &entry.side));
        let mut rows = String::new();
        for entry in entries {
            let (workload, side, time) = (&entry.workload, &entry.side, entry.median());
            writeln!(
                rows,
                "{date},{commit},{bench},{workload},{side},{figure},{time:.2}"
            )
            .expect("memory");
        }
        let new = !results.exists();
        let results = OpenOptions::new().create(true).append(true).open(results);
        let mut results = results.expect("the results");
        if new {
            writeln!(results, "date,commit,bench,workload,side,figure,median")
                .expect("the results");
        }
        results.write_all(rows.as_bytes()).expect("the results");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [form, rounds, ours, results, figure, date, commit] = words[..] else {
        eprintln!("usage: flounce-peers-table list|grid ROUNDS OURS RESULTS FIGURE DATE COMMIT");
        std::process::exit(2);
    };
    let medians = Medians::read(rounds);
    if form == "grid" {
        medians.print_grid(ours);
    } else {
        medians.print_list(ours);
    }
    medians.append(Path::new(results), figure, date, commit);
}

/// The items in the order in which they come first.
fn distinct<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// At least three digits, or a dash.
fn three_digits(value: Option<f64>) -> String {
    match value {
        Some(value) if value < 10.0 => format!("{value:.2}"),
        Some(value) if value < 100.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.0}"),
        None => "—".to_owned(),
    }
}

/// Prints a table that is Markdown too; all columns but the first are numbers.
fn print_columns(head: &[String], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells
            .chain([head[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let print = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| match column {
            0 => format!(" {cell:<width$} |"),
            _ => format!(" {cell:>width$} |"),
        });
        println!("|{}", cells.collect::<String>());
    };
    print(head);
    let rule = widths.iter().enumerate().map(|(column, &width)| {
        let end = if column == 0 { '-' } else { ':' };
        format!("{}{end}|", "-".repeat(width + 1))
    });
    println!("|{}", rule.collect::<String>());
    rows.iter().for_each(|row| print(row));
}
