// SPDX-License-Identifier: GPL-2.0

//! What an open file is: the trait that every control file implements, and the tables of
//! `file_operations` that call it.
//!
//! A file of rtracefs knows its `FileIdentity`: instance, CPU, event. The inode has a `FileNode`, which says how
//! the file is opened; the VFS calls the functions at the end, and these call `fs::open`, where the
//! open file lives.

use crate::{
    buffers::{
        recorded::RecordedTotal,
        Buf,
        CpuSel, //
    },
    events::IdRef,
    fs::{
        open::OpenFile,
        raw_calls,
        text_file::{
            PositionMove,
            Show,
            Store,
            TextFile, //
        }, //
    },
    instance::Instance,
    kapi::{
        c,
        compat,
        inode::{
            AnyInode,
            Inode, //
        },
        pipe::is_spliced,
        wait::Poller, //
    }, //
};
use kernel::{
    bindings,
    error::from_result,
    ffi::{
        c_int,
        c_long,
        c_uint,
        c_ulong, //
    },
    fs::{
        File,
        LocalFile, //
    },
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    prelude::*,
    sync::{
        poll::PollTable,
        Arc, //
    },
    types::ForeignOwnable,
    uaccess::{
        UserPtr,
        UserSlice,
        UserSliceReader, //
    },
};

/// The part of its instance that a file is about.
#[derive(Clone, Copy)]
pub(crate) enum Arg {
    /// The instance, or all its CPUs.
    Whole,
    /// One CPU.
    Cpu(u32),
    /// The event with this id.
    Event(u16),
    /// The system of the event with this id.
    System(u16),
    /// One option.
    Option(crate::text::options::Opt),
}

/// The identity of a file, as its functions see it.
pub(crate) struct FileIdentity<'a> {
    /// The instance. It cannot be removed while the file is open.
    pub(crate) inst: &'a Arc<Instance>,
    /// The part of the instance.
    pub(crate) arg: Arg,
    /// The file is open for reading.
    pub(crate) reads: bool,
}

impl FileIdentity<'_> {
    /// Returns the CPUs that the file is about.
    pub(crate) fn cpus(&self) -> CpuSel {
        match self.arg {
            Arg::Cpu(cpu) => CpuSel::One(cpu),
            _ => CpuSel::All,
        }
    }
}

/// The result of one attempt to read.
pub(crate) enum Step {
    /// The user got this number of bytes; 0 is the end of the file.
    Bytes(usize),
    /// There is nothing yet.
    Empty(SleepCondition),
}

/// The condition that a reader sleeps for.
pub(crate) struct SleepCondition {
    /// The buffer.
    pub(crate) buf: Buf,
    /// An event on any of these CPUs.
    pub(crate) cpus: CpuSel,
    /// `tracing_on` = 0 is the end of the file.
    pub(crate) ends_when_off: bool,
}

/// An open file.
///
/// `read` and `write` are called one at a time, in process context. Neither may sleep for events.
pub(crate) trait TraceFile: Send {
    /// Copies what comes next to the user. `out` is not empty. `pos` is the file position, to be
    /// moved by what was copied.
    fn read(
        &mut self,
        _at: &FileIdentity<'_>,
        _out: &mut IovIterDest<'_>,
        _pos: &mut i64,
    ) -> Result<Step> {
        Err(EINVAL)
    }

    /// As [`Self::read`], where `spliced` says that `out` is a pipe. For the files that ask.
    fn read_into(
        &mut self,
        at: &FileIdentity<'_>,
        out: &mut IovIterDest<'_>,
        pos: &mut i64,
        _spliced: bool,
    ) -> Result<Step> {
        self.read(at, out, pos)
    }

    /// Obeys one command; returns how many bytes of it were used.
    fn write(
        &mut self,
        _at: &FileIdentity<'_>,
        _input: &mut UserSliceReader,
        _pos: &mut i64,
    ) -> Result<usize> {
        Err(EINVAL)
    }

    /// As [`Self::write`], of what comes from several places of memory.
    fn write_vector(
        &mut self,
        _at: &FileIdentity<'_>,
        _input: &mut IovIterSource<'_>,
    ) -> Result<usize> {
        Err(EINVAL)
    }

    /// Obeys a command of `ioctl`.
    fn control(&mut self, _at: &FileIdentity<'_>, _command: c_uint, _argument: UserPtr) -> Result {
        Err(ENOTTY)
    }

    /// Discards what opening with `O_TRUNC` discards. It is the last step of opening: when
    /// something else fails, nothing is lost.
    fn truncate(&mut self, _at: &FileIdentity<'_>) -> Result {
        Ok(())
    }

    /// Returns, for a reader that consumes nothing, what it had seen when it found nothing more.
    /// Such a reader sleeps until something is recorded after that, the others until there is
    /// something unread.
    fn mark(&self) -> Option<RecordedTotal> {
        None
    }

    /// Ends the file: its last descriptor was closed.
    fn released(&mut self, _at: &FileIdentity<'_>) {}

    /// Returns what there is. Called for files that can be polled.
    fn ready(&mut self, _at: &FileIdentity<'_>, _poller: &Poller<'_>) -> PollState {
        PollState::to_read(true)
    }
}

/// What a poller finds. If that is nothing, it is going to be woken.
#[derive(Clone, Copy)]
pub(crate) struct PollState {
    /// There is something to read.
    pub(crate) data: bool,
    /// Something happened since the file was last polled or read.
    pub(crate) news: bool,
}

impl PollState {
    /// Returns whether there is something to read, and no news.
    pub(crate) fn to_read(data: bool) -> Self {
        Self { data, news: false }
    }

    /// Returns the bits that `poll` returns.
    fn bits(self) -> bindings::__poll_t {
        let data = match self.data {
            true => bindings::POLLIN | bindings::POLLRDNORM,
            false => 0,
        };
        match self.news {
            true => data | bindings::POLLPRI,
            false => data,
        }
    }
}

/// A function that makes the `TraceFile` of one kind of file.
pub(crate) type Open = fn(&FileIdentity<'_>) -> Result<KBox<dyn TraceFile>>;

/// The kind of a file: how it is opened and what it allows.
pub(crate) enum Handler {
    /// A text.
    Show(Show),
    /// A text that is made line by line.
    List(Show),
    /// A text that can be changed.
    Knob(Show, Store),
    /// The same, where a write moves the position in another way.
    Moving(Show, Store, PositionMove),
    /// The same, changed by one word: a long write is refused before its bytes are read.
    Word(Show, Store),
    /// The same, changed by a text that is shorter than a page.
    Line(Show, Store),
    /// A file with its own mode and its own `TraceFile`.
    Own(u16, FileKind, Open),
}

impl Handler {
    /// Returns the permissions of its inode.
    pub(crate) fn mode(&self) -> u16 {
        match self {
            Handler::Show(_) | Handler::List(_) => 0o440,
            Handler::Knob(..) | Handler::Moving(..) => 0o640,
            Handler::Word(..) | Handler::Line(..) => 0o640,
            Handler::Own(mode, ..) => *mode,
        }
    }

    /// Returns the operations of its inode.
    pub(crate) fn operations(&self) -> &'static bindings::file_operations {
        self.kind().operations(self.mode() & 0o222 != 0)
    }

    /// Returns how it is positioned.
    pub(super) fn kind(&self) -> FileKind {
        match self {
            Handler::Own(_, kind, _) => *kind,
            Handler::Word(..) | Handler::List(_) => FileKind::Lines,
            _ => FileKind::Text,
        }
    }

    /// Makes the `TraceFile`.
    pub(crate) fn open(&self, at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        match self {
            Handler::Show(show) | Handler::List(show) => TextFile::show(*show),
            Handler::Knob(show, store) => TextFile::knob(*show, *store, PositionMove::Len),
            Handler::Moving(show, store, moves) => TextFile::knob(*show, *store, *moves),
            Handler::Word(show, store) => TextFile::word(*show, *store),
            Handler::Line(show, store) => TextFile::line(*show, *store),
            Handler::Own(_, _, open) => open(at),
        }
    }
}

/// The node that the inode of a file or folder owns.
pub(crate) struct FileNode {
    /// The instance that it belongs to.
    pub(crate) inst: Arc<Instance>,
    /// The part of the instance.
    pub(crate) arg: Arg,
    /// How it is opened. A folder has none.
    pub(crate) handler: Option<&'static Handler>,
    /// Keeps the id of `arg` that event's.
    pub(crate) _id: Option<IdRef>,
}

/// How a file is positioned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A text, read at any position.
    Text,
    /// A text that is made line by line: it has no end to be found by `lseek`, and is not written at a position:
    /// `pwrite` is ESPIPE.
    Lines,
    /// The same, which can be polled and is not written.
    Watched,
    /// The same, where one that was opened for writing alone has no position but 0, which `pwrite` does not refuse.
    LinesRead,
    /// A stream of events: no position, can be polled.
    Stream,
    /// A stream of sub-buffers, which need not be copied.
    Raw,
    /// The same of the snapshot, which is not mapped.
    RawSnapshot,
    /// Takes bytes only: no position.
    Sink,
    /// Takes records of programs and commands: a position that is always 0.
    Records,
}

impl FileKind {
    /// Returns the table for files of this kind. Those that no one `writes` have no operation for that: also a write
    /// of nothing is refused.
    const fn operations(self, writes: bool) -> &'static bindings::file_operations {
        const TEXT: &bindings::file_operations = &bindings::file_operations {
            owner: compat::this_module(),
            llseek: Some(bindings::generic_file_llseek),
            write: Some(write),
            read_iter: Some(read_iter),
            open: Some(open),
            flush: Some(flush),
            release: Some(release),
            splice_read: Some(bindings::copy_splice_read),
            ..pin_init::zeroed()
        };
        const SHOWN: &bindings::file_operations = &bindings::file_operations {
            write: None,
            ..*TEXT
        };
        const LINES: &bindings::file_operations = &bindings::file_operations {
            llseek: Some(seek_lines),
            ..*TEXT
        };
        const LIST: &bindings::file_operations = &bindings::file_operations {
            write: None,
            ..*LINES
        };
        const LINES_READ: &bindings::file_operations = &bindings::file_operations {
            llseek: Some(seek_lines_read),
            ..*TEXT
        };
        const WATCHED: &bindings::file_operations = &bindings::file_operations {
            poll: Some(poll),
            ..*LIST
        };
        const STREAM: &bindings::file_operations = &bindings::file_operations {
            poll: Some(poll),
            ..*SHOWN
        };
        const RAW: &bindings::file_operations = &bindings::file_operations {
            splice_read: Some(raw_calls::splice_read),
            unlocked_ioctl: Some(raw_calls::ioctl),
            mmap: Some(raw_calls::mmap),
            ..*STREAM
        };
        const RAW_SNAPSHOT: &bindings::file_operations = &bindings::file_operations {
            splice_read: Some(raw_calls::splice_read),
            ..*STREAM
        };
        const SINK: &bindings::file_operations = &bindings::file_operations {
            read_iter: None,
            splice_read: None,
            ..*TEXT
        };

        const RECORDS: &bindings::file_operations = &bindings::file_operations {
            owner: compat::this_module(),
            write: Some(write),
            write_iter: Some(write_iter),
            unlocked_ioctl: Some(control),
            open: Some(open),
            release: Some(release),
            ..pin_init::zeroed()
        };

        match self {
            FileKind::Text if writes => TEXT,
            FileKind::Text => SHOWN,
            FileKind::Lines if writes => LINES,
            FileKind::Lines => LIST,
            FileKind::LinesRead => LINES_READ,
            FileKind::Watched => WATCHED,
            FileKind::Stream => STREAM,
            FileKind::Raw => RAW,
            FileKind::RawSnapshot => RAW_SNAPSHOT,
            FileKind::Sink => SINK,
            FileKind::Records => RECORDS,
        }
    }
}

/// A file of rtracefs that the VFS passes to one of its operations.
///
/// # Invariants
///
/// It was opened by [`open`] and stays open for `'a`.
#[derive(Clone, Copy)]
pub(super) struct VfsFile<'a>(&'a LocalFile);

impl<'a> VfsFile<'a> {
    /// Wraps `file`.
    ///
    /// # Safety
    ///
    /// - `file` was opened by [`open`] and stays open for `'a`.
    /// - The result stays with the task that the VFS calls.
    pub(super) unsafe fn new(file: *mut bindings::file) -> Self {
        // SAFETY: An open file has a reference for `'a`; the caller's task may hold its position,
        // which no other task gets at through the result.
        let file = unsafe { LocalFile::from_raw_file(file) };
        // INVARIANT: The caller promises that `open` opened it, and that it stays open.
        Self(file)
    }

    /// Returns what [`open`] made for it.
    pub(super) fn open_file(self) -> Pin<&'a OpenFile> {
        // SAFETY: The file is valid for `'a` (invariant), and only `open` and `release` store here.
        let private = unsafe { (*self.0.as_ptr()).private_data };
        // SAFETY: `open` stored a pinned box there, which `release` takes away when the file is not
        // open any more (invariant); nothing borrows it mutably.
        unsafe { Pin::<KBox<OpenFile>>::borrow(private) }
    }

    /// Returns it for code that does not ask for its position.
    fn as_file(self) -> &'a File {
        // SAFETY: The file stays open for `'a` (invariant), and nothing takes its position by the
        // result.
        unsafe { File::from_raw_file(self.0.as_ptr()) }
    }

    /// Moves the position. Returns where it is then, or an error as a number.
    fn seek(self, offset: i64, whence: c_int) -> i64 {
        c::generic_file_llseek(self.0, offset, whence)
    }

    /// As [`Self::seek`], of a text whose end is not known.
    fn seek_in_lines(self, offset: i64, whence: c_int) -> i64 {
        match whence as u32 {
            bindings::SEEK_SET | bindings::SEEK_CUR => self.seek(offset, whence),
            _ => i64::from(EINVAL.to_errno()),
        }
    }

    /// Returns whether the caller may not sleep. Every user of the file can change that at any
    /// time.
    pub(super) fn nonblocking(self) -> bool {
        self.0.flags() & bindings::O_NONBLOCK != 0
    }
}

/// Makes operations of open files, which the VFS calls: each gets the file as a [`VfsFile`].
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $vis:vis fn $name:ident($file:ident $(, $arg:ident: $type:ty)*) -> $result:ty $body:block
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// Called by the VFS for a file of rtracefs, which it keeps open during the call, with the
        /// other arguments of the operation of this name.
        $vis unsafe extern "C" fn $name(file: *mut bindings::file $(, $arg: $type)*) -> $result {
            // SAFETY: The VFS passes a file that `open` opened, and keeps it open during the call,
            // which this task makes.
            let $file = unsafe { VfsFile::new(file) };
            $body
        }
    )*};
}
pub(super) use operations;

/// Opens `file`, which gets what its kind says of positions.
///
/// # Safety
///
/// Called by the VFS for a new file of an inode of rtracefs, whose flags are set.
unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    from_result(|| {
        // SAFETY: The VFS has the only reference to the file, which has no descriptor yet.
        let opened = unsafe { LocalFile::from_raw_file(file) };
        let flags = opened.flags();
        // With both bits of the mode it is open for neither.
        let access = flags & bindings::O_ACCMODE;
        let writable = matches!(access, bindings::O_WRONLY | bindings::O_RDWR);
        let truncate = writable && flags & bindings::O_TRUNC != 0;
        let reads = matches!(access, bindings::O_RDONLY | bindings::O_RDWR);
        // SAFETY: The file pins the inode, and the nodes of rtracefs are of this type.
        let inode = unsafe { Inode::<FileNode>::from_raw(inode) };
        let node = inode.node().ok_or(ENODEV)?;
        let open = OpenFile::new(node, reads, truncate)?;
        // SAFETY: No other code uses the file yet. `release` takes the box back.
        unsafe { (*file).private_data = open.into_foreign() };
        let limit: extern "C" fn(AnyInode<'_>, &LocalFile) -> c_int = match node
            .handler
            .map(Handler::kind)
        {
            None | Some(FileKind::Text | FileKind::Records) => return Ok(0),
            Some(FileKind::LinesRead) if !reads => return Ok(0),
            Some(FileKind::Lines | FileKind::LinesRead | FileKind::Watched) => c::rt_forbid_pwrite,
            Some(FileKind::Stream | FileKind::Raw | FileKind::RawSnapshot) => c::nonseekable_open,
            Some(FileKind::Sink) => c::stream_open,
        };
        // Each of them only changes the mode bits, returns 0 and cannot fail.
        Ok(limit(inode.any(), opened))
    })
}

/// # Safety
///
/// Called by the VFS once, for the last reference to a file of ours.
unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: The VFS keeps the file until this function returns.
    let private = unsafe { (*file).private_data };
    // SAFETY: `open` stored a pinned box there. No operation runs on the file any more, so nothing
    // borrows the box, and `release` is called once.
    let open = unsafe { Pin::<KBox<OpenFile>>::from_foreign(private) };
    open.released();
    0
}

/// # Safety
///
/// Called by the VFS for a file of ours that was opened for reading.
unsafe extern "C" fn read_iter(
    kiocb: *mut bindings::kiocb,
    iter: *mut bindings::iov_iter,
) -> isize {
    from_result(|| {
        // SAFETY: The operation is the caller's, and this function's alone until it returns.
        let kiocb = unsafe { &mut *kiocb };
        // SAFETY: The operation is on a file of ours, which it keeps open, and for this task.
        let file = unsafe { VfsFile::new(kiocb.ki_filp) };
        // SAFETY: The VFS passes a valid iterator to be written to, which no other code uses.
        let out = unsafe { IovIterDest::from_raw(iter) };
        let spliced = is_spliced(kiocb, out);
        let bytes = file
            .open_file()
            .read(out, &mut kiocb.ki_pos, spliced, || file.nonblocking())?;
        Ok(bytes as isize)
    })
}

/// # Safety
///
/// Called by the VFS for a file of ours that was opened for writing.
unsafe extern "C" fn write_iter(
    kiocb: *mut bindings::kiocb,
    iter: *mut bindings::iov_iter,
) -> isize {
    from_result(|| {
        // SAFETY: The operation is the caller's, and this function's alone until it returns.
        let kiocb = unsafe { &mut *kiocb };
        // SAFETY: The operation is on a file of ours, which it keeps open, and for this task.
        let file = unsafe { VfsFile::new(kiocb.ki_filp) };
        // SAFETY: The VFS passes a valid iterator to be read from, which no other code uses.
        let input = unsafe { IovIterSource::from_raw(iter) };
        Ok(file.open_file().write_vector(input)? as isize)
    })
}

operations! {
    /// Moves the position of a text that is made line by line, whose end is not known.
    fn seek_lines(file, offset: i64, whence: c_int) -> i64 {
        file.seek_in_lines(offset, whence)
    }

    /// The same, of one that can only be written unless it was opened for reading.
    fn seek_lines_read(file, offset: i64, whence: c_int) -> i64 {
        match file.0.flags() & bindings::O_ACCMODE {
            bindings::O_RDONLY | bindings::O_RDWR => file.seek_in_lines(offset, whence),
            _ => file.seek(0, bindings::SEEK_SET as c_int),
        }
    }

    /// Obeys one command of a file that was opened for writing. `pos` is null for a sink.
    fn write(file, buffer: *const u8, len: usize, pos: *mut i64) -> isize {
        from_result(|| {
            let mut unused = 0;
            // SAFETY: It is null, or valid during the call and this call's alone.
            let pos = unsafe { pos.as_mut() }.unwrap_or(&mut unused);
            let user = UserPtr::from_ptr(buffer.cast_mut().cast());
            let mut input = UserSlice::new(user, len).reader();
            let used = file.open_file().write(&mut input, pos)?;
            Ok(used.min(len) as isize)
        })
    }

    /// Obeys a command of a file that takes records.
    fn control(file, command: c_uint, argument: c_ulong) -> c_long {
        from_result(|| {
            let argument = UserPtr::from_addr(argument as usize);
            file.open_file().control(command, argument)?;
            Ok(0)
        })
    }

    /// Tells what there is. `table` is null or valid.
    fn poll(file, table: *mut bindings::poll_table_struct) -> bindings::__poll_t {
        // SAFETY: The table is null, or the VFS keeps it during the call.
        let table = unsafe { PollTable::from_raw(table) };
        let poller = Poller::new(file.as_file(), table);
        file.open_file().ready(&poller).bits()
    }

    /// Closes one descriptor of the file; others may remain. The readers that sleep in the same
    /// program would keep the file open without its knowledge: they end.
    fn flush(file, owner: bindings::fl_owner_t) -> c_int {
        file.open_file().close(owner as usize);
        0
    }
}

#[kunit_tests(rtrace_fs_file)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_each_kind() {
        for (kind, writes, read, polled) in [
            (FileKind::Text, true, true, false),
            (FileKind::Text, false, true, false),
            (FileKind::Watched, false, true, true),
            (FileKind::Lines, true, true, false),
            (FileKind::Lines, false, true, false),
            (FileKind::LinesRead, true, true, false),
            (FileKind::Stream, false, true, true),
            (FileKind::Raw, false, true, true),
            (FileKind::RawSnapshot, false, true, true),
            (FileKind::Sink, true, false, false),
            (FileKind::Records, true, false, false),
        ] {
            let operations = kind.operations(writes);
            assert_eq!(operations.write.is_some(), writes);
            // Without an owner the module could go while a file is open.
            assert!(!operations.owner.is_null());
            assert!(operations.release.is_some() && operations.open.is_some());
            // splice() of a file with both would not see what read() sees.
            assert!(operations.read.is_none());
            assert_eq!(operations.read_iter.is_some(), read);
            assert_eq!(operations.splice_read.is_some(), read);
            assert_eq!(operations.poll.is_some(), polled);
            assert_eq!(operations.mmap.is_some(), kind == FileKind::Raw);
        }
    }
}
