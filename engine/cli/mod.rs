//! The commands, one file each, and what they share: errors, warnings, progress.

use std::fmt::Write as _;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flounce::assets::Error;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};
use tracing_subscriber::EnvFilter;

pub mod bake;
pub mod baking;
pub mod batch;
pub mod check;
pub mod destination;
pub mod explain;
pub mod farm;
pub mod merge;
pub mod plan;
pub mod pose;
pub mod product;
pub mod profile;
pub mod run;
pub mod skin;
pub mod sweep;

/// Sends warnings of the engine to stderr.
pub fn start_log() {
    let filter = EnvFilter::try_from_env("FLOUNCE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .with_target(false)
        .init();
}

/// Shows an error on stderr; where a RON file is at fault, the place in it.
///
/// Lines are wrapped for terminals only: programs that read stderr want a message in one line.
pub fn show_error(error: &Error) {
    if !std::io::stderr().is_terminal() {
        // It fails only where another one is set, which nobody does.
        let _ = miette::set_hook(Box::new(|_| {
            let options = miette::MietteHandlerOpts::new();
            Box::new(options.wrap_lines(false).break_words(false).build())
        }));
    }
    eprintln!("{:?}", report(error));
}

fn report(error: &Error) -> Report {
    let headline = error.to_string();
    let mut diagnostic = MietteDiagnostic::new(headline);
    let Error::Ron {
        file,
        text,
        line,
        column,
        help,
        ..
    } = error
    else {
        return Report::new(diagnostic);
    };
    diagnostic.help.clone_from(help);
    let Some((at, length)) = label(text, *line, *column) else {
        return Report::new(diagnostic);
    };
    let label = LabeledSpan::new(Some("here".to_owned()), at, length);
    let source = NamedSource::new(file.display().to_string(), text.clone());
    Report::new(diagnostic.with_label(label)).with_source_code(source)
}

/// The byte and the length of the character to point at: that of a line and column, or the last one before; `None`
/// where there is no text that people would want to see.
fn label(text: &str, line: usize, column: usize) -> Option<(usize, usize)> {
    /// Longer lines fill the screen and show nothing.
    const LONGEST_LINE: usize = 500;
    let seen = text.trim_end();
    let (last, _) = seen.char_indices().next_back()?;
    let at = offset(text, line, column).min(last);
    let start = seen[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let shown = seen[start..].split('\n').next().unwrap_or("");
    let binary = text.contains('\0') || text.contains(char::REPLACEMENT_CHARACTER);
    if binary || shown.len() > LONGEST_LINE {
        return None;
    }
    Some((at, seen[at..].chars().next().map_or(0, char::len_utf8)))
}

/// Says it in one sentence when `file`, meant as RON, is a model; `wants` names what takes it and what it takes.
pub fn refuse_model(file: &Path, wants: &str) -> Result<(), Error> {
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    let mut start = [0; 4];
    let opened = std::fs::File::open(file).and_then(|mut opened| opened.read_exact(&mut start));
    // What cannot be read is the reader's to report.
    let magic = opened.is_ok() && start == *b"glTF";
    if magic || ["glb", "gltf", "vrm"].iter().any(|e| extension == *e) && file.is_file() {
        return Err(Error::Request(format!(
            "{}: this looks like a glTF file; {wants}",
            file.display()
        )));
    }
    Ok(())
}

/// Byte offset of a 1-based line and column, inside the text whatever they say.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let rest = text.get(start..).unwrap_or("");
    let within = rest.char_indices().nth(column.saturating_sub(1));
    start + within.map_or(rest.len(), |(at, _)| at)
}

/// Shows warnings on stderr, each once, not more than a screenful.
pub fn show_warnings(warnings: &[String]) {
    const MOST: usize = 20;
    for warning in warnings.iter().take(MOST) {
        eprintln!("warning: {warning}");
    }
    if warnings.len() > MOST {
        eprintln!("warning: … and {} more", warnings.len() - MOST);
    }
}

/// A bar on stderr for work of `length` units of `unit`; invisible when stderr is not a terminal or `quiet`.
pub fn progress_bar(length: u64, unit: &str, quiet: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(
        Some(length),
        if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        },
    );
    let template = format!("{{bar:40}} {{pos}}/{{len}} {unit}, {{eta}} left");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A number of bytes for people.
pub fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        _ => format!("{:.2} MiB", count as f64 / 1_048_576.0),
    }
}

/// The size of a file, 0 if it cannot be had.
pub fn file_size(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |data| data.len())
}

/// Rows with columns padded to equal width; the first column to the left, the others to the right.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Writing to a string cannot fail.
            let _ = if column == 0 {
                write!(line, "{cell:<width$}")
            } else {
                write!(line, "  {cell:>width$}")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Reads a model, a rig file, and puts the one on the other; warnings are shown.
pub fn read_rigged(model: &Path, rig_file: &Path) -> Result<Rigged, Error> {
    use flounce::assets::{import, rig_file};
    refuse_model(rig_file, "--rig wants a RON rig file")?;
    let (mut model, container) = import::read_model(model)?;
    show_warnings(&model.warnings);
    let rules = rig_file::read(rig_file)?;
    let mut rig = model.rig.clone();
    let applied = rules.apply(&mut rig)?;
    rules.apply_to_clips(&rig, &mut model.clips)?;
    show_warnings(&applied.warnings);
    Ok(Rigged {
        model,
        container,
        rig,
    })
}

/// A model with a rig on it.
pub struct Rigged {
    /// What was read.
    pub model: flounce::assets::import::Model,
    /// As bytes.
    pub container: flounce::assets::container::Container,
    /// Joints of the model with swing joints and colliders of the rig file.
    pub rig: flounce::rig::Rig,
}

/// Where the output goes when none is named: beside the input, for `kind` "baked" `NAME.baked.glb`.
pub fn default_output(model: &Path, kind: &str) -> PathBuf {
    let extension = model
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    model.with_extension(format!("{kind}.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ron(text: &str, line: usize, column: usize) -> String {
        let error = Error::Ron {
            file: "rig.ron".into(),
            text: text.to_owned(),
            line,
            column,
            message: "found the end, expected `)`".to_owned(),
            help: None,
        };
        format!("{:?}", report(&error))
    }

    #[test]
    fn an_error_at_the_end_of_a_file_shows_its_message_and_the_last_character() {
        for (text, line, column) in [
            ("(version: 1", 1, 12),
            ("(version: 1,\n", 2, 1),
            ("(a", 9, 99),
        ] {
            let shown = ron(text, line, column);
            assert!(shown.contains("found the end, expected `)`"), "{shown}");
            assert!(shown.contains("here"), "{shown}");
        }
        assert_eq!(label("(a:\n1", 2, 2), Some((4, 1)));
        assert_eq!(label("(ä\n\n", 3, 1), Some((1, 2)));
    }

    #[test]
    fn an_empty_file_shows_its_message_alone() {
        let shown = ron("", 1, 1);
        assert!(shown.contains("rig.ron:1:1: found the end"), "{shown}");
        assert!(!shown.contains("here"), "{shown}");
    }

    #[test]
    fn text_that_nobody_reads_is_not_shown() {
        assert_eq!(label(&"x".repeat(501), 1, 7), None);
        assert_eq!(label("glTF\0\u{fffd}", 1, 1), None);
        let long = format!("(\n{}\n)", "x".repeat(501));
        assert!(label(&long, 1, 1).is_some() && label(&long, 2, 1).is_none());
    }

    #[test]
    fn a_model_in_the_place_of_a_rig_is_called_one() {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/models/Fox.glb");
        let refused = refuse_model(&model, "--rig wants a RON rig file").unwrap_err();
        assert!(
            refused
                .to_string()
                .ends_with("this looks like a glTF file; --rig wants a RON rig file"),
            "{refused}"
        );
        assert!(refuse_model(Path::new("none.ron"), "").is_ok());
    }
}
