//! Protection of this process from other processes of the same user.

use std::io;

/// Denies other processes of the same user access to the memory and the open files of this one.
///
/// A server runs as the same user as its proxy. On Linux it could otherwise write to the client through
/// `/proc/PID/fd/1`, past every check, or read the requests of the client. A process with root's rights
/// still can. Programs that this process starts are not affected. Other systems have no such files.
///
/// # Errors
///
/// An error of the operating system.
pub fn deny_foreign_access() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};

        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    use super::*;

    #[test]
    fn this_process_is_closed_to_others() {
        deny_foreign_access().unwrap();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        // The process itself still finds its program and its files.
        std::env::current_exe().unwrap();
        assert!(std::fs::read_dir("/proc/self/fd").unwrap().count() > 2);
    }
}
