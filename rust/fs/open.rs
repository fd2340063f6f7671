// SPDX-License-Identifier: GPL-2.0

//! What one open file owns, in which order its calls are served, and how its readers sleep.
//!
//! Calls on one open file are serialised by its lock. No reader sleeps for events with that lock
//! held: a `TraceFile` that has nothing says what it wants, and the loop here sleeps until it is
//! there. So `poll` and `close` never wait for a reader. Called by the file operations in
//! `fs::file`.

use super::{
    file::{
        Arg,
        FileIdentity,
        FileKind,
        FileNode,
        PollState,
        Step,
        TraceFile, //
    },
    raw,
    sleep::FileSleepers, //
};
use crate::{
    buffers::{
        Buf,
        CpuSel, //
    },
    instance::{
        Instance,
        InstanceRef, //
    },
    kapi::{
        fs::locked_down,
        mapping::Area,
        pipe::PipeEnd,
        wait::Poller, //
    },
};
use kernel::{
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        Arc,
        Mutex, //
    },
    uaccess::{
        UserPtr,
        UserSliceReader, //
    }, //
};

/// An open file, which the `private_data` of the VFS's file owns.
#[pin_data]
pub(crate) struct OpenFile {
    #[pin]
    file: Mutex<KBox<dyn TraceFile>>,
    #[pin]
    sleepers: FileSleepers,
    /// The number of times that the sleepers of this file were told to look again.
    nudges: Atomic<u64>,
    inst: Arc<Instance>,
    arg: Arg,
    kind: FileKind,
    reads: bool,
    // Dropped last: the instance can go when this goes.
    _counted: InstanceRef,
}

impl OpenFile {
    /// Opens the file of `node`; `reads` says that it was for reading, `truncate` that it was for
    /// writing with `O_TRUNC`.
    ///
    /// # Errors
    ///
    /// `EPERM` under lockdown, `ENODEV` for an instance that is being removed, and what the file
    /// itself says.
    pub(crate) fn new(node: &FileNode, reads: bool, truncate: bool) -> Result<Pin<KBox<Self>>> {
        locked_down()?;
        let handler = node.handler.ok_or(EINVAL)?;
        let counted = node.inst.get()?;
        let file = handler.open(&FileIdentity {
            inst: &node.inst,
            arg: node.arg,
            reads,
        })?;
        let open = KBox::pin_init(
            pin_init!(Self {
                file <- new_mutex!(file),
                sleepers <- FileSleepers::new(),
                nudges: Atomic::new(0),
                inst: node.inst.clone(),
                arg: node.arg,
                kind: handler.kind(),
                reads,
                _counted: counted,
            }),
            GFP_KERNEL,
        )?;
        if truncate {
            open.file.lock().truncate(&open.at())?;
        }
        Ok(open)
    }

    fn at(&self) -> FileIdentity<'_> {
        FileIdentity {
            inst: &self.inst,
            arg: self.arg,
            reads: self.reads,
        }
    }

    /// Reads, into a pipe if it is `spliced`, and sleeps until there is something unless `nonblock`, asked each time,
    /// forbids it.
    pub(crate) fn read(
        &self,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
        spliced: bool,
        nonblock: impl Fn() -> bool,
    ) -> Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        let at = self.at();
        let closes = self.sleepers.closes();
        let mut last = false;
        loop {
            let nudges = self.nudges.load(Relaxed);
            let (step, mark) = {
                let mut file = self.file.lock();
                (file.read_into(&at, out, pos, spliced)?, file.mark())
            };
            let want = match step {
                Step::Bytes(bytes) => return Ok(bytes),
                // What came before the end was looked for once more after the end was seen.
                Step::Empty(_) if last => return Ok(0),
                Step::Empty(want) => want,
            };
            if nonblock() {
                return Err(EAGAIN);
            }
            let ended = || want.ends_when_off && !self.inst.tracing_on();
            if ended() {
                last = true;
                continue;
            }
            let sleeper = self.sleepers.enter(closes)?;
            let mut until = || sleeper.closed() || self.nudged(nudges) || ended();
            match mark {
                Some(mark) => self
                    .inst
                    .buffers()
                    .wait_recorded(want.cpus, mark, &mut until)?,
                None => self.inst.buffers().wait(want.buf, want.cpus, &mut until)?,
            }
            last = sleeper.closed();
        }
    }

    /// Moves whole sub-buffers into `pipe`. When there is none, waits once until the share of the
    /// instance is full, or until there is something in the snapshot, or until `nudge` makes it look
    /// again, unless `nonblock` forbids it; then 0 is possible.
    pub(crate) fn splice(
        &self,
        pos: &mut i64,
        pipe: &mut PipeEnd<'_>,
        len: usize,
        nonblock: impl Fn() -> bool,
    ) -> Result<usize> {
        let cpu = self.cpu()?;
        let closes = self.sleepers.closes();
        let buffers = self.inst.buffers();
        let is_snapshot = self.kind == FileKind::RawSnapshot;
        let mut splice = || match is_snapshot {
            true => raw::splice_snapshot(&self.inst, cpu, pos, pipe, len),
            false => buffers.splice(cpu, pos, pipe, len),
        };
        let nudges = self.nudges.load(Relaxed);
        let moved = splice()?;
        if moved != 0 {
            return Ok(moved);
        }
        if nonblock() {
            return Err(EAGAIN);
        }
        let sleeper = self.sleepers.enter(closes)?;
        let mut until = || sleeper.closed() || self.nudged(nudges);
        match is_snapshot {
            true => buffers.wait(Buf::Snapshot, CpuSel::One(cpu), &mut until)?,
            false => buffers.wait_share(cpu, buffers.percent(), &mut until)?,
        }
        splice()
    }

    /// For a program that has the ring mapped: goes on to what comes next. Waits before until the
    /// share of the instance is full or `nudge` makes it look again, unless `nonblock` forbids it.
    pub(crate) fn next_reader(&self, nonblock: bool) -> Result {
        let cpu = self.cpu()?;
        let closes = self.sleepers.closes();
        self.inst.buffers().mapped(cpu)?;
        if !nonblock {
            let nudges = self.nudges.load(Relaxed);
            let sleeper = self.sleepers.enter(closes)?;
            self.inst
                .buffers()
                .wait_share(cpu, self.inst.buffers().percent(), &mut || {
                    sleeper.closed() || self.nudged(nudges)
                })?;
        }
        self.inst.buffers().next_reader(cpu)
    }

    /// Shows the ring in `area`.
    pub(crate) fn map(&self, area: &mut Area<'_>) -> Result {
        locked_down()?;
        self.inst.buffers().map(self.cpu()?, area)
    }

    /// Counts one area more: one that shows the ring was copied.
    pub(crate) fn map_again(&self) {
        if let Ok(cpu) = self.cpu() {
            self.inst.buffers().map_again(cpu);
        }
    }

    /// Counts one area less: it showed the ring and is gone.
    pub(crate) fn unmap(&self) {
        if let Ok(cpu) = self.cpu() {
            self.inst.buffers().unmap(cpu);
        }
    }

    fn cpu(&self) -> Result<u32> {
        match self.arg {
            Arg::Cpu(cpu) => Ok(cpu),
            _ => Err(EINVAL),
        }
    }

    /// Makes the readers that sleep in this file look again, and find that they may not sleep any
    /// more if that was changed meanwhile.
    pub(crate) fn nudge(&self) {
        self.nudges.fetch_add(1, Full);
        self.inst.buffers().wake_all();
    }

    fn nudged(&self, before: u64) -> bool {
        self.nudges.load(Relaxed) != before
    }

    /// Obeys one command; returns how many bytes of it were used.
    pub(crate) fn write(&self, input: &mut UserSliceReader, pos: &mut i64) -> Result<usize> {
        self.file.lock().write(&self.at(), input, pos)
    }

    /// As [`Self::write`], of what comes from several places of memory.
    pub(crate) fn write_vector(&self, input: &mut IovIterSource<'_>) -> Result<usize> {
        self.file.lock().write_vector(&self.at(), input)
    }

    /// Obeys a command of `ioctl`.
    pub(crate) fn control(&self, command: c_uint, argument: UserPtr) -> Result {
        self.file.lock().control(&self.at(), command, argument)
    }

    /// Returns what there is. If that is nothing, `poller` is going to be woken up.
    pub(crate) fn ready(&self, poller: &Poller<'_>) -> PollState {
        self.file.lock().ready(&self.at(), poller)
    }

    /// Ends the file: its last descriptor was closed.
    pub(crate) fn released(&self) {
        self.file.lock().released(&self.at());
    }

    /// Ends the sleep of the readers of the program with the file table `owner`, which closed a
    /// descriptor of the file.
    pub(crate) fn close(&self, owner: usize) {
        if self.sleepers.close(owner) {
            self.inst.buffers().wake_all();
        }
    }
}
