// SPDX-License-Identifier: GPL-2.0

//! Returns of calls that began before the event on them was enabled: the kernel follows each to its end, and calls
//! whatever probe has the memory of the one that it began with.

use super::dynamic::{need_line, Tops};
use super::{pair, test, Test};
use crate::check::Check;
use crate::sys;
use crate::tree::Tree;
use crate::Context;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

pub const TESTS: &[Test] = &[test("fprobe.returns_of_before", 60, returns_of_before)];

const FILE: &str = "dynamic_events";

/// A thread that is inside `vfs_read` until it is told to return.
pub struct BlockedReader {
    thread: u32,
    reader: JoinHandle<()>,
    end: UnixStream,
}

impl BlockedReader {
    pub fn new() -> Check<Self> {
        let (end, mut other) = UnixStream::pair().map_err(|e| format!("socketpair: {e}"))?;
        let (tell, told) = mpsc::channel();
        let reader = thread::spawn(move || {
            let _ = tell.send(sys::thread_id());
            let _ = other.read(&mut [0]);
        });
        let thread = told.recv().map_err(|e| format!("reader: {e}"))?;
        ensure!(sys::wait_asleep(thread), "the reader does not sleep");
        Ok(Self {
            thread,
            reader,
            end,
        })
    }

    /// Has it return, and waits for its end.
    pub fn end(mut self) -> Check {
        self.end
            .write_all(&[0])
            .map_err(|e| format!("write: {e}"))?;
        self.reader.join().map_err(|_| "the reader has died".into())
    }
}

/// Returns how many records there are of the event `called/NAME`, all of which say that it was `function`.
fn count(tree: &Tree, name: &str, function: &str) -> Check<usize> {
    let text = tree.get("trace")?;
    let mut count = 0;
    for line in text
        .lines()
        .filter(|line| line.contains(&format!(" {name}: ")))
    {
        ensure!(line.contains(&format!("<- {function}")), "{line}");
        count += 1;
    }
    Ok(count)
}

fn returns_of_before(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:called/there vfs_read%return")?;
    let trees = pair(context)?;
    let both = [(&tops.own, &trees.0), (&tops.reference, &trees.1)];
    for (top, tree) in both {
        top.set(FILE, "f:called/first vfs_read%return")?;
        tree.set("events/called/first/enable", "1")?;
    }

    // Enabled again while a call is inside: the same in both tracers.
    let reader = BlockedReader::new()?;
    for (_, tree) in both {
        tree.set("events/called/first/enable", "0")?;
        tree.set("set_event_pid", &reader.thread.to_string())?;
        tree.clear()?;
        tree.set("events/called/first/enable", "1")?;
    }
    reader.end()?;
    let counts = both.map(|(_, tree)| count(tree, "first", "vfs_read"));
    let [own, wanted] = counts;
    ensure_eq!(own?, wanted?, "records of the event that was enabled again");

    // Another definition takes the place of the one that the call began with.
    let reader = BlockedReader::new()?;
    for (top, tree) in both {
        tree.set("events/called/first/enable", "0")?;
        tree.set("set_event_pid", &reader.thread.to_string())?;
        tree.clear()?;
        top.set(FILE, "-:called/first")?;
        top.set(FILE, "f:called/second vfs_write%return")?;
        tree.set("events/called/second/enable", "1")?;
    }
    reader.end()?;
    for (_, tree) in both {
        ensure_eq!(
            count(tree, "second", "vfs_write")?,
            0,
            "records of another function"
        );
        tree.set("events/called/second/enable", "0")?;
    }
    Ok(())
}
