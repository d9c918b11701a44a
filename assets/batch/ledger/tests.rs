//! Journals of runs that end, fail and are killed.

use super::*;

fn record(output: &str) -> Record {
    let file = FileOf {
        file: output.to_owned(),
        bytes: 3,
        hash: ContentHash::of(b"abc"),
    };
    Record {
        output: output.to_owned(),
        key: ContentHash::of(output.as_bytes()),
        outcome: Outcome {
            clips: 1,
            files: vec![file],
            ..Outcome::default()
        },
    }
}

#[test]
fn a_ledger_holds_what_all_journals_say_whole_lines_only() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    assert_eq!(Ledger::read(out).unwrap(), Ledger::default());
    for (name, output) in [("one", "a.glb"), ("two", "b.glb")] {
        let planned = vec![output.to_owned(), format!("{output}.later")];
        let journal = Journal::begin(out, name, planned).unwrap();
        journal.add(record(output)).unwrap();
        journal.end(Vec::new());
    }
    // Killed in the middle of a line, and begun again.
    let path = out.join(FOLDER).join("one.jsonl");
    let mut cut = OpenOptions::new().append(true).open(&path).unwrap();
    cut.write_all(b"{\"done\":{\"output\":\"c.g").unwrap();
    drop(cut);
    fs::create_dir_all(out.join(FOLDER).join("one.tmp")).unwrap();
    fs::write(out.join(FOLDER).join("one.tmp/left"), "x").unwrap();
    let journal = Journal::begin(out, "one", Vec::new()).unwrap();
    assert_eq!(fs::read_dir(&journal.scratch).unwrap().count(), 0);
    journal.add(record("d.glb")).unwrap();
    let ledger = Ledger::read(out).unwrap();
    for output in ["a.glb", "b.glb", "d.glb"] {
        assert_eq!(ledger.records(output), [record(output)]);
        assert!(ledger.claims(output));
    }
    assert!(ledger.claims("a.glb.later") && ledger.records("a.glb.later").is_empty());
    assert!(!ledger.claims("c.glb") && ledger.records("c.glb").is_empty());
}

#[test]
fn two_runs_of_one_name_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let first = Journal::begin(folder.path(), "one", Vec::new()).unwrap();
    let refused = Journal::begin(folder.path(), "one", Vec::new())
        .err()
        .unwrap();
    assert!(
        refused
            .to_string()
            .contains("another flounce batch is at work"),
        "{refused}"
    );
    assert!(first.scratch.is_dir(), "the running one keeps its files");
    Journal::begin(folder.path(), "two", Vec::new())
        .unwrap()
        .end(Vec::new());
    drop(first);
    assert!(Journal::begin(folder.path(), "one", Vec::new()).is_ok());
}

#[test]
fn what_was_begun_and_left_alone_is_nobodys_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let killed = Journal::begin(out, "one", names(&["killed.glb"])).unwrap();
    drop(killed);
    let journal = Journal::begin(out, "one", names(&["a.glb", "b.glb", "killed.glb"])).unwrap();
    journal.add(record("a.glb")).unwrap();
    journal.end(names(&["b.glb", "killed.glb"]));
    let ledger = Ledger::read(out).unwrap();
    assert!(ledger.claims("a.glb") && !ledger.left_unfinished("a.glb"));
    assert!(!ledger.claims("b.glb"));
    assert!(ledger.claims("killed.glb") && ledger.left_unfinished("killed.glb"));
}

#[test]
fn a_journal_that_is_out_of_date_is_replaced_by_what_holds() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let path = out.join(FOLDER).join("one.jsonl");
    fs::write(out.join("killed.glb"), "x").unwrap();
    let begin = |files: &[&str]| {
        let files = files.iter().map(|it| (*it).to_owned()).collect();
        Journal::begin(out, "one", files).unwrap()
    };
    drop(begin(&["killed.glb", "never.glb"]));
    for _ in 0..9 {
        let journal = begin(&["a.glb"]);
        journal.add(record("a.glb")).unwrap();
        journal.end(Vec::new());
    }
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.lines().count() < 10, "{text}");
    let running = begin(&[]);
    assert!(
        Journal::begin(out, "one", Vec::new()).is_err(),
        "still locked"
    );
    running.end(Vec::new());
    let ledger = Ledger::read(out).unwrap();
    assert_eq!(ledger.records("a.glb").last(), Some(&record("a.glb")));
    assert!(ledger.claims("killed.glb"), "it is there and may be cut");
    assert!(!ledger.claims("never.glb"), "it is not there");
}

#[test]
fn temporary_files_of_any_killed_run_are_cleared_and_those_of_running_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Journal::begin(folder.path(), "one", Vec::new()).unwrap();
    let left = killed.scratch.clone();
    drop(killed);
    let running = Journal::begin(folder.path(), "two", Vec::new()).unwrap();
    assert!(!left.exists());
    Journal::begin(folder.path(), "three", Vec::new()).unwrap();
    assert!(running.scratch.is_dir());
}

#[test]
#[cfg(target_os = "linux")]
fn a_line_after_one_that_failed_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::begin(folder.path(), "one", Vec::new()).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut file = std::mem::replace(&mut lock(&journal.pen).file, full);
    assert!(journal.add(record("lost.glb")).is_err());
    file.write_all(b"{\"done\":{\"output\":\"lo").unwrap();
    lock(&journal.pen).file = file;
    journal.add(record("a.glb")).unwrap();
    let ledger = Ledger::read(folder.path()).unwrap();
    assert_eq!(ledger.records("a.glb"), [record("a.glb")]);
    assert!(ledger.records("lost.glb").is_empty());
}
