//! Results of 2026-07-28 that request input from the client before the server answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use hardline_wire::encode::push_json_string;
use hardline_wire::excerpt::Excerpt;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Inner;
use super::message::Params;
use crate::{Error, RequestContext};

/// Methods that a server may request as input.
const INPUT_METHODS: [&str; 3] = ["sampling/createMessage", "elicitation/create", "roots/list"];

/// An `input_required` result: the input that the server requests before it answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputRequired {
    #[serde(default)]
    input_requests: BTreeMap<String, InputRequest>,
    request_state: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct InputRequest {
    method: String,
    params: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultType {
    result_type: Option<String>,
}

/// Returns the requested input if the result is of type `input_required`, and `None` if it is final.
pub(super) fn input_required(method: &str, result: &str) -> Result<Option<InputRequired>, Error> {
    let kind: ResultType = super::call::parse(method, result)?;
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
    /// Calls the handlers for the requested input. Returns the parameters for repeating the request with it.
    pub(super) async fn provide_input(
        self: &Arc<Self>,
        required: &InputRequired,
        params: &Params,
    ) -> Result<Params, Error> {
        let mut responses = String::from("{");
        for (name, request) in &required.input_requests {
            // Only these methods are valid input requests, even if the caller has handlers for others.
            let is_allowed = INPUT_METHODS.contains(&request.method.as_str());
            let handler = is_allowed.then(|| self.settings.handler(&request.method)).flatten();
            let method = Excerpt::new(request.method.as_bytes(), 80);
            let Some(handler) = handler else {
                return Err(Error::Input(format!(
                    "the server asks for {method} before it answers, and this client has no handler for that"
                )));
            };
            // A separate task, so that a handler that panics fails only this request.
            let params = request.params.clone();
            // Dropped unfinished if the caller abandons the request, which cancels the handler's part of it.
            let (context, canceller) = RequestContext::new(self.settings.server_name.clone());
            let outcome = self.runtime.spawn(async move { handler(params, context).await }).await;
            canceller.finish();
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
        if !required.input_requests.is_empty() {
            params = params.with("inputResponses", &responses);
        }
        if let Some(state) = &required.request_state {
            params = params.with("requestState", state.get());
        }
        Ok(params)
    }
}
