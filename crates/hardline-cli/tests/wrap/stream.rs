//! Standard streams that are not pipes.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::client::command;

const SESSION: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\r\n",
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
    "\nnonsense\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"big"}}"#,
);

#[track_caller]
fn check(output: &str) {
    assert!(output.ends_with('\n'));
    let mut ids: Vec<_> = output
        .lines()
        .map(|line| line.split_once(r#""id":"#).unwrap().1.split(',').next().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, ["0", "1", "2", "null"]);
}

pub(crate) fn files_and_sockets() {
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(SESSION.as_bytes()).unwrap();
    input.rewind().unwrap();
    let mut output = tempfile::tempfile().unwrap();
    let (mut command, _) = command(&[], &[]);
    command.stdin(input).stdout(output.try_clone().unwrap()).stderr(Stdio::null());
    assert!(command.status().unwrap().success());
    output.rewind().unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    check(&text);

    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let (mut command, _) = crate::client::command(&[], &[]);
    let theirs = || OwnedFd::from(theirs.try_clone().unwrap());
    command.stdin(theirs()).stdout(theirs()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    ours.write_all(SESSION.as_bytes()).unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    let mut reader = ours.try_clone().unwrap();
    let mut buffer = [0; 1 << 16];
    ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    while text.lines().count() < 4 || !text.ends_with('\n') {
        let length = reader.read(&mut buffer).unwrap();
        assert_ne!(length, 0, "{text}");
        text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
    }
    check(&text);
    assert!(child.wait().unwrap().success());
}

pub(crate) fn terminal() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = File::options().read(true).write(true).open(name).unwrap();
    let (mut command, _) = command(&[], &[]);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut ours = File::from(ours);
    // A terminal limits a line to a few thousand bytes, and Ctrl-D ends its input.
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    ours.write_all(format!("{call}\n\x04").as_bytes()).unwrap();
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    let start = Instant::now();
    while !text.contains(r#""id":1,"result""#) {
        assert!(start.elapsed() < Duration::from_secs(60), "{text}");
        let length = ours.read(&mut buffer).unwrap_or(0);
        text.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    assert!(child.wait().unwrap().success());
}
