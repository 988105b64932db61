//! Pipes: a child's input and output, and the report about its exit.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hardline_transport::process::Stderr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{ALONE, Mark, alone, check, in_time, line, runtime, start};

#[test]
fn may_close_its_output_and_live() {
    check(async |mark, is_kept| {
        let script = "echo ready; exec >&-; while read _; do :; done; exit 5";
        let (child, mut stdout) = start(&mark, script, is_kept).await;
        assert_eq!(in_time(stdout.read(&mut [0])).await.unwrap(), 0);
        assert_eq!(child.exit(), None);
        assert_eq!(in_time(child.close()).await.code(), Some(5));
    });
}

#[test]
fn may_never_read() {
    check(async |mark, is_kept| {
        let script = "echo ready; exec sleep 1000";
        let (mut child, _stdout) = start(&mark, script, is_kept).await;
        let mut stdin = child.take_stdin().unwrap();
        let much = vec![b'x'; 10_000_000];
        let writing = tokio::time::timeout(Duration::from_millis(100), stdin.write_all(&much));
        assert!(writing.await.is_err());
        drop(stdin);
        let exit = in_time(child.close()).await;
        assert_eq!(exit.signal(), Some(15));
        mark.assert_gone();
    });
}

#[test]
fn may_end_before_it_reads() {
    check(async |mark, is_kept| {
        let mut child = mark.shell("exit 4", is_kept).spawn().unwrap();
        let mut stdin = child.take_stdin().unwrap();
        let error = in_time(stdin.write_all(&vec![b'x'; 10_000_000])).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        assert_eq!(in_time(child.wait()).await.code(), Some(4));
    });
}

#[test]
fn may_write_much_to_standard_error() {
    check(async |mark, is_kept| {
        let script = "yes 'some line of standard error' | head -c 10000000 >&2; echo >&2; \
                      head -c 100000 /dev/zero | tr '\\0' 'y' >&2; echo >&2; echo last >&2; exit 2";
        let child = mark.shell(script, is_kept).spawn().unwrap();
        let exit = in_time(child.wait()).await;
        assert_eq!(exit.code(), Some(2));
        let tail = exit.stderr_tail();
        assert_eq!(tail.len(), 32);
        assert_eq!(tail[0], "some line of standard error");
        let long = format!("{}… 7168 bytes more (a line of 100000 bytes)", "y".repeat(1024));
        assert_eq!(tail[30..], [long, "last".to_owned()]);
    });
}

#[test]
fn its_end_is_told_with_its_last_words_escaped() {
    check(async |mark, is_kept| {
        let script = "printf 'first\\n\\n\\033[31mred\\033[0m\\r\\nno end' >&2; ";
        let tail = r"; its last stderr lines: first | \u{1b}[31mred\u{1b}[0m | no end";
        for (end, expected) in [
            ("exit 7", "exited with code 7"),
            ("exit 255", "exited with code 255"),
            ("kill -KILL $$", "was ended by signal 9 (SIGKILL)"),
            ("kill -TERM $$", "was ended by signal 15 (SIGTERM)"),
            ("kill -USR1 $$", "was ended by signal 10 (SIGUSR1)"),
            ("ulimit -c 0; kill -SEGV $$", "was ended by signal 11 (SIGSEGV)"),
            ("ulimit -c 0; kill -ABRT $$", "was ended by signal 6 (SIGABRT)"),
            ("kill -PIPE $$", "was ended by signal 13 (SIGPIPE)"),
        ] {
            let child = mark.shell(&format!("{script}{end}"), is_kept).spawn().unwrap();
            assert_eq!(in_time(child.wait()).await.to_string(), format!("{expected}{tail}"));
        }
    });
}

#[test]
fn somebody_who_holds_standard_error_open_does_not_hold_up_the_end() {
    // Without a keeper, so that a process can escape.
    let mark = Mark::new();
    runtime().block_on(async {
        let script = "setsid sh -c 'setsid sleep 1000 & echo ready'; echo said >&2; read _; exit 1";
        let (mut child, _stdout) = start(&mark, script, false).await;
        drop(child.take_stdin());
        let exit = in_time(child.wait()).await;
        assert_eq!(exit.to_string(), "exited with code 1; its last stderr lines: said");
        assert_eq!(mark.living().len(), 1);
    });
}

#[test]
fn gives_lines_to_a_sink() {
    check(async |mark, is_kept| {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let taken = Arc::clone(&lines);
        let sink = Stderr::sink(move |line| taken.lock().unwrap().push(line.to_owned()));
        let command = mark.shell("printf 'a\\n\\nb\\007\\nc' >&2", is_kept).stderr(sink);
        assert!(in_time(command.spawn().unwrap().wait()).await.is_success());
        assert_eq!(*lines.lock().unwrap(), ["a", "", r"b\u{7}", "c"]);
    });
}

#[test]
fn forwards_lines_with_a_label() {
    let mut output = Vec::new();
    let status = alone("process::output::forwards_lines_with_a_label", |child| {
        child.stderr.take().unwrap().read_to_end(&mut output).unwrap();
    });
    if status.is_some() {
        let output = String::from_utf8(output).unwrap();
        assert_eq!(output, "[a\\tserver] one\n[a\\tserver] \\u{1b}[2Jtwo\n[sh] three\n");
        return;
    }
    assert!(std::env::var_os(ALONE).is_some());
    let mark = Mark::new();
    runtime().block_on(async {
        let script = "echo one >&2; printf '\\033[2Jtwo' >&2";
        let command = mark.shell(script, false).stderr(Stderr::forward("a\tserver"));
        in_time(command.spawn().unwrap().close()).await;
        // Forwarding is the default.
        let command = hardline_transport::process::Command::new(
            "sh",
            hardline_transport::process::Environment::Base,
        );
        in_time(command.args(["-c", "echo three >&2"]).spawn().unwrap().wait()).await;
    });
}

#[test]
fn nobody_reading_our_standard_error_stops_nothing() {
    let mut output = Vec::new();
    let name = "process::output::nobody_reading_our_standard_error_stops_nothing";
    let status = alone(name, |child| {
        // Reading standard output to its end first makes sure that the other pipe was full all the
        // time.
        child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
        child.stderr.take().unwrap().read_to_end(&mut output).unwrap();
    });
    if let Some(status) = status {
        assert!(status.success(), "{status}");
        let output = String::from_utf8(output).unwrap();
        let dropped = "lines of servers' stderr dropped: our own stderr is read too slowly";
        // A process that exits does not wait for its last write, so the last line may be cut.
        let (lines, _) = output.rsplit_once('\n').unwrap();
        let is_known = |line: &str| line == "[sh] y" || line.ends_with(dropped);
        assert!(lines.contains(dropped) && lines.lines().all(is_known), "{output}");
        return;
    }
    let mark = Mark::new();
    runtime().block_on(async {
        let script = "yes | head -c 10000000 >&2; echo done >&2";
        let command = mark.shell(script, false).stderr(Stderr::forward("sh"));
        let mut child = command.spawn().unwrap();
        let mut stdout = tokio::io::BufReader::new(child.take_stdout().unwrap());
        assert_eq!(line(&mut stdout).await, "");
        let exit = in_time(child.wait()).await;
        assert_eq!(exit.stderr_tail().last().unwrap(), "done");
    });
}
