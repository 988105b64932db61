//! The only prompt.

use rmcp::ErrorData;
use rmcp::handler::server::tool::parse_json_object;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde::Deserialize;

const NAME: &str = "greet";
const DESCRIPTION: &str = "Asks for a greeting for a person";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
}

pub(super) fn all() -> Vec<Prompt> {
    let name =
        PromptArgument::new("name").with_description("Name of the person").with_required(true);
    vec![Prompt::new(NAME, Some(DESCRIPTION), Some(vec![name])).with_title("Greet")]
}

pub(super) fn get(name: &str, arguments: Option<JsonObject>) -> Result<GetPromptResult, ErrorData> {
    if name != NAME {
        return Err(ErrorData::invalid_params(
            format!("unknown prompt; there is only {NAME}"),
            None,
        ));
    }
    let Arguments { name } = parse_json_object(arguments.unwrap_or_default())?;
    let message =
        PromptMessage::new_text(Role::User, format!("Write a short greeting for {name}."));
    Ok(GetPromptResult::new(vec![message]).with_description(DESCRIPTION))
}
