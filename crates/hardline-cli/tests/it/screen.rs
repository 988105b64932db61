//! A pseudo-terminal for a command, and the text on it.

use std::fs::File;
use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Runs a command with a terminal of the given width as standard output, and returns all that it
/// wrote there. Standard error is as the caller set it.
pub(crate) fn screen(mut command: Command, width: u16) -> (ExitStatus, String) {
    on_terminal(width, |program| {
        command.stdin(Stdio::null()).stdout(program);
        let child = command.spawn().unwrap();
        // The command holds the program's end of the terminal open.
        drop(command);
        child
    })
}

/// Like [`screen`], with standard error on the terminal too.
pub(crate) fn whole_screen(mut command: Command, width: u16) -> (ExitStatus, String) {
    on_terminal(width, |program| {
        command.stdin(Stdio::null()).stdout(program.try_clone().unwrap()).stderr(program);
        let child = command.spawn().unwrap();
        drop(command);
        child
    })
}

fn on_terminal(
    width: u16,
    start: impl FnOnce(File) -> std::process::Child,
) -> (ExitStatus, String) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let size = Winsize { ws_row: 24, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&person, size).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let program = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let mut child = start(program.into());
    let (mut person, mut screen, mut buffer) = (File::from(person), Vec::new(), [0; 4096]);
    // Reading from a terminal ends with an error once the program's end is closed.
    while let Ok(read @ 1..) = person.read(&mut buffer) {
        screen.extend(buffer.iter().take(read));
    }
    let screen = String::from_utf8(screen).unwrap().replace("\r\n", "\n");
    (child.wait().unwrap(), screen)
}
