//! Messages as rmcp's types: our conversion must equal rmcp's own.

use hardline_transport::{Endpoint, EndpointSettings, Role};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RoleServer};
use rmcp::transport::Transport;

use crate::peer::pair;

/// One of each kind, with members that rmcp does not know, `_meta`, and numbers of all sizes.
const FOR_SERVERS: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"x":1,"roots":{"listChanged":true}},"clientInfo":{"name":"a","version":"1","z":[]},"_meta":{"k":1}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"progressToken":"t"},"q":1}}"#,
    r#"{"jsonrpc":"2.0","id":"s","method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":"s\u0041","method":"tools/list","params":{"cursor":"c","_meta":{"progressToken":9007199254740993}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"n"}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools\/call","params":{"name":"n","arguments":{"big":18446744073709551615,"neg":-9223372036854775808,"f":1.5e300,"deep":{"a":[1,null,true,"\ud83d\ude00"]}},"unknown":{"x":1}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"n","arguments":null,"_meta":{"progressToken":1,"a/b":{"c":18446744073709551615}}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":null,"name":"n"}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"n","requestState":"s","inputResponses":{}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"resources/list","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"resources/templates/list"}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"a://b","_meta":{"x":1}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a://b"}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"a://b"}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"prompts/list"}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"p","arguments":{"a":"b"}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"info"}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"t"}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"tasks/cancel","params":{"taskId":"t"}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"x/y","params":{"a":1,"_meta":{"b":2}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"x/y"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99,"reason":"r"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"total":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":[1],"_meta":{"b":2}}}"#,
];

const FOR_CLIENTS: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":5}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"x/y","params":{"a":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":18446744073709551615}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"x":1}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}}"#,
];

async fn connection_with(line: &str, role: Role) -> (Endpoint, crate::peer::Peer) {
    let (connection, mut peer, _) = pair(role, EndpointSettings::default());
    peer.send(&[line]).await;
    (connection, peer)
}

#[tokio::test]
async fn servers_receive_what_rmcp_would_give_them() {
    for line in FOR_SERVERS {
        let expected: ClientJsonRpcMessage = serde_json::from_str(line).unwrap();
        let (mut connection, mut peer) = connection_with(line, Role::Server).await;
        if !line.contains("\"initialize\"") && !line.contains("\"id\"") {
            // A notification is accepted once a session is open.
            let (other, other_peer) = connection_with(FOR_SERVERS[0], Role::Server).await;
            (connection, peer) = (other, other_peer);
            peer.send(&[line]).await;
            Transport::<RoleServer>::receive(&mut connection).await.unwrap();
        }
        let received = Transport::<RoleServer>::receive(&mut connection).await.unwrap();
        assert_eq!(format!("{received:?}"), format!("{expected:?}"), "{line}");
        drop(peer);
    }
}

#[tokio::test]
async fn clients_receive_what_rmcp_would_give_them() {
    for line in FOR_CLIENTS {
        let expected: ServerJsonRpcMessage = serde_json::from_str(line).unwrap();
        let (mut connection, _peer) = connection_with(line, Role::Client).await;
        let received = Transport::<RoleClient>::receive(&mut connection).await.unwrap();
        assert_eq!(format!("{received:?}"), format!("{expected:?}"), "{line}");
    }
}

#[tokio::test]
async fn answers_reach_clients_as_rmcp_would_give_them() {
    for answer in [
        r#""result":{"content":[{"type":"text","text":"x","extra":1}],"isError":false,"_meta":{"a":1}}"#,
        r#""result":{"tools":[{"name":"n","inputSchema":{"type":"object","x-y":{"z":1e400}}}],"nextCursor":"c"}"#,
        r#""result":{}"#,
        r#""result":{"anything":[1,2,{"big":18446744073709551615}]}"#,
        r#""error":{"code":-32000,"message":"m","data":{"a":[1]}}"#,
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":0,{answer}}}"#);
        let Ok(expected) = serde_json::from_str::<ServerJsonRpcMessage>(&line) else { continue };
        let (mut connection, _peer) = connection_with(&line, Role::Client).await;
        let request = rmcp::model::ClientRequest::PingRequest(rmcp::model::PingRequest::default());
        let request =
            rmcp::model::JsonRpcMessage::request(request, rmcp::model::RequestId::Number(0));
        Transport::<RoleClient>::send(&mut connection, request).await.unwrap();
        let received = Transport::<RoleClient>::receive(&mut connection).await.unwrap();
        assert_eq!(format!("{received:?}"), format!("{expected:?}"), "{line}");
    }
}
