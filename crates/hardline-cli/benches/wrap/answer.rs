//! The server of the comparison with other programs: answers `initialize`, `ping`, `tools/list` and
//! calls of its tool, which return the text of the row that the call names.
//!
//! Most programs between a client and a server write each message anew, with its members in another
//! order, so the server does not expect an order. It looks for the members of a call at both ends of
//! the line, where the text is not; parsing the text would cost more than some programs do.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::peers::{Text, rows};

/// Name of the tool.
pub(super) const TOOL: &str = "echo";
/// Length of the part at each end of a line in which the members of a call are looked for.
const END: usize = 160;

/// Answers each line at once.
pub(super) fn serve() -> ExitCode {
    let texts: Vec<String> = rows().map(Text::members).collect();
    super::answer_lines(|line, answers| {
        if let Some((id, text)) = find_call(line).and_then(|(id, row)| Some((id, texts.get(row)?)))
        {
            answers.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            answers.extend_from_slice(id);
            answers.extend_from_slice(br#","result":{"#);
            answers.extend_from_slice(text.as_bytes());
            answers.extend_from_slice(b"}}\n");
        } else if let Some(answer) = answer(line, &texts) {
            answers.extend_from_slice(answer.as_bytes());
            answers.push(b'\n');
        }
    })
}

/// Returns id and row of a call, if both are at the ends of the line.
fn find_call(line: &[u8]) -> Option<(&[u8], usize)> {
    let ends = [&line[..line.len().min(END)], &line[line.len().saturating_sub(END)..]];
    let find = |name: &[u8]| ends.into_iter().find_map(|end| value_after(end, name));
    if find(br#""method""#)? != br#""tools/call""# {
        return None;
    }
    let row = std::str::from_utf8(find(br#""row""#)?).ok()?;
    Some((find(br#""id""#)?, row.parse().ok()?))
}

/// Returns the text of a scalar value behind a name.
fn value_after<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(name.len()).position(|it| it == name)? + name.len();
    let rest = text[at..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let end = rest.iter().position(|byte| matches!(byte, b',' | b'}'))?;
    Some(rest[..end].trim_ascii_end())
}

/// Answers any request, after parsing it.
fn answer(line: &[u8], texts: &[String]) -> Option<String> {
    let request: Value = serde_json::from_slice(line).ok()?;
    let id = request.get("id")?;
    let result = match request.get("method")?.as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "s", "version": "1" },
        }),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": [{
            "name": TOOL,
            "description": "Returns the text of a row.",
            "inputSchema": { "type": "object" },
        }] }),
        "tools/call" => {
            let row = request["params"]["arguments"]["row"].as_u64()?;
            let text = texts.get(usize::try_from(row).ok()?)?;
            return Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{text}}}}}"#));
        }
        _ => {
            let error = json!({ "code": -32601, "message": "method not found" });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string());
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
}
