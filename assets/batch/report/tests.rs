//! Reports of parts, in any order.

use super::*;

fn row(number: usize, state: State) -> Row {
    let output = format!("{number}.glb");
    let file = FileOf {
        file: output.clone(),
        bytes: 10,
        hash: ContentHash::of(output.as_bytes()),
    };
    let failed = state == Failed;
    Row {
        number,
        model: "a.glb".to_owned(),
        rig: "x.ron".to_owned(),
        clip: None,
        output,
        state,
        clips: 1,
        frames: 7,
        keys: 7,
        substeps: 7,
        bytes: 10,
        files: if failed { Vec::new() } else { vec![file] },
        warnings: Vec::new(),
        error: failed.then(|| "why".to_owned()),
        quantization_microdeg: None,
    }
}

fn part(name: &str, rows: &[(usize, State)]) -> (String, Report) {
    let rows = rows.iter().map(|&(number, state)| row(number, state));
    let mut report = Report::new(ContentHash::of(b"plan"), 4, rows.collect());
    report.timing = Some(Timing {
        seconds: name.len() as f64,
        ..Timing::default()
    });
    (name.to_owned(), report)
}

use State::{Done, Failed, NotRun, Skipped};

#[test]
fn parts_in_any_order_merge_to_the_bytes_of_the_whole() {
    let parts = [
        part("a", &[(4, Done)]),
        part("bb", &[(1, Done), (3, Failed)]),
        part("ccc", &[(2, Done)]),
    ];
    let whole = part("whole", &[(1, Done), (2, Done), (3, Failed), (4, Done)]);
    let expected = merge(&[whole], None).unwrap();
    assert_eq!(expected.report.timing, None);
    assert_eq!(expected.report.totals.done, 3);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let merged = merge(&order.map(|index| parts[index].clone()), None).unwrap();
        assert_eq!(merged.report.to_json(), expected.report.to_json());
        assert!(merged.missing.is_empty());
    }
}

#[test]
fn a_job_of_two_parts_counts_once_and_missing_ones_are_named() {
    for parts in [
        [
            part("a", &[(1, Skipped), (2, Done)]),
            part("b", &[(1, Done)]),
        ],
        [
            part("b", &[(1, Done)]),
            part("a", &[(1, Skipped), (2, Done)]),
        ],
    ] {
        let merged = merge(&parts, None).unwrap();
        assert_eq!(merged.missing, [3, 4]);
        assert_eq!(merged.report.totals.done, 2);
    }
}

#[test]
fn what_another_run_mended_is_done_in_any_order() {
    let runs = [
        part("a", &[(1, NotRun), (2, Failed), (3, Failed)]),
        part("b", &[(1, Failed), (2, Done), (3, NotRun)]),
        part("c", &[(1, Done), (2, Skipped), (3, Failed)]),
    ];
    let mut merged: Vec<String> = Vec::new();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let mut runs = order.map(|index| runs[index].clone());
        // What was said of it is no contradiction, and the choice hangs on no order.
        for (name, run) in &mut runs {
            run.jobs[1].warnings = vec![format!("said by {name}")];
        }
        let report = merge(&runs, None).unwrap().report;
        let states: Vec<State> = report.jobs.iter().map(|row| row.state).collect();
        assert_eq!(states, [Done, Done, Failed]);
        merged.push(report.to_json());
    }
    merged.dedup();
    assert_eq!(merged.len(), 1);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let refused = |parts: &[(String, Report)]| merge(parts, None).unwrap_err().to_string();
    assert!(refused(&[]).contains("found no reports"));
    let mut other = part("b", &[(2, Done)]);
    other.1.plan = ContentHash::of(b"another");
    let found = refused(&[part("a", &[(1, Done)]), other]);
    assert!(
        found.contains("b: is of the manifest") && found.contains("but a of"),
        "{found}"
    );
    let mut other = part("b", &[(1, Done)]);
    other.1.jobs[0].files[0].hash = ContentHash::of(b"other bytes");
    let found = refused(&[part("a", &[(1, Done)]), other]);
    assert!(
        found.contains("job 1 (1.glb): a and b have different files: done ("),
        "{found}"
    );
    let mut other = part("b", &[(1, Skipped)]);
    other.1.jobs[0].keys = 8;
    let found = refused(&[part("a", &[(1, Done)]), other]);
    assert!(found.contains("a and b have different keys"), "{found}");
    let mut other = part("b", &[(1, NotRun)]);
    other.1.jobs[0].model = "b.glb".to_owned();
    let found = refused(&[part("a", &[(1, Done)]), other]);
    assert!(found.contains("different jobs"), "{found}");
    let found = refused(&[part("a", &[(5, NotRun)])]);
    assert!(found.contains("a: found job 5 of 4"), "{found}");
}

#[test]
fn a_report_reads_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let (_, report) = part("a", &[(1, Done), (2, Failed), (3, NotRun), (4, Skipped)]);
    report.write(&file).unwrap();
    report.write(&file).unwrap();
    assert_eq!(Report::read(&file).unwrap(), report);
    assert!(!report.is_complete());
    std::fs::write(&file, report.to_json().replace("flounce.batch", "x")).unwrap();
    let refused = Report::read(&file).unwrap_err().to_string();
    assert!(refused.contains("found the schema \"x\""), "{refused}");
}
