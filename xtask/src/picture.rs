//! `cargo xtask picture`: draws a recording of the demo, `docs/demo.svg`, and the client in a
//! terminal, `docs/tools.svg`.
//!
//! Runs the demo and draws its output line by line, in its terminal colors, in a window that
//! scrolls as the lines arrive. The SVG contains no script. For readers who prefer reduced motion
//! it shows the end.

mod tools;

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use crate::process::root;

/// Size of the window, in characters.
const COLUMNS: usize = 80;
const ROWS: usize = 26;
/// Size of a character.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 16.0;
const BAR: f64 = 28.0;
/// Time until the next line, until the next line with a verdict, and for which the end stays.
const LINE: f64 = 0.07;
const VERDICT: f64 = 0.55;
const REST: f64 = 9.0;
/// Styles of text: bold, dimmed, red and green.
const STYLE: &str = "text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre; }\n\
    .b { font-weight: bold; } .d { fill: #7f8c9f; } .r { fill: #ff6b6b; } .g { fill: #56d364; }\n";
/// Frame of the window.
const WINDOW: &str = "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#10151f\"/>\n\
    <circle cx=\"20\" cy=\"16\" r=\"5\" fill=\"#ff5f57\"/><circle cx=\"38\" cy=\"16\" r=\"5\" fill=\"#febc2e\"/>\
    <circle cx=\"56\" cy=\"16\" r=\"5\" fill=\"#28c840\"/>\n";

pub(crate) fn run() -> Result<(), String> {
    let output = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--locked", "-p", "hardline-cli", "--"])
        .args(["demo", "--color", "always"])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err("the demo failed".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let path = root().join("docs/demo.svg");
    fs::write(&path, draw(&text))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("wrote docs/demo.svg");
    tools::run()
}

/// Draws the lines of a terminal without motion.
fn still(lines: &[String], label: &str) -> String {
    let width = COLUMNS as f64 * WIDTH + 2.0 * MARGIN;
    let height = lines.len() as f64 * HEIGHT + 2.0 * MARGIN + BAR;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\" aria-label=\"{label}\">\n<style>\n{STYLE}</style>\n{WINDOW}"
    );
    for (index, line) in lines.iter().enumerate() {
        let y = BAR + MARGIN + index as f64 * HEIGHT + 12.0;
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y:.0}\">{}</text>", spans(line));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws the text of a terminal.
fn draw(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut times = Vec::with_capacity(lines.len());
    let mut now = 0.6;
    for line in &lines {
        times.push(now);
        // Readers need longer for a line with a verdict.
        let is_verdict = line.contains('✗') || line.contains('✓');
        now += if is_verdict { VERDICT } else { LINE };
    }
    let total = now + REST;
    let width = COLUMNS as f64 * WIDTH + 2.0 * MARGIN;
    let height = ROWS as f64 * HEIGHT + 2.0 * MARGIN + BAR;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\" aria-label=\"hardline demo: what a hostile server does to a client, without and with Hardline\">\n\
         <style>\n{STYLE}\
         .l {{ animation-duration: {total:.2}s; animation-iteration-count: infinite; }}\n"
    );
    svg.push_str(&scroll(&times, total));
    svg.push_str(&appear(&times, total));
    let last = offset(lines.len());
    let _ = write!(
        svg,
        "@media (prefers-reduced-motion: reduce) {{ .l {{ animation: none !important; }} \
         #s {{ animation: none; transform: translateY(-{last:.0}px); }} }}\n</style>\n\
         {WINDOW}<clipPath id=\"w\"><rect x=\"0\" y=\"{BAR}\" width=\"{width:.0}\" height=\"{:.0}\"/></clipPath>\n\
         <g clip-path=\"url(#w)\"><g id=\"s\">\n",
        height - BAR - 4.0
    );
    for (index, line) in lines.iter().enumerate() {
        let y = BAR + MARGIN + index as f64 * HEIGHT + 12.0;
        let _ = writeln!(
            svg,
            "<text class=\"l l{index}\" x=\"{MARGIN}\" y=\"{y:.0}\">{}</text>",
            spans(line)
        );
    }
    svg.push_str("</g></g>\n</svg>\n");
    svg
}

/// Returns the scroll offset after this many lines.
fn offset(lines: usize) -> f64 {
    lines.saturating_sub(ROWS) as f64 * HEIGHT
}

/// Returns the animation that scrolls the window as lines arrive.
fn scroll(times: &[f64], total: f64) -> String {
    let mut text = format!(
        "#s {{ animation: scroll {total:.2}s steps(1, end) infinite; }}\n@keyframes scroll {{ 0% {{ transform: none; }}"
    );
    // Scrolling starts once the window is full.
    for (index, time) in times.iter().enumerate().skip(ROWS) {
        let _ = write!(
            text,
            " {:.3}% {{ transform: translateY(-{:.0}px); }}",
            time / total * 100.0,
            offset(index + 1)
        );
    }
    text.push_str(" }\n");
    text
}

/// Returns the animation that shows each line from its time on.
fn appear(times: &[f64], total: f64) -> String {
    let mut text = String::new();
    for (index, time) in times.iter().enumerate() {
        let at = time / total * 100.0;
        let _ = writeln!(
            text,
            "@keyframes k{index} {{ 0%, {at:.3}% {{ opacity: 0; }} {:.3}%, 100% {{ opacity: 1; }} }} .l{index} {{ animation-name: k{index}; }}",
            // A second key frame just behind the first gives a step and not a fade.
            at + 0.01
        );
    }
    text
}

/// Draws a line with its colors.
fn spans(line: &str) -> String {
    let (mut text, mut classes) = (String::new(), Vec::new());
    let mut parts = line.split('\x1b');
    push_span(&mut text, &classes, parts.next().unwrap_or_default());
    for part in parts {
        let Some((code, rest)) = part.strip_prefix('[').and_then(|it| it.split_once('m')) else {
            continue;
        };
        match code {
            "1" => classes.push("b"),
            "2" => classes.push("d"),
            "31" => classes.push("r"),
            "32" => classes.push("g"),
            _ => classes.clear(),
        }
        push_span(&mut text, &classes, rest);
    }
    text
}

fn push_span(text: &mut String, classes: &[&str], content: &str) {
    if content.is_empty() {
        return;
    }
    let content = content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if classes.is_empty() {
        text.push_str(&content);
    } else {
        let _ = write!(text, "<tspan class=\"{}\">{content}</tspan>", classes.join(" "));
    }
}
