//! Parses TOML into settings.

use toml::de::DeValue;

use super::LaunchPolicy;
use super::settings::{FloodSettings, PolicySettings};
use super::value::{Node, Reader, Scope, join};
use crate::launch::{Entry, is_variable};
use crate::tools::{Glob, ToolFilter};

/// Parses limits, bursts, `close_after`, `hold_back_ms`, tools and launch settings.
pub(super) fn read_settings(
    reader: &mut Reader<'_>,
    scope: &Scope<'_, '_>,
    settings: &mut PolicySettings,
) {
    if let Some(limits) = reader.table(scope, "limits") {
        reader.known_keys(&limits, &["max_frame_bytes", "max_content_bytes", "max_depth"]);
        let most = hardline_wire::limits::FRAME_BYTES_CEILING;
        if let Some(bytes) = reader.integer(&limits, "max_frame_bytes", most) {
            let limits = settings.limits.clone().with_max_frame_bytes(bytes);
            // `integer` has checked the range, so the fallback is never taken.
            settings.limits = limits.unwrap_or(settings.limits.clone());
        }
        if let Some(bytes) = reader.integer(&limits, "max_content_bytes", most) {
            settings.max_content_bytes = Some(bytes);
        }
        if let Some(depth) = reader.integer(&limits, "max_depth", 1 << 16) {
            let limits = settings.limits.clone().with_max_depth(depth);
            settings.limits = limits.unwrap_or(settings.limits.clone());
        }
    }
    if let Some(burst) = reader.table(scope, "burst") {
        reader.known_keys(&burst, &["count", "window_ms"]);
        let count = reader.integer(&burst, "count", FloodSettings::MAX_COUNT);
        let window_ms = reader.integer(&burst, "window_ms", FloodSettings::MAX_WINDOW_MS);
        settings.burst.count = count.unwrap_or(settings.burst.count);
        settings.burst.window_ms = window_ms.unwrap_or(settings.burst.window_ms);
    }
    let close_after = reader.integer(scope, "close_after", PolicySettings::MAX_CLOSE_AFTER);
    settings.close_after = close_after.or(settings.close_after);
    let hold_back_ms = reader.integer(scope, "hold_back_ms", PolicySettings::MAX_HOLD_BACK_MS);
    settings.hold_back_ms = hold_back_ms.unwrap_or(settings.hold_back_ms);
    read_tools(reader, scope, &mut settings.tools);
    if let Some(launch) = reader.table(scope, "launch") {
        read_launch(reader, &launch, &mut settings.launch);
    }
}

/// Parses the tool filter. A list of the server replaces the global one.
fn read_tools(reader: &mut Reader<'_>, scope: &Scope<'_, '_>, tools: &mut ToolFilter) {
    let globs = |patterns: Vec<&str>| patterns.into_iter().map(Glob::new).collect();
    if let Some(patterns) = strings(reader, scope, "allow_tools") {
        tools.set_allowed(globs(patterns));
    }
    if let Some(patterns) = strings(reader, scope, "deny_tools") {
        tools.set_denied(globs(patterns));
    }
    if let Some((is_read_only, _)) = reader.boolean(scope, "read_only") {
        tools.set_read_only(is_read_only);
    }
}

fn read_launch(reader: &mut Reader<'_>, scope: &Scope<'_, '_>, launch: &mut LaunchPolicy) {
    reader.known_keys(scope, &["programs", "path", "directory", "clean_env", "env"]);
    if let Some(entries) = list(reader, scope, "programs") {
        let path = join(&scope.path, "programs");
        let read = entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| read_program(reader, entry, &format!("{path}[{index}]")));
        launch.programs = Some(read.collect());
    }
    if let Some(directories) = strings(reader, scope, "path") {
        for directory in &directories {
            if !is_absolute(directory)
                && let Some(value) = scope.table.get("path")
            {
                // One fault for the whole list is enough.
                let message = "each directory must be an absolute path";
                reader.faults.add(value.span(), &join(&scope.path, "path"), message);
                break;
            }
        }
        launch.path = Some(directories.into_iter().map(str::to_owned).collect());
    }
    if let Some((directory, value)) = reader.string(scope, "directory") {
        if !is_absolute(directory) {
            let path = join(&scope.path, "directory");
            reader.faults.add(value.span(), &path, "it must be an absolute path");
        }
        launch.directory = Some(directory.to_owned());
    }
    if let Some((is_clean, _)) = reader.boolean(scope, "clean_env") {
        launch.is_env_clean = is_clean;
    }
    if let Some(names) = strings(reader, scope, "env") {
        for (index, name) in names.iter().enumerate() {
            // Names only: the values come from the environment of the client.
            if !is_variable(name)
                && let Some(value) = scope.table.get("env")
            {
                let message = "expected the name of a variable that is passed on, without a value";
                let path = format!("{}[{index}]", join(&scope.path, "env"));
                reader.faults.add(value.span(), &path, message);
            }
        }
        launch.env = names.into_iter().map(str::to_owned).collect();
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.get(1..3) == Some(":\\")
}

/// Reads `"npx"`, or `["npx", "-y", "@scope/*", "**"]`.
fn read_program(reader: &mut Reader<'_>, value: &Node<'_>, path: &str) -> Option<Entry> {
    let words: Vec<&str> = match value.get_ref() {
        DeValue::Array(words) => {
            words.iter().map(|word| reader.as_string(word, path)).collect::<Option<_>>()?
        }
        _ => vec![reader.as_string(value, path)?],
    };
    let entry = match words.split_first() {
        Some((program, [])) => Entry::program(program),
        Some((program, arguments)) => Entry::with_arguments(program, arguments),
        // Reports the empty list as an empty program.
        None => Entry::program(""),
    };
    match entry {
        Ok(entry) => Some(entry),
        Err(error) => {
            reader.faults.add(value.span(), path, error.to_string());
            None
        }
    }
}

/// Returns the strings at `key`, or `None` if the key is absent. An empty list is a fault.
fn strings<'a>(reader: &mut Reader<'_>, scope: &Scope<'a, '_>, key: &str) -> Option<Vec<&'a str>> {
    let path = join(&scope.path, key);
    let values = list(reader, scope, key)?;
    values.iter().map(|value| reader.as_string(value, &path)).collect()
}

/// Returns the list at `key`, or `None` if the key is absent. An empty list is a fault.
fn list<'a, 'd>(
    reader: &mut Reader<'_>,
    scope: &Scope<'a, 'd>,
    key: &str,
) -> Option<&'a [Node<'d>]> {
    let (value, path) = (scope.table.get(key)?, join(&scope.path, key));
    let DeValue::Array(values) = value.get_ref() else {
        let help = format!("write `{key} = [\"…\"]`");
        reader.faults.add_with_help(value.span(), &path, "expected a list", help);
        return None;
    };
    // An empty list could mean "none" or "no restriction"; the author must choose.
    if values.is_empty() {
        let help = match key {
            "allow_tools" => {
                "without the key all tools are allowed, with `deny_tools = [\"*\"]` none"
            }
            _ => "leave the key out",
        };
        reader.faults.add_with_help(value.span(), &path, "the list is empty", help);
        return None;
    }
    Some(values)
}
