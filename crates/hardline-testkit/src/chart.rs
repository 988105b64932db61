//! Bars made of text, for pages of benchmarks.

/// Draws a bar of `length` characters, in steps of an eighth, and at least one step.
pub fn bar(length: f64) -> String {
    let eighths = (length * 8.0).round().max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, positive")]
    let (whole, part) = ((eighths / 8.0) as usize, (eighths % 8.0) as usize);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(part).copied().unwrap_or_default();
    format!("{}{rest}", "█".repeat(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_steps_of_an_eighth_and_is_never_empty() {
        assert_eq!(bar(2.0), "██");
        assert_eq!(bar(1.5), "█▌");
        assert_eq!(bar(0.0), "▏");
    }
}
