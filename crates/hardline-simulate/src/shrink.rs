//! Shrinks a failing plan: fewer steps, fewer chunks, fewer bytes, the same fault.

use memchr::memmem;

use crate::document::MARK;
use crate::oracle::Fault;
use crate::plan::{Plan, Step};
use crate::world::play;

/// Limit on the sessions that are played to shrink one plan.
const MAX_TRIES: u32 = 20_000;
/// Words that make an output recognizable as an answer. The shrinker keeps them.
const WORDS: [&[u8]; 4] = [b"jsonrpc", b"id", b"result", b"error"];

/// Returns the smallest plan found that breaks the same promise.
pub fn shrink(plan: &Plan, fault: Fault) -> Plan {
    let mut shrinker = Shrinker { best: plan.clone(), fault, tries: 0 };
    loop {
        let before = shrinker.best.clone();
        shrinker.remove_steps();
        shrinker.merge_chunks();
        shrinker.cut_pauses();
        shrinker.cut_bytes();
        if shrinker.best == before || shrinker.tries >= MAX_TRIES {
            return shrinker.best;
        }
    }
}

struct Shrinker {
    best: Plan,
    fault: Fault,
    tries: u32,
}

impl Shrinker {
    /// Makes `steps` the plan if they still fail in the same way. Returns true if they do.
    fn accept(&mut self, steps: Vec<Step>) -> bool {
        let is_same = steps == self.best.steps;
        // In an honest plan, an answer without its request would be a fault of the server.
        let is_less_honest =
            self.best.is_honest && client_lines(&steps) < client_lines(&self.best.steps);
        if self.tries >= MAX_TRIES || is_same || is_less_honest {
            return false;
        }
        self.tries += 1;
        let plan = Plan { steps, ..self.best.clone() };
        let fails = play(&plan).failure.is_some_and(|it| it.fault == self.fault);
        if fails {
            self.best = plan;
        }
        fails
    }

    fn remove_steps(&mut self) {
        // Large blocks first: most of a plan is usually irrelevant, and each try costs a session.
        let mut size = self.best.steps.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.best.steps.len() {
                let removed = self.best.steps.iter().skip(at).take(size);
                let outputs: Vec<_> = removed.filter_map(output_of).collect();
                let mut number = 0;
                let mut steps = self.best.steps.clone();
                // Half an output would be one that the server never meant to write.
                steps.retain(|step| {
                    let is_in = (at..at + size).contains(&number);
                    number += 1;
                    match output_of(step) {
                        Some(output) => !outputs.contains(&output),
                        None => !is_in,
                    }
                });
                if !self.accept(steps) {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    /// Joins each chunk with the next of its output.
    fn merge_chunks(&mut self) {
        let mut at = 0;
        while at < self.best.steps.len() {
            let mut steps = self.best.steps.clone();
            let output = steps.get(at).and_then(output_of);
            let next = steps.iter().skip(at + 1).position(|it| output_of(it) == output);
            let merged = output.and(next).map(|next| steps.remove(at + 1 + next));
            if let (
                Some(Step::Server { bytes, meant, .. }),
                Some(Step::Server { bytes: more, meant: others, .. }),
            ) = (steps.get_mut(at), merged)
            {
                bytes.extend(more);
                meant.extend(others);
                if self.accept(steps) {
                    continue;
                }
            }
            at += 1;
        }
    }

    fn cut_pauses(&mut self) {
        for at in 0..self.best.steps.len() {
            // From short to long: the shortest pause that still fails explains most.
            for time in [1, 3, 100, 400, 2000] {
                let mut steps = self.best.steps.clone();
                match steps.get_mut(at) {
                    Some(Step::Pause(old)) if *old > time => *old = time,
                    _ => break,
                }
                if self.accept(steps) {
                    break;
                }
            }
        }
    }

    /// Removes lines of the server, and single bytes if the fault is about bytes.
    fn cut_bytes(&mut self) {
        for at in 0..self.best.steps.len() {
            self.cut_lines(at);
            if self.fault == Fault::TwoMeanings {
                self.cut_ranges(at);
            }
        }
    }

    fn cut_lines(&mut self, at: usize) {
        let mut line = 0;
        loop {
            let Some(Step::Server { bytes, .. }) = self.best.steps.get(at) else { return };
            let lines: Vec<_> = bytes.split_inclusive(|it| *it == b'\n').collect();
            if line >= lines.len() {
                return;
            }
            let before: usize = lines.iter().take(line).map(|it| it.len()).sum();
            let length = lines.get(line).map_or(0, |it| it.len());
            // Without its first or last line, the output is not an answer that a server would
            // write. An answer torn by a document is a different one without the lines before the
            // planted text.
            let begins = |line: &&[u8]| line.iter().any(|byte| b"{[".contains(byte));
            let is_planted = |line: &&[u8]| memmem::find(line, MARK.as_bytes()).is_some();
            let head = lines.iter().position(begins).unwrap_or_default();
            let planted = lines.iter().position(is_planted).unwrap_or_default();
            let is_inner = line != head && line >= planted && line + 1 < lines.len();
            if !is_inner || !self.cut_range(at, before, length) {
                line += 1;
            }
        }
    }

    fn cut_ranges(&mut self, at: usize) {
        let length = |plan: &Plan| plan.steps.get(at).map_or(0, |step| bytes_of(step).len());
        let mut size = length(&self.best).div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < length(&self.best) {
                if !self.cut_range(at, from, size) {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    fn cut_range(&mut self, at: usize, from: usize, size: usize) -> bool {
        let mut steps = self.best.steps.clone();
        let Some(step) = steps.get_mut(at) else { return false };
        let (bytes, meant) = match step {
            // For other faults, half a line of the client would test something else.
            Step::Client(line) if self.fault == Fault::TwoMeanings => (line, &mut Vec::new()),
            Step::Server { bytes, meant, .. } => (bytes, meant),
            _ => return false,
        };
        let before = bytes.clone();
        let to = (from + size).min(bytes.len());
        bytes.drain(from..to);
        if self.fault == Fault::Unanswered && !keeps_sense(&before, bytes, meant) {
            return false;
        }
        self.accept(steps)
    }
}

/// Returns true if an output that was meant as an answer still looks like one as much as before.
fn keeps_sense(before: &[u8], after: &[u8], meant: &[String]) -> bool {
    let words = WORDS.into_iter().chain(meant.iter().map(String::as_bytes));
    let has = |text: &[u8], word: &[u8]| memmem::find(text, word).is_some();
    // An output without these words, such as UTF-16, is not changed.
    has(before, b"id") && { words }.all(|word| has(after, word) || !has(before, word))
}

fn client_lines(steps: &[Step]) -> usize {
    steps.iter().filter(|it| matches!(it, Step::Client(_) | Step::Reply)).count()
}

fn output_of(step: &Step) -> Option<u32> {
    if let Step::Server { output, .. } = step { Some(*output) } else { None }
}

fn bytes_of(step: &Step) -> &[u8] {
    match step {
        Step::Client(bytes) | Step::Server { bytes, .. } => bytes,
        Step::Reply | Step::Echo { .. } | Step::Pause(_) | Step::End { .. } => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_shrinks_to_what_breaks_the_promise() {
        // The plan says that the output was meant as an answer, so the relay owes one.
        let text = "balanced\tclient {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\tpause 5\
            \tserver 1 log\\n\tclient {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\treply\
            \tserver 2 {\"level\":\tpause 9\tserver 2=2 5}\\n";
        let plan: Plan = text.parse().unwrap();
        let failure = play(&plan).failure.expect("nothing answers 2");
        let small = shrink(&plan, failure.fault);
        let expected = "balanced\tclient {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\
            \tserver 2=2 {\"level\":5}\\n";
        assert_eq!(small.to_string(), expected);
    }
}
