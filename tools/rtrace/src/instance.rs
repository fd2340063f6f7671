// SPDX-License-Identifier: GPL-2.0

//! What a measurement makes in the tree, and takes away when it ends: an instance and
//! definitions of events. Whatever the way out is (a result, an error, a signal, a panic), the
//! destructors run; those of instances before those of the definitions that were made earlier.

use crate::fault::FileFault;
use crate::output::tell;
use crate::tree::Tree;
use anyhow::{bail, Result};
use std::io::ErrorKind;

/// An instance of this program.
pub struct Instance<'a> {
    tree: &'a Tree,
    folder: String,
}

impl<'a> Instance<'a> {
    /// Makes one for a subcommand; its name tells whose it is.
    pub fn new(tree: &'a Tree, what: &str) -> Result<Self> {
        let folder = format!("instances/rtrace-{what}-{}", std::process::id());
        tree.make(&folder)?;
        Ok(Self { tree, folder })
    }

    /// Returns the path of a file below the top folder.
    pub fn file(&self, file: &str) -> String {
        format!("{}/{file}", self.folder)
    }

    pub fn tree(&self) -> &'a Tree {
        self.tree
    }

    /// Returns the text of a file.
    pub fn get(&self, file: &str) -> Result<String> {
        self.tree.get(&self.file(file))
    }

    /// Returns the text of a file that is a result.
    pub fn show(&self, file: &str) -> Result<String> {
        self.tree.show(&self.file(file))
    }

    /// Writes as `echo TEXT > FILE` does.
    pub fn put(&self, file: &str, text: &str) -> Result<()> {
        self.tree.put(&self.file(file), text)
    }

    /// Writes as `echo TEXT >> FILE` does.
    pub fn add(&self, file: &str, text: &str) -> Result<()> {
        self.tree.add(&self.file(file), text)
    }

    /// Switches events on: names as `set_event` takes them, `SYSTEM:EVENT`, `SYSTEM` or patterns.
    pub fn enable(&self, events: &[String]) -> Result<()> {
        for event in events {
            if let Err(error) = self.add("set_event", event) {
                let all = self.tree.get("available_events").unwrap_or_default();
                let near = similar(event, &all);
                if near.is_empty() {
                    return Err(error);
                }
                return Err(
                    error.context(format!("no event {event}; there is {}", near.join(", ")))
                );
            }
        }
        Ok(())
    }

    /// Sets the tracer. Says who has it when another instance does.
    pub fn set_tracer(&self, name: &str) -> Result<()> {
        let set = self.put("current_tracer", name);
        set.map_err(|error| {
            let file = error.downcast_ref::<FileFault>();
            let is_busy = file.is_some_and(|f| f.error.kind() == ErrorKind::ResourceBusy);
            let user = is_busy.then(|| tracer_user(self.tree, rivals(&name)));
            match user.flatten() {
                Some(user) => error.context(user),
                None => error,
            }
        })
    }

    /// Leaves this program itself out of what is recorded and counted.
    pub fn leave_self_out(&self) -> Result<()> {
        self.add("set_event_notrace_pid", &std::process::id().to_string())
    }
}

impl Drop for Instance<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.tree.remove(&self.folder) {
            tell(&format!("rtrace: {error:#}"));
        }
    }
}

/// The tracers of which one instance at a time can have one, or all instances the same.
const RIVALS: &[&[&str]] = &[
    &["wakeup", "wakeup_rt", "wakeup_dl"],
    &["irqsoff_sampled", "preemptoff_sampled"],
    &["osnoise", "timerlat"],
];

/// Returns the tracers that exclude one, with that one.
fn rivals<'a>(name: &'a &'a str) -> &'a [&'a str] {
    let all = RIVALS.iter().find(|all| all.contains(name));
    all.map_or(std::slice::from_ref(name), |all| all)
}

/// Returns which instance has one of these tracers.
pub fn tracer_user(tree: &Tree, tracers: &[&str]) -> Option<String> {
    let names = tree.names("instances").into_iter();
    let folders = names.map(|name| format!("instances/{name}"));
    std::iter::once(".".to_string())
        .chain(folders)
        .find_map(|folder| {
            // An instance may go at any time.
            let tracer = tree.get(&format!("{folder}/current_tracer")).ok()?;
            let place = match &folder[..] {
                "." => "the top instance",
                other => other,
            };
            let tracer = tracer.trim_end();
            tracers
                .contains(&tracer)
                .then(|| format!("{place} has the tracer {tracer}"))
        })
}

/// Returns up to four events like the one that is not there: those whose names have its name in
/// them, else those that begin as it does for longest.
fn similar(event: &str, all: &str) -> Vec<String> {
    let name = event.rsplit(':').next().unwrap_or(event).trim_matches('*');
    let common = |line: &str| {
        let other = line.rsplit(':').next().unwrap_or(line);
        let pairs = name.chars().zip(other.chars());
        pairs.take_while(|(a, b)| a == b).count()
    };
    let mut found: Vec<&str> = Vec::new();
    if !name.is_empty() {
        found.extend(all.lines().filter(|line| line.contains(name)));
    }
    if found.is_empty() {
        let longest = all.lines().map(common).max().unwrap_or(0);
        if longest > 3 {
            found.extend(all.lines().filter(|line| common(line) == longest));
        }
    }
    found.into_iter().take(4).map(str::to_string).collect()
}

/// Returns `SYSTEM` and `EVENT` of the one event that is called so.
pub fn single_event(tree: &Tree, name: &str) -> Result<(String, String)> {
    let name = name.replace('/', ":");
    if let Some((system, event)) = name.split_once(':') {
        if tree.has(&format!("events/{system}/{event}/format")) {
            return Ok((system.to_string(), event.to_string()));
        }
    } else {
        let end = format!(":{name}");
        let all = tree.get("available_events")?;
        let found: Vec<&str> = all.lines().filter(|line| line.ends_with(&end)).collect();
        match found[..] {
            [one] => {
                let (system, event) = one.split_once(':').unwrap_or((one, ""));
                return Ok((system.to_string(), event.to_string()));
            }
            [] => {}
            _ => bail!("{name} is {}: say which", found.join(" and ")),
        }
    }
    let all = tree.get("available_events")?;
    let near = similar(&name, &all);
    match near.is_empty() {
        true => bail!("no event {name} (available_events has all)"),
        false => bail!("no event {name}; there is {}", near.join(", ")),
    }
}

/// A definition in `dynamic_events`, which goes with this value.
pub struct Definition<'a> {
    tree: &'a Tree,
    /// `GROUP/EVENT`, or `GROUP/` for all of it.
    name: String,
}

impl<'a> Definition<'a> {
    /// Defines an event by a line whose name is `GROUP/EVENT`.
    pub fn new(tree: &'a Tree, line: &str, name: &str) -> Result<Self> {
        tree.add("dynamic_events", line)?;
        Ok(Self::adopt(tree, name))
    }

    /// Takes care of one that was defined before.
    pub fn adopt(tree: &'a Tree, name: &str) -> Self {
        Self {
            tree,
            name: name.to_string(),
        }
    }
}

impl Drop for Definition<'_> {
    fn drop(&mut self) {
        let removal = format!("-:{}", self.name);
        if let Err(error) = self.tree.add("dynamic_events", &removal) {
            tell(&format!("rtrace: {error:#}"));
        }
    }
}

/// A file whose text this program has changed, and which gets its old one back.
pub struct ChangedFile<'a> {
    tree: &'a Tree,
    file: String,
    before: String,
}

impl<'a> ChangedFile<'a> {
    /// Writes `text`; later `before` is written again.
    pub fn new(tree: &'a Tree, file: &str, text: &str, before: &str) -> Result<Self> {
        tree.put(file, text)?;
        Ok(Self {
            tree,
            file: file.to_string(),
            before: before.to_string(),
        })
    }
}

impl Drop for ChangedFile<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.tree.put(&self.file, &self.before) {
            tell(&format!("rtrace: {error:#}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "sched:sched_switch\nsched:sched_waking\nirq:irq_handler_entry\n";

    #[test]
    fn a_wrong_name_is_answered_with_similar_ones() {
        assert_eq!(similar("sched:switch", ALL), ["sched:sched_switch"]);
        assert_eq!(similar("sched_swich", ALL), ["sched:sched_switch"]);
        assert_eq!(
            similar("sched:sched_x", ALL),
            ["sched:sched_switch", "sched:sched_waking"]
        );
        assert!(similar("xyz", ALL).is_empty());
    }

    #[test]
    fn after_a_panic_nothing_is_left_and_what_was_made_last_goes_first() {
        let root = std::env::temp_dir().join(format!("rtrace-instance-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(root.join("instances")).expect("a folder");
        for file in ["dynamic_events", "options"] {
            std::fs::write(root.join(file), "").expect("a file");
        }
        let tree = Tree::fake(root.clone());
        let panics = || {
            let _definition = Definition::new(&tree, "p:g/e f", "g/e").expect("defined");
            let _changed = ChangedFile::new(&tree, "options", "new", "old").expect("changed");
            let instance = Instance::new(&tree, "test").expect("made");
            assert!(tree.has(&instance.file("")));
            // As a mistake in a subcommand would.
            panic!("on purpose");
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert!(tree.names("instances").is_empty());
        assert_eq!(tree.get("options").expect("read"), "old\n");
        assert_eq!(
            tree.get("dynamic_events").expect("read"),
            "p:g/e f\n-:g/e\n"
        );
        std::fs::remove_dir_all(root).expect("removed");
    }
}
