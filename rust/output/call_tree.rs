// SPDX-License-Identifier: GPL-2.0

//! Adds up the time of calls by what led to them, for `trace_folded`: one line for each way from the task down to
//! a function, with the nanoseconds that the function took there for itself. Tools make flame graphs of that.
//!
//! The records of `function_graph` come in the order of time. Each task has the functions that it is in, by the
//! levels that the records have, as far as their entries were seen. Of calls whose entries are lost, `returned`
//! knows which were in which.

use super::Text;
use crate::{
    event::context::Common,
    events::Symbols,
    tasks::names,
    text::{
        graph::{
            is_entry,
            returned::ReturnedCalls,
            CallEntry,
            CallExit,
            EXIT_ID, //
        },
        stack::{
            self,
            NameExtent,
            SymbolNames, //
        },
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::{
    prelude::*,
    rbtree::RBTree, //
};

/// A function in a place of the tree, or a task.
#[derive(Clone, Copy)]
struct CallNode {
    /// The node above; a task has itself.
    parent: u32,
    /// The address of the function; of a task, its number.
    function: u64,
    /// The time of all calls that returned, in nanoseconds, and that of the calls in them.
    total: u64,
    below: u64,
    /// Of a task, the innermost call that it is in; [`NONE`] for none.
    open: u32,
    /// Of a task, the place of its calls that have returned.
    returned: u32,
}

/// A call that has not returned.
#[derive(Clone, Copy)]
struct OpenCall {
    /// The call that it is in, or of one that is over the next such; [`NONE`] for none.
    outer: u32,
    level: i64,
    node: u32,
}

/// What is not there.
const NONE: u32 = u32::MAX;

/// Calls by what led to them.
pub(crate) struct CallTree {
    /// In the order in which they came.
    nodes: KVVec<CallNode>,
    /// The number of each node, by its parent and function.
    index: RBTree<(u32, u64), u32>,
    /// The calls that have not returned, of all tasks, and places of such that have.
    open: KVVec<OpenCall>,
    /// The first of those places.
    free: u32,
    /// The calls of each task that have returned, and whose callers have not.
    returned: KVVec<ReturnedCalls>,
}

impl CallTree {
    /// Returns one without calls.
    pub(crate) fn new() -> Self {
        Self {
            nodes: KVVec::new(),
            index: RBTree::new(),
            open: KVVec::new(),
            free: NONE,
            returned: KVVec::new(),
        }
    }

    /// Adds a record of `cpu`; those that are of no call are passed over.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn add(&mut self, cpu: u32, record: &[u8]) -> Result {
        let Some(common) = Common::of(record) else {
            return Ok(());
        };
        let is_exit = common.event_type == EXIT_ID;
        if !is_exit && !is_entry(record) {
            return Ok(());
        }
        // The idle tasks have one number, and a CPU each.
        let number = match common.pid {
            0 => u64::from(cpu).wrapping_shl(u32::BITS),
            pid => u64::from(pid as u32),
        };
        let task = self.node(NONE, number)?;
        if is_exit {
            match CallExit::of(record) {
                Some(exit) => self.leave(task, &exit),
                None => Ok(()),
            }
        } else {
            match CallEntry::of(record) {
                Some(entry) => self.enter(task, &entry),
                None => Ok(()),
            }
        }
    }

    fn enter(&mut self, task: u32, entry: &CallEntry) -> Result {
        let level = entry.depth();
        self.close(task, level);
        let above = self.innermost(task).map_or(task, |call| call.node);
        let node = self.node(above, entry.function())?;
        let outer = self.nodes.get(task as usize).map_or(NONE, |task| task.open);
        let call = OpenCall { outer, level, node };
        if let Some(returned) = self.returned_of(task)? {
            returned.enter(level);
        }
        let number = match self.open.get_mut(self.free as usize) {
            Some(place) => {
                let next = core::mem::replace(place, call).outer;
                core::mem::replace(&mut self.free, next)
            }
            None => {
                self.open.push(call, GFP_KERNEL)?;
                self.open.len().wrapping_sub(1) as u32
            }
        };
        if let Some(task) = self.nodes.get_mut(task as usize) {
            task.open = number;
        }
        Ok(())
    }

    fn leave(&mut self, task: u32, exit: &CallExit) -> Result {
        let level = exit.depth();
        self.close(task, level.saturating_add(1));
        let inner = self.innermost(task).filter(|call| call.level == level);
        self.close(task, level);
        let above = self.innermost(task).map_or(task, |call| call.node);
        let of_call = inner.filter(|call| {
            let node = self.nodes.get(call.node as usize);
            node.is_some_and(|node| node.function == exit.function())
        });
        // Only exits are recorded, or the entry is lost.
        let node = match of_call {
            Some(call) => call.node,
            None => self.node(above, exit.function())?,
        };
        let returned = self.returned_of(task)?;
        let below = returned.map_or(0, |returned| returned.leave(level, exit.duration()));
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.total = node.total.saturating_add(exit.duration());
            node.below = node.below.saturating_add(below);
        }
        Ok(())
    }

    /// Returns the calls of a task that have returned.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn returned_of(&mut self, task: u32) -> Result<Option<&mut ReturnedCalls>> {
        let Some(task) = self.nodes.get_mut(task as usize) else {
            return Ok(None);
        };
        if task.returned == NONE {
            let number = u32::try_from(self.returned.len()).map_err(|_| ENOMEM)?;
            self.returned.push(ReturnedCalls::new(), GFP_KERNEL)?;
            task.returned = number;
        }
        Ok(self.returned.get_mut(task.returned as usize))
    }

    /// Forgets the calls of a task that are at least as deep as `level`.
    fn close(&mut self, task: u32, level: i64) {
        let Some(task) = self.nodes.get_mut(task as usize) else {
            return;
        };
        while let Some(call) = self.open.get_mut(task.open as usize) {
            if call.level < level {
                return;
            }
            let outer = core::mem::replace(&mut call.outer, self.free);
            self.free = core::mem::replace(&mut task.open, outer);
        }
    }

    /// Returns the innermost call that a task is in.
    fn innermost(&self, task: u32) -> Option<OpenCall> {
        let task = self.nodes.get(task as usize)?;
        self.open.get(task.open as usize).copied()
    }

    /// Returns the node of `function` below `parent`, a new one if there is none.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn node(&mut self, parent: u32, function: u64) -> Result<u32> {
        if let Some(number) = self.index.get(&(parent, function)) {
            return Ok(*number);
        }
        let number = u32::try_from(self.nodes.len()).map_err(|_| ENOMEM)?;
        let node = CallNode {
            parent,
            function,
            total: 0,
            below: 0,
            open: NONE,
            returned: NONE,
        };
        self.nodes.push(node, GFP_KERNEL)?;
        let key = (parent, function);
        self.index.try_create_and_insert(key, number, GFP_KERNEL)?;
        Ok(number)
    }

    /// Writes a line for each function in each place that took time for itself.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn write(&self, out: &mut Text) -> Result {
        let (mut names, mut way) = (Symbols::new(), KVVec::new());
        for node in &self.nodes {
            let own = node.total.saturating_sub(node.below);
            if own == 0 || node.parent == NONE {
                continue;
            }
            way.clear();
            let mut at = Some(node);
            while let Some(node) = at {
                way.push(*node, GFP_KERNEL)?;
                at = self.nodes.get(node.parent as usize);
            }
            // Nothing but memory can fail.
            write_way(&way, own, &mut names, out).map_err(|_| ENOMEM)?;
        }
        Ok(())
    }
}

/// Writes the way from the task, which is last, to the first, and the time of that.
fn write_way(
    way: &[CallNode],
    own: u64,
    names: &mut dyn SymbolNames,
    out: &mut Text,
) -> fmt::Result {
    for node in way.iter().rev() {
        if node.parent == NONE {
            write_task(node.function as u32 as i32, out)?;
            continue;
        }
        out.write_char(';')?;
        stack::write_function(node.function, NameExtent::Function, names, out)?;
    }
    writeln!(out, " {own}")
}

/// Writes the name of a task, without what has a meaning in the line.
fn write_task(pid: i32, out: &mut Text) -> fmt::Result {
    let mut room = [0; names::COMM];
    let comm = names::comm_of(pid, &mut room);
    for byte in comm {
        let shown = match byte {
            b';' | b' ' | 0..=0x1f => b'_',
            other => *other,
        };
        out.write_bytes(&[shown])?;
    }
    Ok(())
}
