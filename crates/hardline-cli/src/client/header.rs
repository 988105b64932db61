//! Headers of the command line, with variables in place of secrets.

use anyhow::{Context, Result, anyhow, bail};

/// Splits a header into name and value. Values of headers and variables are never shown.
pub(super) fn split(header: &str) -> Result<(&str, String)> {
    let Some((name, value)) = header.split_once(':') else {
        bail!("--header: write it as 'Name: value'");
    };
    let value = expand(value.trim(), |variable| std::env::var(variable).ok());
    let value = value.map_err(|variable| anyhow!("the variable {variable} is not set"));
    Ok((name, value.with_context(|| format!("--header {name}"))?))
}

/// Replaces variables: `$NAME` and `${NAME}`. Any other `$` stays.
///
/// # Errors
///
/// Name of a variable that is not set.
fn expand(value: &str, find: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        let (is_braced, text) = match after.strip_prefix('{') {
            Some(text) => (true, text),
            None => (false, after),
        };
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let (name, behind) = text.split_at(text.find(|it| !is_part(it)).unwrap_or(text.len()));
        let behind = if is_braced { behind.strip_prefix('}') } else { Some(behind) };
        // `$1` and `$$` are not variables.
        let is_name = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
        match behind.filter(|_| is_name) {
            Some(behind) => {
                result.push_str(&find(name).ok_or_else(|| name.to_owned())?);
                rest = behind;
            }
            None => {
                result.push('$');
                rest = after;
            }
        }
    }
    result.push_str(rest);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Result<&str, &str>) {
        let find = |name: &str| (name == "KEY").then(|| "s3cr3t".to_owned());
        let actual = expand(value, find);
        assert_eq!(actual.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn variables_stand_where_they_are_named() {
        check("Bearer $KEY", Ok("Bearer s3cr3t"));
        check("${KEY}x $KEY.", Ok("s3cr3tx s3cr3t."));
        check("a$ $$ $1 ${} ${KEY", Ok("a$ $$ $1 ${} ${KEY"));
        check("$$KEY", Ok("$s3cr3t"));
        check("Bearer $NONE", Err("NONE"));
        check("${NONE}", Err("NONE"));
        check("", Ok(""));
    }
}
