// SPDX-License-Identifier: GPL-2.0

//! The files of rtracefs: where they are, reading and writing them, and telling of each write as
//! the shell command that does the same.

use crate::fault::{error_text, fault, FileFault, Status};
use crate::output::tell;
use crate::parse::error_log;
use crate::parse::mounts;
use anyhow::Result;
use rustix::fd::{AsRawFd, OwnedFd};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder that is there while the module is loaded.
pub const USUAL: &str = "/sys/kernel/rtracing";
/// How long a folder that another program looks into is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A mounted rtracefs. Paths of files are relative to it.
pub struct Tree {
    root: PathBuf,
    /// A mount that is in no folder: only this program has it, and it ends with it.
    _detached: Option<OwnedFd>,
    verbose: bool,
    has_logged: Cell<bool>,
    /// What the `error_log` of each instance that this program made said last.
    own_logs: RefCell<BTreeMap<PathBuf, String>>,
}

/// Returns a text as one word of a shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,/:@%^".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Mounts rtracefs in no folder. As `mount` does, this loads the module where it is installed.
fn detached_mount() -> Result<OwnedFd> {
    use rustix::mount::{fsconfig_create, fsmount, fsopen};
    use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
    let mount = || {
        let context = fsopen("rtracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        fsmount(
            &context,
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::empty(),
        )
    };
    mount().map_err(|e| {
        let text = match e {
            rustix::io::Errno::NODEV => "the module is not loaded; rtrace doctor says more".into(),
            rustix::io::Errno::PERM => "only root can trace the kernel: run it with sudo".into(),
            e => format!("rtracefs cannot be mounted: {}", error_text(&e.into())),
        };
        fault(Status::NoTracing, text)
    })
}

impl Tree {
    /// Returns the tree, at a mount that there is or at one that only this program has.
    ///
    /// # Errors
    ///
    /// [`Status::NoTracing`] without the module, or without the right to trace.
    pub fn find(verbose: bool) -> Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let tree = match mounts::of_type(&mounts, "rtracefs").into_iter().next() {
            Some(path) => Self::at(path.into(), None, verbose),
            None => {
                let mount = detached_mount()?;
                let root = format!("/proc/self/fd/{}", mount.as_raw_fd());
                let tree = Self::at(root.into(), Some(mount), verbose);
                tree.log_line(&format!("mount -t rtracefs rtracefs {USUAL}"));
                tree
            }
        };
        match fs::read_dir(&tree.root) {
            Ok(_) => Ok(tree),
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                let text = format!("{}: run it as root (sudo)", tree.place().display());
                Err(fault(Status::NoTracing, text))
            }
            Err(e) => {
                let text = format!("{}: {}", tree.place().display(), error_text(&e));
                Err(fault(Status::NoTracing, text))
            }
        }
    }

    fn at(root: PathBuf, detached: Option<OwnedFd>, verbose: bool) -> Self {
        Self {
            root,
            _detached: detached,
            verbose,
            has_logged: Cell::new(false),
            own_logs: RefCell::default(),
        }
    }

    /// Returns a folder that plays the tree.
    #[cfg(test)]
    pub fn fake(root: PathBuf) -> Self {
        Self::at(root, None, false)
    }

    /// Returns the folder where a user finds the files, once rtracefs is mounted there.
    pub fn place(&self) -> &Path {
        match self._detached {
            Some(_) => Path::new(USUAL),
            None => &self.root,
        }
    }

    /// Returns the path of a file.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    pub fn has(&self, file: &str) -> bool {
        self.path(file).exists()
    }

    fn log_line(&self, command: &str) {
        if self.verbose {
            tell(command);
        }
    }

    /// Tells of a command that is given in the top folder.
    pub fn log_command(&self, command: &str) {
        if !self.has_logged.replace(true) {
            self.log_line(&format!("cd {}", self.place().display()));
        }
        self.log_line(command);
    }

    /// Returns the text of a file.
    pub fn get(&self, file: &str) -> Result<String> {
        let bytes = fs::read(self.path(file)).map_err(|error| FileFault {
            tried: format!("cat {file}"),
            error,
            log: None,
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the text of a file that is a result, and tells of it.
    pub fn show(&self, file: &str) -> Result<String> {
        self.log_command(&format!("cat {file}"));
        self.get(file)
    }

    /// Writes as `echo TEXT > FILE` does.
    pub fn put(&self, file: &str, text: &str) -> Result<()> {
        self.write(file, text, ">")
    }

    /// Writes as `echo TEXT >> FILE` does.
    pub fn add(&self, file: &str, text: &str) -> Result<()> {
        self.write(file, text, ">>")
    }

    fn write(&self, file: &str, text: &str, sign: &str) -> Result<()> {
        let tried = format!("echo {} {sign} {file}", quoted(text));
        self.log_command(&tried);
        let log = self.log_of(file);
        // No entry says whose it is, and not each refusal makes one: what is new is the reason, and for
        // that the entries from before must be known. In an instance of this program all are its
        // own, so they are those of its last refusal; a log that others share is read before.
        let is_own = self.own_logs.borrow().contains_key(&log);
        let shared = (!is_own).then(|| log_text(&log));
        let write = || {
            let mut options = OpenOptions::new();
            options
                .write(true)
                .truncate(sign == ">")
                .append(sign == ">>");
            options
                .open(self.path(file))?
                .write_all(format!("{text}\n").as_bytes())
        };
        write().map_err(|error| {
            let after = log_text(&log);
            let before = match shared {
                Some(text) => text,
                None => self
                    .own_logs
                    .borrow_mut()
                    .insert(log, after.clone())
                    .unwrap_or_default(),
            };
            let log = error_log::newest(&before, &after);
            FileFault { tried, error, log }.into()
        })
    }

    /// Returns the `error_log` that tells of a file: that of its instance.
    fn log_of(&self, file: &str) -> PathBuf {
        let mut parts = file.split('/');
        match (parts.next(), parts.next()) {
            (Some("instances"), Some(name)) => self.path(&format!("instances/{name}/error_log")),
            _ => self.path("error_log"),
        }
    }

    /// Makes a folder.
    pub fn make(&self, folder: &str) -> Result<()> {
        let tried = format!("mkdir {folder}");
        self.log_command(&tried);
        fs::create_dir(self.path(folder)).map_err(|error| FileFault {
            tried,
            error,
            log: None,
        })?;
        // The log of a new instance is empty.
        self.own_logs
            .borrow_mut()
            .insert(self.path(folder).join("error_log"), String::new());
        Ok(())
    }

    /// Removes a folder. While another program has a file of it open, that is waited for.
    pub fn remove(&self, folder: &str) -> Result<()> {
        let tried = format!("rmdir {folder}");
        self.log_command(&tried);
        let began = Instant::now();
        loop {
            match fs::remove_dir(self.path(folder)) {
                Ok(()) => return Ok(()),
                Err(e) if is_busy(&e) && began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => {
                    return Err(FileFault {
                        tried,
                        error,
                        log: None,
                    }
                    .into())
                }
            }
        }
    }

    /// Returns the names in a folder, in order; none if it is not there.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(folder))
            .map(|all| {
                all.flatten()
                    .map(|entry| entry.file_name().to_string_lossy().into_owned())
                    .collect()
            })
            .unwrap_or_default();
        names.sort();
        names
    }
}

/// Returns what an `error_log` says, nothing if it cannot be read.
fn log_text(log: &Path) -> String {
    fs::read_to_string(log).unwrap_or_default()
}

/// Returns whether somebody else uses it.
fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_are_quoted_when_they_need_it() {
        assert_eq!(quoted("sched:sched_switch"), "sched:sched_switch");
        assert_eq!(quoted("1"), "1");
        assert_eq!(quoted("a == 0"), "'a == 0'");
        assert_eq!(quoted("comm ~ 'x*'"), r"'comm ~ '\''x*'\'''");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("!x"), "'!x'");
    }

    /// A folder that plays the tree, one for each test.
    fn tree(test: &str) -> (Tree, PathBuf) {
        let root = std::env::temp_dir().join(format!("rtrace-tree-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("instances/a")).expect("a folder");
        (Tree::fake(root.clone()), root)
    }

    #[test]
    fn files_are_written_as_echo_does() {
        let (tree, root) = tree("files");
        fs::write(root.join("file"), "old\n").expect("a file");
        tree.add("file", "new").expect("added");
        assert_eq!(tree.get("file").expect("read"), "old\nnew\n");
        tree.put("file", "1").expect("written");
        assert_eq!(tree.get("file").expect("read"), "1\n");
        let error = tree.put("nothing", "1").expect_err("no such file");
        assert_eq!(
            error.to_string(),
            "echo 1 > nothing: No such file or directory (ENOENT)"
        );
        assert_eq!(
            tree.log_of("instances/a/events/x/filter"),
            root.join("instances/a/error_log")
        );
        assert_eq!(tree.log_of("dynamic_events"), root.join("error_log"));
        tree.remove("instances/a").expect("removed");
        assert!(!tree.has("instances/a"));
        fs::remove_dir_all(root).expect("removed");
    }

    /// Returns what a refused write tells besides the first line.
    fn reason(tree: &Tree, file: &str) -> Option<String> {
        let error = tree.put(file, "x").expect_err("refused");
        error
            .downcast_ref::<FileFault>()
            .expect("a file")
            .log
            .clone()
    }

    /// An entry of an `error_log`.
    fn entry(name: &str) -> String {
        format!("[    1.000000] {name}: error: No\n  Command: x\n           ^\n")
    }

    #[test]
    fn in_an_instance_of_its_own_all_that_was_not_told_is_the_reason() {
        let (tree, root) = tree("own");
        tree.make("instances/b").expect("made");
        let (file, log) = ("instances/b/none", root.join("instances/b/error_log"));
        assert_eq!(reason(&tree, file), None);
        // The log was not read before the write: an entry is found that was there by then.
        fs::write(&log, entry("first")).expect("a log");
        assert!(reason(&tree, file)
            .expect("an entry")
            .starts_with("first: "));
        // Told once, it is not the reason of what is refused without an entry.
        assert_eq!(reason(&tree, file), None);
        fs::write(&log, entry("first") + &entry("second")).expect("a log");
        assert!(reason(&tree, file)
            .expect("an entry")
            .starts_with("second: "));
        assert_eq!(reason(&tree, file), None);
        fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn in_a_log_of_others_an_entry_from_before_is_not_the_reason() {
        let (tree, root) = tree("shared");
        for log in ["error_log", "instances/a/error_log"] {
            fs::write(root.join(log), entry("old")).expect("a log");
        }
        assert_eq!(reason(&tree, "none"), None);
        assert_eq!(reason(&tree, "instances/a/none"), None);
        fs::remove_dir_all(root).expect("removed");
    }
}
