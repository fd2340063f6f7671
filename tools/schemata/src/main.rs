// SPDX-License-Identifier: GPL-2.0
//! schemata TREE PATCHED ROOT...: weave the mutants in the folder PATCHED into the sources in TREE.
//!
//! PATCHED has a folder for each mutant, with the files that it changes as it has them, at their
//! paths in TREE. ROOT is the file of a crate's root in TREE. Prints a line for each mutant: its
//! number and its name, followed by `constant` where the compiler may evaluate what it changes; or
//! 0, its name and why it must be built alone. `RTRACE_MUTANT=NUMBER` switches one on.

use std::collections::btree_map::{BTreeMap, Entry};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use schemata::{Woven, FEATURES, SWITCH};

/// The names in a folder, in order.
fn names(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut names: Vec<_> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// The files below a folder.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in names(folder)? {
        if path.is_dir() {
            files.append(&mut self::files(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

/// Weaves a mutant into all of its files or, when one of them cannot have it, into none. Says whether the
/// compiler may evaluate what it changes.
fn weave(
    tree: &Path,
    mutant: &Path,
    number: u32,
    woven: &mut BTreeMap<PathBuf, Woven>,
) -> Result<Result<bool, &'static str>, Box<dyn Error>> {
    let mut all = Vec::new();
    let mut constant = false;
    for mutated in files(mutant)? {
        let path = mutated.strip_prefix(mutant)?.to_owned();
        let file = match woven.entry(path.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let file = Woven::new(fs::read_to_string(tree.join(&path))?)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                entry.insert(file)
            }
        };
        match file.compare(&fs::read_to_string(&mutated)?) {
            Ok(changes) => {
                constant |= changes.constant;
                all.push((path, changes));
            }
            Err(why) => return Ok(Err(why)),
        }
    }
    for (path, changes) in all {
        if let Some(file) = woven.get_mut(&path) {
            file.add(number, changes);
        }
    }
    Ok(Ok(constant))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(tree), Some(patched)) = (arguments.next(), arguments.next()) else {
        return Err("usage: schemata TREE PATCHED ROOT...".into());
    };
    let mut woven = BTreeMap::new();
    for (mutant, number) in names(&patched)?.iter().zip(1..) {
        let name = mutant.file_name().unwrap_or_default().to_string_lossy();
        match weave(&tree, mutant, number, &mut woven)? {
            Ok(false) => println!("{number} {name}"),
            Ok(true) => println!("{number} {name} constant"),
            Err(why) => println!("0 {name} {why}"),
        }
    }
    for (path, file) in woven {
        fs::write(tree.join(path), file.text())?;
    }
    for root in arguments {
        let root = tree.join(root);
        let text = fs::read_to_string(&root)?;
        fs::write(&root, FEATURES.to_owned() + &text + SWITCH)?;
    }
    Ok(())
}
