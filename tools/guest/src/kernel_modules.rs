// SPDX-License-Identifier: GPL-2.0

//! The modules of Debian's stock kernel that scripts/guest-suite brought along.

use crate::check::Check;
use crate::errno::Op;
use crate::module;
use crate::sys;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The archive of scripts/guest-modules, as its own name says of this kernel.
fn archive() -> Option<PathBuf> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let begin = format!("modules-{}-", release.trim_end());
    let files = std::fs::read_dir("/root").ok()?.filter_map(Result::ok);
    files.map(|file| file.path()).find(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&begin))
    })
}

/// The modules as files.
pub struct Modules {
    folder: PathBuf,
    /// All modules, each after those that it needs.
    pub order: Vec<String>,
}

impl Modules {
    pub fn new() -> Check<Self> {
        let folder = PathBuf::from("/tmp/modules");
        if !folder.join("order").exists() {
            let Some(archive) = archive() else {
                skip!("no modules of this kernel are here")
            };
            std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
            let mut tar = Command::new("tar");
            let status = tar.arg("-xf").arg(archive).arg("-C").arg(&folder).status();
            ensure!(status.is_ok_and(|status| status.success()), "tar failed");
        }
        let order = std::fs::read_to_string(folder.join("order")).map_err(|e| e.to_string())?;
        Ok(Self {
            folder,
            order: order.lines().map(str::to_string).collect(),
        })
    }

    /// Names of the modules that one needs itself.
    fn needs(&self, name: &str) -> Vec<String> {
        const WORD: &[u8] = b"\0depends=";
        let bytes = std::fs::read(self.file(name)).unwrap_or_default();
        let at = bytes.windows(WORD.len()).position(|word| word == WORD);
        let list = at.map_or(&[][..], |at| &bytes[at + WORD.len()..]);
        let list = list.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(list)
            .split(',')
            .filter(|name| !name.is_empty())
            .map(|name| name.replace('_', "-"))
            .collect()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.ko"))
    }
}

/// Modules that go when this is dropped, the last one first.
pub struct Loaded<'a> {
    modules: &'a Modules,
    names: Vec<String>,
}

impl<'a> Loaded<'a> {
    pub fn new(modules: &'a Modules) -> Self {
        Self {
            modules,
            names: Vec::new(),
        }
    }

    /// Loads a module and what it needs.
    pub fn add(&mut self, name: &str) -> Check {
        let known = self.modules.order.iter().any(|other| other == name);
        // A module that is not among them is part of the kernel image.
        if !known || module::is_loaded(&name.replace('-', "_")) {
            return Ok(());
        }
        for other in self.modules.needs(name) {
            self.add(&other)?;
        }
        let file: &Path = &self.modules.file(name);
        module::load(file, "")?;
        self.names.push(name.to_string());
        Ok(())
    }

    /// Unloads them again, and reports the first one that failed.
    pub fn remove(&mut self) -> Check {
        while let Some(name) = self.names.pop() {
            unload(&name, Duration::from_secs(10)).map_err(|e| format!("unload {name}: {e}"))?;
        }
        Ok(())
    }

    /// Takes away those that can be, and says which stay: when that are `few` and none has gone for
    /// some seconds, they stay for ever.
    pub fn remove_what_goes(&mut self, few: usize) -> Vec<String> {
        let mut names: Vec<_> = self.names.drain(..).rev().collect();
        let mut last = Instant::now();
        loop {
            let before = names.len();
            names.retain(|name| module::unload(&name.replace('-', "_")).is_err());
            if names.len() < before {
                last = Instant::now();
            }
            let patience = match names.len() <= few {
                true => Duration::from_secs(3),
                false => sys::patience(Duration::from_secs(3)),
            };
            if names.is_empty() || last.elapsed() > patience {
                return names;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A worker of the module may still hold it for some moments.
fn unload(name: &str, patience: Duration) -> Op {
    let name = name.replace('-', "_");
    let mut result = Ok(());
    sys::wait_until(patience, || {
        result = module::unload(&name);
        result.is_ok()
    });
    result
}

impl Drop for Loaded<'_> {
    fn drop(&mut self) {
        if let Err(problem) = self.remove() {
            println!("{problem}");
        }
    }
}
