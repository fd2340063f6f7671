// SPDX-License-Identifier: GPL-2.0

//! Checks, on a kernel that keeps account, that an unloaded module leaves nothing allocated.
//!
//! kmemleak knows the small objects without a pointer to them, page_owner knows who asked for each
//! page. Both have to be asked after the module was unloaded: what it could still free is not a
//! leak.

use crate::check::Check;
use crate::{module, sys, Context};
use std::fs;
use std::path::Path;
use std::time::Duration;

pub const KMEMLEAK: &str = "/sys/kernel/debug/kmemleak";
const PAGES: &str = "/sys/kernel/debug/page_owner_stacks/show_stacks";

/// kmemleak leaves objects alone that are younger than 5 seconds.
const YOUNG: Duration = Duration::from_secs(6);

/// Pages that the allocators took while they worked for us, and keep for the next one: slabs, page
/// tables of the kernel's own address space, memory of CPUs, the notes on who allocated what; and the pages of a
/// program in which there was a breakpoint, which are the program's.
const KEPT: &[&str] = &[
    "slab",
    "pte_alloc",
    "pmd_alloc",
    "pud_alloc",
    "pcpu_",
    "stack_depot",
    "uprobe_write",
];

pub struct Leaks;

impl Leaks {
    /// Forgets what was lost before; None on a kernel without kmemleak.
    pub fn watch(context: &Context) -> Option<Self> {
        if !context.is_rtracefs() || !Path::new(KMEMLEAK).exists() {
            return None;
        }
        fs::write(KMEMLEAK, "clear").ok()?;
        Some(Leaks)
    }

    /// Takes the module out, counts, and puts it back.
    pub fn check(self, context: &Context) -> Check {
        module::umount(context)?;
        let gone = sys::wait_until(Duration::from_secs(10), || {
            module::unload(module::NAME).is_ok()
        });
        ensure!(gone, "the module cannot be unloaded");
        let found = objects().and_then(|()| pages());
        module::restore(context)?;
        found
    }
}

/// The objects to which kmemleak finds no pointer, of those that a function of a module of ours
/// asked for: its name is in the stack, or, when the module went, an address without a name. What
/// the kernel itself loses is shown and not counted.
pub fn lost_objects() -> Check<Vec<String>> {
    const BEGIN: &str = "unreferenced object";
    let text = fs::read_to_string(KMEMLEAK).map_err(|e| format!("{KMEMLEAK}: {e}"))?;
    let objects = text.split(BEGIN).skip(1);
    let objects = objects.map(|object| format!("{BEGIN}{object}"));
    let (ours, others): (Vec<_>, Vec<_>) = objects.partition(|object| {
        let Some((_, stack)) = object.split_once("backtrace") else {
            return true;
        };
        stack.lines().skip(1).any(|line| {
            // `[<address>] name+0x1/0x2 [module]`, and the first part not on each kernel.
            let name = line.rsplit_once(">] ").map_or(line, |(_, name)| name);
            name.contains("[rt") || name.trim_start().starts_with("0x")
        })
    });
    for line in others.iter().flat_map(|object| object.lines()).take(60) {
        println!("# somebody else's: {line}");
    }
    Ok(ours)
}

/// Expects no object without a pointer to it. The first scan only takes the checksum of most.
fn objects() -> Check {
    for _ in 0..2 {
        std::thread::sleep(YOUNG);
        fs::write(KMEMLEAK, "scan").map_err(|e| format!("{KMEMLEAK}: {e}"))?;
    }
    let lost = lost_objects()?;
    for line in lost.iter().flat_map(|object| object.lines()).take(60) {
        println!("# {line}");
    }
    ensure!(lost.is_empty(), "kmemleak: {} objects", lost.len());
    println!("# kmemleak: no object");
    Ok(())
}

/// No page that a function of a module asked for: addresses of a module that went have no name.
fn pages() -> Check {
    let Ok(text) = fs::read_to_string(PAGES) else {
        fail!("{PAGES}: boot with page_owner=on");
    };
    let stacks: Vec<_> = text.split("\n\n").collect();
    let ours = |stack: &&&str| {
        let from_module = |line: &str| line.trim_start().starts_with("0x");
        stack.lines().any(from_module) && !KEPT.iter().any(|name| stack.contains(name))
    };
    let left: Vec<_> = stacks.iter().filter(ours).collect();
    for line in left.iter().take(3).flat_map(|stack| stack.lines()) {
        println!("# {line}");
    }
    ensure!(left.is_empty(), "pages of {} call chains", left.len());
    println!("# page_owner: no page, of {} call chains", stacks.len());
    Ok(())
}
