//! The tables of a benchmark that compares programs of other authors, as Markdown.
//!
//! The first program is the baseline of all ratios. A cell without a figure names the reason in a
//! word or two; it never disappears.

use std::fmt::Write;

use crate::chart::bar;

/// Length of the longest bar, in characters.
const BAR: f64 = 48.0;

/// A program and its figures.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Program {
    /// Name, for a table.
    pub name: String,
    /// Version, or empty for the baseline.
    pub version: String,
    /// Resident memory in MB.
    pub memory: Option<f64>,
    /// Time of one call in µs, for each row.
    pub single: Vec<Cell>,
    /// Calls per second with many in flight, for each row.
    pub burst: Vec<Cell>,
}

impl Program {
    /// Returns a program without figures.
    pub fn new(name: &str, version: &str) -> Self {
        let (single, burst) = (Vec::new(), Vec::new());
        Self { name: name.into(), version: version.into(), memory: None, single, burst }
    }
}

/// A figure, or the reason why there is none.
pub type Cell = Result<f64, String>;

/// Names of a kind of text and of its size.
pub type Row = (&'static str, &'static str);

/// Quantity that a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    Micros,
    CallsPerSecond,
}

/// Returns all tables and charts.
pub fn page(rows: &[Row], programs: &[Program], in_flight: usize) -> String {
    let mut sizes: Vec<&str> = rows.iter().map(|(_, size)| *size).collect();
    sizes.dedup();
    let middle = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
    let mut page = String::new();
    for figure in [Figure::Micros, Figure::CallsPerSecond] {
        let how = match figure {
            Figure::Micros => "One call at a time, p50 in µs (all on one core)".to_owned(),
            Figure::CallsPerSecond => {
                format!("{in_flight} calls in flight, calls a second (on all cores)")
            }
        };
        let _ = write!(
            page,
            "{how}, and the ratio to the byte copy. The worst of the texts counts:\n\n{}\n\
             The same for {middle}:\n\n```text\n{}```\n\nEach text:\n\n{}\n",
            summary(figure, rows, &sizes, programs),
            chart(figure, rows, middle, programs),
            details(figure, rows, programs),
        );
    }
    page
}

/// Writes one row for each program, with its worst text of each size.
fn summary(figure: Figure, rows: &[Row], sizes: &[&str], programs: &[Program]) -> String {
    let mut table = format!("| program | version | {} |", sizes.join(" | "));
    table.push_str(if figure == Figure::Micros {
        " memory, MB |\n|---|---|"
    } else {
        "\n|---|---|"
    });
    table.push_str(&"---|".repeat(sizes.len() + usize::from(figure == Figure::Micros)));
    table.push('\n');
    for program in programs {
        let _ = write!(table, "| {} | {} |", program.name, program.version);
        for size in sizes {
            let cell = match worst(figure, rows, size, programs, program) {
                (Some(worst), None) => worst.to_string(),
                (Some(worst), Some(failed)) => format!("{worst}, {failed}"),
                (None, failed) => failed.unwrap_or_default(),
            };
            let _ = write!(table, " {cell} |");
        }
        if figure == Figure::Micros {
            let memory = program.memory.map_or("–".into(), |it| format!("{it:.1}"));
            let _ = write!(table, " {memory} |");
        }
        table.push('\n');
    }
    table
}

/// Writes one row for each text, with a column for each program.
fn details(figure: Figure, rows: &[Row], programs: &[Program]) -> String {
    let names: Vec<_> = programs.iter().map(|it| it.name.as_str()).collect();
    let mut table = format!("| text | {} |\n|---|", names.join(" | "));
    table.push_str(&"---|".repeat(programs.len()));
    table.push('\n');
    for (at, (kind, size)) in rows.iter().enumerate() {
        let _ = write!(table, "| {kind}, {size} |");
        for program in programs {
            let cell = match figure.cells(program).get(at) {
                Some(Ok(value)) => figure.format(*value),
                Some(Err(reason)) => reason.clone(),
                None => "–".into(),
            };
            let _ = write!(table, " {cell} |");
        }
        table.push('\n');
    }
    table
}

/// Draws a bar for each program that has a figure.
fn chart(figure: Figure, rows: &[Row], size: &str, programs: &[Program]) -> String {
    let worst = |program| worst(figure, rows, size, programs, program).0;
    let bars: Vec<_> = programs.iter().filter_map(|it| Some((it, worst(it)?))).collect();
    let longest = bars.iter().map(|(_, worst)| worst.value).fold(1.0, f64::max);
    let width = bars.iter().map(|(it, _)| it.name.chars().count()).max().unwrap_or(0);
    let line = |(program, worst): &(&Program, Worst)| {
        let bar = bar(worst.value / longest * BAR);
        format!("{:<width$} {bar} {}\n", program.name, figure.format(worst.value))
    };
    bars.iter().map(line).collect()
}

/// The figure of the text on which a program is the slowest, against the baseline on that text.
#[derive(Clone, Copy, Debug)]
struct Worst {
    figure: Figure,
    value: f64,
    ratio: f64,
}

impl std::fmt::Display for Worst {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.figure.format(self.value);
        match self.figure {
            Figure::Micros if self.ratio >= 10.0 => {
                write!(formatter, "{value} ({:.0}×)", self.ratio)
            }
            Figure::Micros => write!(formatter, "{value} ({:.2}×)", self.ratio),
            Figure::CallsPerSecond => write!(formatter, "{value} ({:.3})", self.ratio),
        }
    }
}

/// Returns the worst figure of a size, and the number of texts that have none, with the reason.
fn worst(
    figure: Figure,
    rows: &[Row],
    size: &str,
    programs: &[Program],
    program: &Program,
) -> (Option<Worst>, Option<String>) {
    let baseline = programs.first().map(|it| figure.cells(it)).unwrap_or_default();
    let mut worst: Option<Worst> = None;
    let mut failed: Vec<&str> = Vec::new();
    let here = rows.iter().zip(figure.cells(program)).zip(baseline);
    for ((_, cell), base) in here.filter(|((row, _), _)| row.1 == size) {
        match (cell, base) {
            (Ok(value), Ok(base)) => {
                let ratio = value / base;
                let is_worse = |it: Worst| match figure {
                    Figure::Micros => ratio > it.ratio,
                    Figure::CallsPerSecond => ratio < it.ratio,
                };
                if worst.is_none_or(is_worse) {
                    worst = Some(Worst { figure, value: *value, ratio });
                }
            }
            (Err(reason), _) | (_, Err(reason)) => failed.push(reason),
        }
    }
    let count = rows.iter().filter(|it| it.1 == size).count();
    failed.sort_unstable();
    let mut reasons = failed.clone();
    reasons.dedup();
    let words =
        reasons.into_iter().map(|reason| match failed.iter().filter(|it| **it == reason).count() {
            failed if failed == count => reason.to_owned(),
            failed => format!("{failed} of {count} {reason}"),
        });
    let words = (!failed.is_empty()).then(|| words.collect::<Vec<_>>().join(", "));
    (worst, words)
}

impl Figure {
    fn cells(self, program: &Program) -> &[Cell] {
        match self {
            Self::Micros => &program.single,
            Self::CallsPerSecond => &program.burst,
        }
    }

    fn format(self, value: f64) -> String {
        match self {
            Self::Micros if value < 100.0 => format!("{value:.1}"),
            _ => format!("{value:.0}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [Row; 3] = [("Rust", "200 B"), ("HTML", "200 B"), ("Rust", "10 KB")];

    fn program(name: &str, single: [Cell; 3], burst: [Cell; 3]) -> Program {
        let (single, burst) = (single.into(), burst.into());
        Program { memory: Some(5.25), single, burst, ..Program::new(name, "1.0") }
    }

    fn programs() -> [Program; 3] {
        let blocked = || Err("blocked".to_owned());
        [
            program("copy", [Ok(10.0), Ok(20.0), Ok(30.0)], [Ok(400.0), Ok(200.0), Ok(100.0)]),
            program("guard", [Ok(20.0), Ok(30.0), Ok(300.0)], [Ok(300.0), Ok(50.0), blocked()]),
            program("other", [blocked(), Ok(40.0), blocked()], [blocked(), blocked(), blocked()]),
        ]
    }

    #[test]
    fn the_worst_text_counts_and_a_text_without_a_figure_is_named() {
        let (sizes, programs) = (["200 B", "10 KB"], programs());
        assert_eq!(
            summary(Figure::Micros, &ROWS, &sizes, &programs),
            "| program | version | 200 B | 10 KB | memory, MB |\n\
             |---|---|---|---|---|\n\
             | copy | 1.0 | 10.0 (1.00×) | 30.0 (1.00×) | 5.2 |\n\
             | guard | 1.0 | 20.0 (2.00×) | 300 (10×) | 5.2 |\n\
             | other | 1.0 | 40.0 (2.00×), 1 of 2 blocked | blocked | 5.2 |\n"
        );
        let table = summary(Figure::CallsPerSecond, &ROWS, &sizes, &programs);
        assert!(table.contains("| guard | 1.0 | 50 (0.250) | blocked |\n"), "{table}");
        assert!(table.contains("| other | 1.0 | blocked | blocked |\n"), "{table}");
    }

    #[test]
    fn each_text_is_a_row_and_each_program_a_column() {
        assert_eq!(
            details(Figure::Micros, &ROWS, &programs()),
            "| text | copy | guard | other |\n\
             |---|---|---|---|\n\
             | Rust, 200 B | 10.0 | 20.0 | blocked |\n\
             | HTML, 200 B | 20.0 | 30.0 | 40.0 |\n\
             | Rust, 10 KB | 30.0 | 300 | blocked |\n"
        );
    }

    #[test]
    fn a_chart_shows_the_programs_that_have_a_figure() {
        let chart = chart(Figure::Micros, &ROWS, "10 KB", &programs());
        let lines: Vec<_> = chart.lines().collect();
        assert_eq!(lines.len(), 2, "{chart}");
        assert!(lines[0].starts_with("copy  ████▊ 30.0"), "{chart}");
        assert!(lines[1].ends_with("█ 300"), "{chart}");
    }
}
