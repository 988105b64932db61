//! Messages that content begins and that the rest of a line completes, and callers whose answer is lost so.

use std::time::Duration;

use hardline_guard::policy::Profile;

use super::{Run, answer};

const PROFILES: [Profile; 2] = [Profile::Balanced, Profile::Strict];

/// A request whose end content leaves to the rest of a line.
const PARAMS: &str =
    r#""params":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":5"#;

#[test]
fn a_request_that_the_rest_of_a_log_line_completes_is_not_delivered() {
    for (line, planted) in [
        // {"level":"info","f":{"title":"DOC","n":3}}
        (
            r#"{"level":"info","f":{"title":"a","n":3}}"#.to_owned(),
            format!(
                r#"{{"jsonrpc":"2.0","id":"p","method":"sampling/createMessage",{PARAMS},"x":"","n":3}}}}"#
            ),
        ),
        // A notification whose template has members behind the text.
        (
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a","logger":"web","n":5}}"#
                .to_owned(),
            format!(
                r#"{{"jsonrpc":"2.0","id":"p","method":"sampling/createMessage",{PARAMS},"x":"","logger":"web","n":5}}}}"#
            ),
        ),
    ] {
        for profile in PROFILES {
            let mut run = Run::open(profile, "2025-06-18");
            run.call(3, "fetch");
            run.server(&line);
            run.server(&planted);
            run.wait(Duration::from_secs(5));
            run.server(&answer(3, "proper"));
            let is_planted = |it: &&String| it.contains("sampling");
            assert_eq!(run.to_client.iter().find(is_planted), None, "{profile} {line}");
            assert!(run.to_client.iter().any(|it| it.contains("proper")), "{profile} {line}");
        }
    }
}

#[test]
fn a_flag_in_the_end_of_an_answer_may_differ() {
    let result = |id: u32, flag: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"a"}}],"isError":{flag}}}}}"#
        )
    };
    for profile in PROFILES {
        let mut run = Run::open(profile, "2025-06-18");
        run.call(1, "fetch");
        run.server(&result(1, "false"));
        run.wait(Duration::from_secs(1));
        run.call(2, "fetch");
        // The content ends this answer, and begins a request for the rest to complete.
        run.server(&result(2, "false"));
        run.server(&format!(
            r#"{{"jsonrpc":"2.0","id":"p","method":"sampling/createMessage",{PARAMS},"x":[{{"y":""}}],"isError":true}}}}"#
        ));
        run.wait(Duration::from_secs(5));
        assert!(!run.to_client.iter().any(|it| it.contains("sampling")), "{profile}");
    }
}

/// Content writes an older answer again in the place of the one that it ends.
#[test]
fn a_later_caller_does_not_wait_because_of_a_copy() {
    for rest in [
        r#"{"jsonrpc":"2.0","method":"ping","params":{"x":[{"y":""}]},"id":10}"#,
        r#"{"a":{"x":[{"y":""}]},"id":10}"#,
    ] {
        for profile in PROFILES {
            let mut run = Run::open(profile, "2025-06-18");
            run.call(5, "fetch");
            run.server(&answer(5, "ok"));
            run.wait(Duration::from_secs(1));
            run.call(10, "fetch");
            run.server(&answer(5, "ok"));
            run.server(rest);
            run.wait(Duration::from_secs(40));
            let is_ten = |it: &&String| it.contains(r#""id":10"#) && !it.contains("method");
            assert_eq!(run.to_client.iter().filter(is_ten).count(), 1, "{profile} {rest}");
        }
    }
}

/// The rest of an answer makes a request of the server, with the id of the caller.
#[test]
fn a_caller_does_not_wait_whose_id_is_in_a_dropped_request() {
    for profile in PROFILES {
        let mut run = Run::open(profile, "2025-06-18");
        run.call(10, "fetch");
        run.call(11, "fetch");
        run.server(
            r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"a"}]},"id":11}"#,
        );
        run.server(r#"{"jsonrpc":"2.0","method":"ping","params":{"x":[{"y":""}]},"id":10}"#);
        run.wait(Duration::from_secs(40));
        for id in [10, 11] {
            let id = format!(r#""id":{id}"#);
            let is_answer = |it: &&String| it.contains(&id) && !it.contains("method");
            let answers = run.to_client.iter().filter(is_answer).count();
            assert_eq!(answers, 1, "{profile} {id} {:?}", run.to_client);
        }
    }
}

/// A request that is dropped for what follows it is reported for its own fault as well.
#[test]
fn the_fault_of_a_dropped_request_is_reported() {
    let mut run = Run::open(Profile::Strict, "2025-06-18");
    run.call(3, "fetch");
    run.server(r#"{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"a"}}"#);
    run.server(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#);
    run.wait(Duration::from_secs(1));
    let rules = run.rules();
    assert!(rules.contains(&hardline_guard::Rule::SessionWrongDirection), "{rules:?}");
}

/// Two answers of a server that writes them at once, one inside of the other.
#[test]
fn an_answer_inside_of_another_one_leaves_no_caller_waiting() {
    let mut run = Run::open(Profile::Balanced, "2025-06-18");
    run.call(5, "fetch");
    run.server(r#"{"id":{"jsonrpc":"2.0","id":6,"error":{"code":-32000,"result":{"tools":[]},"jsonrpc":"2.0"}"#);
    run.server(r#","message":"no such thing"}}"#);
    run.wait(Duration::from_secs(60));
    assert!(run.to_client.iter().any(|it| it.contains(r#""id":5"#)), "{:?}", run.to_client);
}
