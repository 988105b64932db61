//! The tools, one file each. A new tool is a new file and a line in [`all`].
//!
//! Wrong arguments give a result with `isError`, which a model can read and act on.

mod big;
mod echo;
mod env;
mod fail;
mod progress;
mod sleep;

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde_json::{Map, json};

use super::server::DemoServer;

type Route = rmcp::handler::server::router::tool::ToolRoute<DemoServer>;

pub(super) fn all() -> ToolRouter<DemoServer> {
    ToolRouter::new()
        .with_route(big::route())
        .with_route(echo::route())
        .with_route(env::route())
        .with_route(fail::route())
        .with_route(progress::route())
        .with_route(sleep::route())
}

/// Describes a tool that, like all of them here, changes nothing and reaches nothing outside. `A`
/// is the type of its arguments.
fn harmless<A: JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    description: impl Into<Cow<'static, str>>,
) -> Tool {
    let annotations = ToolAnnotations::with_title(title)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    let mut tool = Tool::new(name, description, JsonObject::new())
        .with_title(title)
        .with_input_schema::<A>()
        .with_annotations(annotations);
    simplify(Arc::make_mut(&mut tool.input_schema));
    tool
}

/// Simplifies a schema for clients with partial support of JSON Schema: APIs of models refuse
/// formats such as `uint64`, and objects without `properties`.
fn simplify(schema: &mut JsonObject) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    for property in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
        property.as_object_mut().map(|property| property.remove("format"));
    }
}
