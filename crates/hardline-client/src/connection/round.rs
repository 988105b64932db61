//! Results of 2026-07-28 that want something before they are results.

use std::collections::BTreeMap;
use std::sync::Arc;

use hardline_wire::encode::push_json_string;
use hardline_wire::excerpt::Excerpt;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Inner;
use super::message::Params;
use crate::Error;

/// What a server may ask for in the middle of a request.
const ASKABLE: [&str; 3] = ["sampling/createMessage", "elicitation/create", "roots/list"];

/// What a server wants to know before it answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wanted {
    #[serde(default)]
    input_requests: BTreeMap<String, Asked>,
    request_state: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Asked {
    method: String,
    params: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    result_type: Option<String>,
}

/// Reads whether a result is one, or what is wanted first.
pub(super) fn wanted(method: &str, result: &str) -> Result<Option<Wanted>, Error> {
    let kind: Kind = super::call::parse(method, result)?;
    match kind.result_type.as_deref() {
        None | Some("complete") => Ok(None),
        Some("input_required") => super::call::parse(method, result).map(Some),
        Some(other) => Err(Error::Unexpected {
            method: method.to_owned(),
            reason: format!("a result of type {}", Excerpt::new(other.as_bytes(), 80)),
        }),
    }
}

impl Inner {
    /// Does what the server wants, and gives the parameters to ask it again with.
    pub(super) async fn fulfil(
        self: &Arc<Self>,
        wanted: &Wanted,
        params: &Params,
    ) -> Result<Params, Error> {
        let mut responses = String::from("{");
        for (name, asked) in &wanted.input_requests {
            let handler = ASKABLE.contains(&asked.method.as_str());
            let handler = handler.then(|| self.settings.handler(&asked.method)).flatten();
            let method = Excerpt::new(asked.method.as_bytes(), 80);
            let Some(handler) = handler else {
                return Err(Error::Input(format!(
                    "the server asks for {method} before it answers, and this client does not do that"
                )));
            };
            // In a task of its own, so that one that panics costs this request alone.
            let params = asked.params.clone();
            let outcome = self.runtime.spawn(async move { handler(params).await }).await;
            let response = match outcome {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => {
                    let reason = Excerpt::new(error.message.as_bytes(), 200).to_string();
                    return Err(Error::Input(format!("{method} for the server failed: {reason}")));
                }
                Err(_) => return Err(Error::Input(format!("{method} for the server failed"))),
            };
            if responses.len() > 1 {
                responses.push(',');
            }
            push_json_string(&mut responses, name);
            responses.push(':');
            responses.push_str(&response);
        }
        responses.push('}');
        let mut params = params.clone();
        if !wanted.input_requests.is_empty() {
            params = params.with("inputResponses", &responses);
        }
        if let Some(state) = &wanted.request_state {
            params = params.with("requestState", state.get());
        }
        Ok(params)
    }
}
