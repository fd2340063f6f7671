// SPDX-License-Identifier: GPL-2.0

//! One trace tree (the root or an instance) and the plain things tests do with
//! its files. An `Instance` removes itself when dropped.

use crate::check::Check;
use crate::errno::{Errno, Op, EBUSY};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The value of a `label: number` line of a text.
pub fn number_in(text: &str, label: &str) -> Check<u64> {
    let value = |line: &str| {
        let rest = line.strip_prefix(label)?.strip_prefix(':')?;
        rest.trim().parse().ok()
    };
    let number = text.lines().find_map(value);
    number.ok_or_else(|| format!("no line `{label}: number` in {text:?}"))
}

#[derive(Clone)]
pub struct Tree {
    path: PathBuf,
}

impl Tree {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Tree { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file of this tree; the empty name is the tree itself.
    pub fn file(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.path.clone()
        } else {
            self.path.join(name)
        }
    }

    pub fn exists(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    pub fn open(&self, name: &str) -> Op<File> {
        Ok(File::open(self.file(name))?)
    }

    pub fn open_nonblock(&self, name: &str) -> Op<File> {
        Ok(OpenOptions::new()
            .read(true)
            .custom_flags(crate::sys::O_NONBLOCK)
            .open(self.file(name))?)
    }

    pub fn open_write(&self, name: &str) -> Op<File> {
        Ok(OpenOptions::new().write(true).open(self.file(name))?)
    }

    /// The whole content. The reads are large: some files of tracefs end after the first.
    pub fn read_bytes(&self, name: &str) -> Op<Vec<u8>> {
        let mut file = self.open(name)?;
        let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(bytes),
                n => bytes.extend_from_slice(&piece[..n]),
            }
        }
    }

    /// One open and one write.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Op<usize> {
        Ok(self.open_write(name)?.write(bytes)?)
    }

    /// One open with truncation, and one write when there are bytes.
    pub fn write_truncating(&self, name: &str, bytes: &[u8]) -> Op<usize> {
        let mut file = OpenOptions::new()
            .write(true)
            .custom_flags(crate::sys::O_TRUNC)
            .open(self.file(name))?;
        if bytes.is_empty() {
            return Ok(0);
        }
        Ok(file.write(bytes)?)
    }

    /// The content of a file that must be readable text.
    pub fn get(&self, name: &str) -> Check<String> {
        let bytes = self
            .read_bytes(name)
            .map_err(|e| self.reason("read", name, e))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A write that must be taken whole.
    pub fn set(&self, name: &str, text: &str) -> Check {
        match self.write(name, text.as_bytes()) {
            Ok(n) if n == text.len() => Ok(()),
            Ok(n) => Err(format!(
                "write {text:?} to {}: took {n} bytes",
                self.shown(name)
            )),
            Err(e) => Err(self.reason(&format!("write {text:?} to"), name, e)),
        }
    }

    /// The value of a `label: number` line, as in `stats`.
    pub fn number(&self, name: &str, label: &str) -> Check<u64> {
        number_in(&self.get(name)?, label).map_err(|e| format!("{}: {e}", self.shown(name)))
    }

    /// Opens a file with truncation and writes nothing.
    pub fn empty(&self, name: &str) -> Check {
        self.write_truncating(name, b"")
            .map(drop)
            .map_err(|e| self.reason("truncate", name, e))
    }

    /// Empties the buffer.
    pub fn clear(&self) -> Check {
        self.empty("trace")
    }

    /// The names in a folder, sorted.
    pub fn list(&self, name: &str) -> Check<Vec<String>> {
        let entries =
            std::fs::read_dir(self.file(name)).map_err(|e| self.reason("list", name, e.into()))?;
        let mut names: Vec<_> = entries
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }

    /// `path`s of this tree in messages.
    pub fn shown(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    fn reason(&self, what: &str, name: &str, errno: Errno) -> String {
        format!("{what} {}: {errno}", self.shown(name))
    }
}

/// An instance that lives as long as the value.
pub struct Instance {
    tree: Tree,
    root: PathBuf,
}

impl Instance {
    /// Makes `instances/NAME`; removes one that a test which died has left.
    pub fn new(root: &Path, name: &str) -> Check<Self> {
        let path = root.join("instances").join(name);
        let _ = std::fs::remove_dir(&path);
        std::fs::create_dir(&path)
            .map_err(|e| format!("mkdir {}: {}", path.display(), Errno::from(e)))?;
        Ok(Instance::there(root, path))
    }

    /// Takes over a folder of `instances/` that the test has made.
    pub fn there(root: &Path, path: PathBuf) -> Self {
        Instance {
            tree: Tree::at(path),
            root: root.to_path_buf(),
        }
    }

    /// Removes it; a test uses this where the removal itself must work.
    ///
    /// A child of a load that is still on its way to its program holds the files that were
    /// open when it was forked: EBUSY may last for some moments.
    pub fn remove(self) -> Check {
        let mut result = Ok(());
        crate::sys::wait_until(Duration::from_secs(5), || {
            result = std::fs::remove_dir(self.tree.path()).map_err(Errno::from);
            result != Err(EBUSY)
        });
        result.map_err(|e| format!("rmdir {}: {e}", self.tree.shown("")))
    }

    /// The root that the instance belongs to.
    pub fn top(&self) -> Tree {
        Tree::at(&self.root)
    }
}

impl Deref for Instance {
    type Target = Tree;

    fn deref(&self) -> &Tree {
        &self.tree
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // After `remove` this finds nothing; a failure here shows in the next test that
        // wants the name.
        let _ = std::fs::remove_dir(&self.tree.path);
    }
}
