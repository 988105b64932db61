//! Results with `null` for absent members.

use hardline_client::{Connection, ConnectionSettings, Error, Version, Versions};
use serde_json::{Value, json};

use crate::peer::{Peer, text};

/// Sends a request that the server answers with this result.
async fn answered<T: Send + 'static>(
    ask: impl AsyncFnOnce(Connection) -> Result<T, Error>,
    result: Value,
) -> Result<T, Error> {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let answering = async {
        let asked = peer.receive().await.unwrap();
        peer.result(&asked, result).await;
    };
    tokio::join!(ask(connection), answering).0
}

async fn call(with: Value) -> Result<rmcp::model::CallToolResult, Error> {
    let mut result = text("hi");
    result.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
    answered(async |it| it.call_tool("x", json!({})).await, result).await
}

#[tokio::test]
async fn optional_members_of_a_call_result_may_be_null() {
    for with in [
        json!({ "isError": null }),
        json!({ "_meta": null }),
        json!({ "structuredContent": null }),
        json!({ "resultType": null }),
        json!({ "isError": null, "_meta": null, "resultType": null }),
        json!({ "content": [{ "type": "text", "text": "hi", "annotations": null, "_meta": null }] }),
        json!({ "content": [{ "type": "text", "text": "hi", "annotations": { "audience": null } }] }),
    ] {
        let result = call(with.clone()).await.unwrap();
        assert_eq!(result.content[0].as_text().unwrap().text, "hi", "{with}");
        assert_eq!(result.is_error, None, "{with}");
    }
    let result = call(json!({ "content": null, "structuredContent": { "a": null } })).await;
    let result = result.unwrap();
    assert!(result.content.is_empty());
    assert_eq!(result.structured_content, Some(json!({ "a": null })));
}

#[tokio::test]
async fn is_error_of_another_type_is_interpreted_and_keeps_the_content() {
    let check = async |said: Value, expected: bool| {
        let result = call(json!({ "isError": said.clone() })).await.unwrap();
        assert_eq!(result.is_error, Some(expected), "{said}");
        assert_eq!(result.content[0].as_text().unwrap().text, "hi", "{said}");
    };
    for said in [json!("true"), json!("yes"), json!(1), json!({}), json!([])] {
        check(said, true).await;
    }
    for said in [json!("false"), json!("False"), json!(""), json!(0)] {
        check(said, false).await;
    }
}

#[tokio::test]
async fn an_empty_list_may_be_null_or_left_out() {
    let list = async |result: Value| {
        answered(async |it| it.list_tools().await, result).await.map(|it| it.len())
    };
    assert_eq!(list(json!({})).await.unwrap(), 0);
    assert_eq!(list(json!({ "tools": null, "nextCursor": null, "_meta": null })).await.unwrap(), 0);
    let nothing = json!({
        "name": "x", "inputSchema": { "type": "object" }, "title": null, "description": null,
        "annotations": null, "outputSchema": null, "icons": null, "_meta": null, "execution": null,
    });
    let hints = json!({
        "name": "x", "inputSchema": { "type": "object" },
        "annotations": { "title": null, "readOnlyHint": null },
    });
    assert_eq!(list(json!({ "tools": [nothing, hints], "nextCursor": null })).await.unwrap(), 2);
    let error = list(json!({ "tools": "none" })).await.unwrap_err().to_string();
    assert!(error.contains("tools: "), "{error}");
}

#[tokio::test]
async fn the_other_results_may_have_nulls_too() {
    let resource =
        json!({ "contents": [{ "uri": "x:y", "text": "t", "mimeType": null, "_meta": null }] });
    let read = answered(async |it| it.read_resource("x:y").await, resource).await.unwrap();
    assert_eq!(read.contents.len(), 1);
    let message =
        json!({ "role": "user", "content": { "type": "text", "text": "t", "annotations": null } });
    let prompt = json!({ "description": null, "messages": [message], "_meta": null });
    let got = answered(async |it| it.get_prompt("x", json!(null)).await, prompt).await.unwrap();
    assert_eq!(got.messages.len(), 1);
    let resources =
        json!({ "resources": [{ "uri": "x:y", "name": "y", "size": null, "annotations": null }] });
    let listed = answered(async |it| it.list_resources().await, resources).await.unwrap();
    assert_eq!(listed.len(), 1);
    let prompts = json!({ "prompts": [{ "name": "y", "arguments": null, "title": null }] });
    assert_eq!(answered(async |it| it.list_prompts().await, prompts).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_server_may_omit_its_info_and_capabilities() {
    for given in [
        json!({ "capabilities": null, "serverInfo": null, "instructions": null, "_meta": null }),
        json!({}),
        json!({ "capabilities": { "tools": null, "experimental": null }, "serverInfo": {} }),
        json!({ "capabilities": { "tools": { "listChanged": null } }, "serverInfo": "me", "instructions": 7 }),
    ] {
        for version in [Version::V2025_11_25, Version::V2026_07_28] {
            let (stream, mut peer) = Peer::pair();
            let settings = ConnectionSettings::default().with_versions(Versions::Only(version));
            let opening = tokio::spawn(Connection::open(stream, settings));
            let asked = peer.receive().await.unwrap();
            let mut result = given.clone();
            if version.has_handshake() {
                result["protocolVersion"] = version.as_str().into();
            } else {
                result["supportedVersions"] = json!([version.as_str()]);
            }
            peer.result(&asked, result).await;
            let connection = opening.await.unwrap().unwrap_or_else(|it| panic!("{given}: {it}"));
            let server = connection.server();
            assert!(server.implementation.is_none() && server.instructions.is_none(), "{given}");
        }
    }
}
