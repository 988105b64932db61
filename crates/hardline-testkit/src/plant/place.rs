//! Frames with a place for one string, marked `@`: every place where MCP has a string.

/// Frames of a server in which a person or a model reads the string, so that it may be edited.
pub const TEXTS: &[&str] = &[
    // Results of tools.
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":@}]}}"#,
    r#"{"id":"a","result":{"isError":true,"content":[{"type":"image","data":"aGk=","mimeType":"image/png"},{"text":@,"type":"text"}]},"jsonrpc":"2.0"}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":@}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource_link","uri":"file:///a","name":"a","title":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource_link","uri":"file:///a","name":"a","description":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"pages":[{"body":@,"n":1.50}]}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":[[@]]}}"#,
    // Errors.
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":@}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no","data":@}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no","data":{"trace":[@]}}}"#,
    // Prompts.
    r#"{"jsonrpc":"2.0","id":1,"result":{"description":@,"messages":[]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"text","text":@}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":@}}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"p","description":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"p","arguments":[{"name":"a","description":@,"required":true}]}]}}"#,
    // Resources.
    r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"file:///a","text":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"file:///a","name":"a","title":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"file:///a","name":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[{"uriTemplate":"file:///{a}","name":"a","description":@}]}}"#,
    // Definitions of tools.
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","description":@,"inputSchema":{"type":"object"}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","title":@,"inputSchema":{"type":"object"}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","annotations":{"title":@,"readOnlyHint":true},"inputSchema":{"type":"object"}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{"a":{"description":@}}}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","$defs":{"x":{"anyOf":[{"title":@}]}}}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{"description":{"title":@}}},"outputSchema":{}}]}}"#,
    // Completions, instructions, tasks.
    r#"{"jsonrpc":"2.0","id":1,"result":{"completion":{"values":["a",@],"hasMore":false}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"},"instructions":@}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"7","status":"failed","statusMessage":@}}}"#,
    // Log messages and other notifications.
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":@}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"line":@}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":@,"data":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5,"message":@}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":@}}"#,
    // Requests of the server.
    r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"systemPrompt":@,"maxTokens":9}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":@}}],"maxTokens":9}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":@,"requestedSchema":{"type":"object","properties":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"a","requestedSchema":{"properties":{"a":{"title":@}}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":@}}},"requestState":"s"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":@}}]}}}}}"#,
    // A batch, and members that no version has.
    r#"[{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":@}]}},{"jsonrpc":"2.0","id":2,"result":{}}]"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{},"comment":@}"#,
    " {\t\"jsonrpc\" : \"2.0\" , \"id\":1, \"result\" : { \"x\\u0041\" : [ 1e2, { \"text\" : @ } , null ] } } ",
];

/// Frames of a server in which a program compares the string or sends it back, so that it must not
/// be edited.
pub const OPAQUE: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":@,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":@}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":@}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":@,"text":"a"}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"a:b","blob":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","mimeType":"image/png","data":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a","_meta":{"x":{"text":[@]}}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[{"uriTemplate":@,"name":"a"}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":@,"inputSchema":{"type":"object"}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{@:{"type":"string"}}}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{"a":{"const":@}}}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{"a":{"default":{"title":@}}}}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","outputSchema":{"enum":[@]},"inputSchema":{}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":@,"status":"working"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":@}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"a","requestedSchema":{"properties":{"a":{"enum":[@]}}}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":@,"progress":1}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{@:1}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{@:{"method":"roots/list"}}}}"#,
];

/// Frames of a client, in which the string must arrive unchanged.
pub const FROM_CLIENT: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"path":"/a","text":@}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p","arguments":{"a":@}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":@}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":@}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":@}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"answer":@}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a","name":@}]}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":@}}"#,
];

/// Returns the frame with `string`, a JSON string with its quotes, in its place.
pub fn fill(frame: &str, string: &str) -> String {
    frame.replacen('@', string, 1)
}
