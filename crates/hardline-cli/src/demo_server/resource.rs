//! The only resource.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents};
use serde_json::json;

const URI: &str = "demo://greeting";
const TEXT: &str = "Hello from Hardline's demo server.";

pub(super) fn all() -> Vec<Resource> {
    let greeting = Resource::new(URI, "greeting")
        .with_title("Greeting")
        .with_description("A line of text that never changes")
        .with_mime_type("text/plain")
        .with_size(TEXT.len() as u64);
    vec![greeting]
}

pub(super) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    if uri != URI {
        let message = format!("unknown resource; there is only {URI}");
        return Err(ErrorData::resource_not_found(message, Some(json!({ "uri": uri }))));
    }
    Ok(ReadResourceResult::new(vec![ResourceContents::text(TEXT, URI)]))
}
