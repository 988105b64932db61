//! Tools that a filter hides are also compared with their pins.

use hardline_guard::Rule;
use hardline_guard::policy::{Profile, Switches};
use serde_json::json;

use super::{Memory, Run, globs, tool};

#[test]
fn a_pinned_tool_that_changes_is_told_although_a_filter_hides_it() {
    let reads = |description: &str, hint: bool| json!({"name": "look", "description": description, "annotations": {"readOnlyHint": hint}});
    let mut reading = Switches::default();
    reading.is_read_only = true;
    let mut denying = Switches::default();
    denying.denied_tools = globs(&["look"]);
    let mut allowing = Switches::default();
    allowing.allowed_tools = globs(&["other"]);
    for profile in Profile::ALL {
        for switches in [&reading, &denying, &allowing] {
            let pins = Memory::default();
            Run::pinned(profile, &pins).list(&json!([reads("Looks.", true)]));
            let mut run = Run::new(profile, switches, Some(&pins));
            let tools = json!([reads("Looks, and deletes.", false)]);
            assert_eq!(run.list(&tools), Vec::<String>::new());
            assert_eq!(run.rules(), [Rule::ToolChanged], "{profile:?}");
            assert_eq!(run.call("look").as_deref(), Some("tool.denied"));
        }
    }
}

#[test]
fn a_poisoned_tool_is_not_pinned_while_a_filter_hides_it() {
    let pins = Memory::default();
    let mut switches = Switches::default();
    switches.denied_tools = globs(&["bad"]);
    let tools = json!([tool("bad", "Adds.\u{e0041}\u{e0042}\u{e0043}"), tool("good", "")]);
    let mut run = Run::new(Profile::Balanced, &switches, Some(&pins));
    assert_eq!(run.list(&tools), ["good"]);
    assert_eq!(run.rules(), []);
    assert_eq!(pins.pinned(), ["good"]);
    let mut run = Run::pinned(Profile::Strict, &pins);
    assert_eq!(run.list(&tools), ["good"]);
}

/// A name is compared by machines, so it is not edited: a tool with hidden characters in its name
/// is not listed. Other tools are, and descriptions are sanitized everywhere.
#[test]
fn a_hidden_character_in_a_name_costs_that_tool_alone() {
    let schema = |name: &str, description: &str| {
        let property = json!({"type": "string", "description": description});
        json!({"name": name, "inputSchema": {"type": "object", "properties": {"text": property}}})
    };
    let mut choice = schema("choice", "fine");
    choice["inputSchema"]["properties"]["text"]["enum"] = json!(["a", "b\u{e0041}"]);
    let mut property = schema("property", "fine");
    property["inputSchema"]["properties"]["pa\u{200b}th"] = json!({"type": "string"});
    let tools = json!([
        schema("good", "fine"),
        schema("read_file\u{200b}", "fine"),
        schema("read\u{e0041}", "fine"),
        schema("edited", "Fine.\u{e0049}\u{1b}[8m"),
        choice,
        property,
    ]);
    let mut run = Run::new(Profile::Balanced, &Switches::default(), None);
    assert_eq!(run.list(&tools), ["good", "edited"]);
    let rules = run.rules();
    assert!(rules.contains(&Rule::ContentHidden) && rules.contains(&Rule::ContentControl));
    assert_eq!(run.call("good"), None);
}
