//! The commands, one file each, and what they share: errors, warnings, progress.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flounce::assets::Error;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};
use tracing_subscriber::EnvFilter;

pub mod bake;
pub mod check;
pub mod run;

/// Sends warnings of the engine to stderr.
pub fn start_log() {
    let filter = EnvFilter::try_from_env("FLOUNCE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false)
        .init();
}

/// Shows an error on stderr; where a RON file is at fault, the place in it.
pub fn show_error(error: Error) {
    eprintln!("{:?}", report(error));
}

fn report(error: Error) -> Report {
    let Error::Ron {
        file,
        text,
        line,
        column,
        message,
        help,
    } = error
    else {
        return Report::new(MietteDiagnostic::new(error.to_string()));
    };
    let headline = format!("{}:{line}:{column}: {message}", file.display());
    let mut diagnostic = MietteDiagnostic::new(headline);
    diagnostic.help = help.or_else(|| looks_binary(&text).then(|| NOT_RON.to_owned()));
    let at = offset(&text, line, column);
    let here = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    if text.trim().is_empty() || looks_binary(&text) || here.len() > LONGEST_LINE {
        return Report::new(diagnostic);
    }
    let length = text[at..].chars().next().map_or(0, char::len_utf8);
    let label = LabeledSpan::new(Some("here".to_owned()), at, length);
    let source = NamedSource::new(file.display().to_string(), text);
    Report::new(diagnostic.with_label(label)).with_source_code(source)
}

/// A line of more bytes is not shown: it would flood the terminal.
const LONGEST_LINE: usize = 500;
const NOT_RON: &str = "this looks like a model; a RON text file is expected here";

/// Whether a text is none, such as a model that was named in place of a rig file.
fn looks_binary(text: &str) -> bool {
    text.starts_with("glTF") || text.contains('\0')
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
    let at = start + within.map_or(rest.len(), |(at, _)| at);
    // The end of the file has nothing to point at; its last character has.
    let last = text
        .trim_end()
        .char_indices()
        .next_back()
        .map_or(0, |(at, _)| at);
    at.min(last)
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
    let (model, container) = import::read_model(model)?;
    show_warnings(&model.warnings);
    let rules = rig_file::read(rig_file)?;
    let mut rig = model.rig.clone();
    let applied = rules.apply(&mut rig)?;
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

/// Where the output goes when none is named: `NAME.baked.glb` beside the input.
pub fn default_output(model: &Path) -> PathBuf {
    let extension = model
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    model.with_extension(format!("baked.{extension}"))
}
