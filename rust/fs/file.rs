// SPDX-License-Identifier: GPL-2.0

//! What an open file is: the trait that every control file implements, and the one table of
//! `file_operations` that calls it.
//!
//! A file of rtracefs knows its `At`: instance, CPU, event. The inode has a `Node`, which says how the
//! file is opened; the VFS calls the functions at the end, and these call `fs::open`, where the open
//! file lives.

use crate::{
    buffers::{
        recorded::RecordedTotal,
        Buf,
        CpuSel, //
    },
    fs::{
        open::OpenFile,
        raw_calls,
        text_file::{
            Moves,
            Show,
            Store,
            TextFile, //
        }, //
    },
    instance::Instance,
    kapi::{
        c,
        dir,
        wait::Poller, //
    }, //
};
use kernel::{
    bindings,
    error::from_result,
    ffi::c_int,
    fs::File,
    iov::IovIterDest,
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

/// What in its instance a file is about.
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

/// Which file it is, as its functions see it.
pub(crate) struct At<'a> {
    /// The instance. It cannot be removed while the file is open.
    pub(crate) inst: &'a Arc<Instance>,
    /// What in the instance.
    pub(crate) arg: Arg,
    /// The file is open for reading.
    pub(crate) reads: bool,
}

impl At<'_> {
    /// The CPUs that the file is about.
    pub(crate) fn cpus(&self) -> CpuSel {
        match self.arg {
            Arg::Cpu(cpu) => CpuSel::One(cpu),
            _ => CpuSel::All,
        }
    }
}

/// What one attempt to read did.
pub(crate) enum Step {
    /// Gave the user so many bytes; 0 is the end of the file.
    Bytes(usize),
    /// There is nothing yet.
    Empty(Want),
}

/// What a reader sleeps for.
pub(crate) struct Want {
    /// In which buffer.
    pub(crate) buf: Buf,
    /// An event on any of these CPUs.
    pub(crate) cpus: CpuSel,
    /// `tracing_on` = 0 is the end of the file.
    pub(crate) ends_when_off: bool,
}

/// An open file.
///
/// `read` and `write` are called one at a time. Neither may sleep for events.
pub(crate) trait TraceFile: Send {
    /// Copies what comes next to the user. `out` is not empty. `pos` is the file position, to be
    /// moved by what was copied.
    fn read(&mut self, _at: &At<'_>, _out: &mut IovIterDest<'_>, _pos: &mut i64) -> Result<Step> {
        Err(EINVAL)
    }

    /// Obeys one command; returns how many bytes of it were used.
    fn write(
        &mut self,
        _at: &At<'_>,
        _input: &mut UserSliceReader,
        _pos: &mut i64,
    ) -> Result<usize> {
        Err(EINVAL)
    }

    /// Throws away what opening with truncation throws away. The last step of opening: when
    /// something else fails, nothing is lost.
    fn truncate(&mut self, _at: &At<'_>) -> Result {
        Ok(())
    }

    /// For a reader that consumes nothing: what it had seen when it found nothing more. It sleeps until
    /// something was recorded since, the others until there is something unread.
    fn mark(&self) -> Option<RecordedTotal> {
        None
    }

    /// The last descriptor of the file was closed.
    fn released(&mut self, _at: &At<'_>) {}

    /// Is there something to read? Only asked of streams.
    fn readable(&mut self, _at: &At<'_>, _poller: &Poller<'_>) -> bool {
        true
    }
}

/// Makes the `TraceFile` of one kind of file.
pub(crate) type Open = fn(&At<'_>) -> Result<KBox<dyn TraceFile>>;

/// What kind of file it is: how it is opened and what it allows.
pub(crate) enum Handler {
    /// A text.
    Show(Show),
    /// A text that can be changed.
    Knob(Show, Store),
    /// The same, where a write moves the position in another way.
    Moving(Show, Store, Moves),
    /// The same, changed by one word: a long write is refused before it is looked at.
    Word(Show, Store),
    /// The same, changed by a text that is shorter than a page.
    Line(Show, Store),
    /// A file with its own mode and its own `TraceFile`.
    Own(u16, Kind, Open),
}

impl Handler {
    /// The permissions of its inode.
    pub(crate) fn mode(&self) -> u16 {
        match self {
            Handler::Show(_) => 0o440,
            Handler::Knob(..) | Handler::Moving(..) => 0o640,
            Handler::Word(..) | Handler::Line(..) => 0o640,
            Handler::Own(mode, ..) => *mode,
        }
    }

    /// How it is positioned.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Handler::Own(_, kind, _) => *kind,
            Handler::Word(..) => Kind::Lines,
            _ => Kind::Text,
        }
    }

    /// Makes the `TraceFile`.
    pub(crate) fn open(&self, at: &At<'_>) -> Result<KBox<dyn TraceFile>> {
        match self {
            Handler::Show(show) => TextFile::show(*show),
            Handler::Knob(show, store) => TextFile::knob(*show, *store, Moves::Len),
            Handler::Moving(show, store, moves) => TextFile::knob(*show, *store, *moves),
            Handler::Word(show, store) => TextFile::word(*show, *store),
            Handler::Line(show, store) => TextFile::line(*show, *store),
            Handler::Own(_, _, open) => open(at),
        }
    }
}

/// What the inode of a file or folder owns.
pub(crate) struct Node {
    /// The instance that it belongs to.
    pub(crate) inst: Arc<Instance>,
    /// What in the instance.
    pub(crate) arg: Arg,
    /// How it is opened. A folder has none.
    pub(crate) handler: Option<&'static Handler>,
}

/// How a file is positioned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text, read at any position.
    Text,
    /// A text that is not written at a position: `pwrite` is ESPIPE.
    Lines,
    /// The same if it was opened for reading.
    LinesRead,
    /// A stream of events: no position, can be polled.
    Stream,
    /// A stream of sub-buffers, which need not be copied.
    Raw,
    /// Takes bytes only: no position.
    Sink,
}

impl Kind {
    /// The table for files of this kind.
    pub(crate) const fn operations(self) -> &'static bindings::file_operations {
        const TEXT: &bindings::file_operations = &operations(open_text);
        const LINES: &bindings::file_operations = &operations(open_lines);
        const LINES_READ: &bindings::file_operations = &operations(open_lines_read);
        const STREAM: &bindings::file_operations = &bindings::file_operations {
            poll: Some(poll),
            ..operations(open_stream)
        };
        const RAW: &bindings::file_operations = &bindings::file_operations {
            splice_read: Some(raw_calls::splice_read),
            unlocked_ioctl: Some(raw_calls::ioctl),
            mmap: Some(raw_calls::mmap),
            ..*STREAM
        };
        const SINK: &bindings::file_operations = &bindings::file_operations {
            read_iter: None,
            splice_read: None,
            ..operations(open_sink)
        };

        match self {
            Kind::Text => TEXT,
            Kind::Lines => LINES,
            Kind::LinesRead => LINES_READ,
            Kind::Stream => STREAM,
            Kind::Raw => RAW,
            Kind::Sink => SINK,
        }
    }
}

type OpenFn = unsafe extern "C" fn(*mut bindings::inode, *mut bindings::file) -> c_int;

const fn operations(open: OpenFn) -> bindings::file_operations {
    bindings::file_operations {
        owner: kernel::module::this_module::<crate::LocalModule>().as_ptr(),
        llseek: Some(bindings::generic_file_llseek),
        write: Some(write),
        read_iter: Some(read_iter),
        open: Some(open),
        flush: Some(flush),
        release: Some(release),
        splice_read: Some(bindings::copy_splice_read),
        ..pin_init::zeroed()
    }
}

/// The open file behind a `struct file`.
///
/// # Safety
///
/// `file` was opened by one of the `open_*` functions and stays open for `'a`.
pub(super) unsafe fn open_file<'a>(file: *mut bindings::file) -> Pin<&'a OpenFile> {
    // SAFETY: By the contract; `release` is the only one to take it away, when nobody uses it.
    unsafe { Pin::<KBox<OpenFile>>::borrow((*file).private_data) }
}

/// Is the caller not to sleep? Anybody who has the file can change that at any time.
///
/// # Safety
///
/// `file` is open.
pub(super) unsafe fn nonblocking(file: *mut bindings::file) -> bool {
    // SAFETY: By the contract. Volatile: one load, as others may store.
    unsafe { (&raw const (*file).f_flags).read_volatile() & bindings::O_NONBLOCK != 0 }
}

/// Opens `file`.
///
/// # Safety
///
/// Called by the VFS for a new file of an inode of rtracefs.
unsafe fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> Result {
    // SAFETY: The VFS passes a file that is being opened, whose flags are set.
    let flags = unsafe { (*file).f_flags };
    let writable = flags & bindings::O_ACCMODE != bindings::O_RDONLY;
    let truncate = writable && flags & bindings::O_TRUNC != 0;
    let reads = flags & bindings::O_ACCMODE != bindings::O_WRONLY;
    // SAFETY: The file pins the inode, whose nodes are of this type.
    let node = unsafe { dir::node_of::<Node>(inode) }.ok_or(ENODEV)?;
    let open = OpenFile::new(node, reads, truncate)?;
    // SAFETY: The file is not in use yet. `release` takes it back.
    unsafe { (*file).private_data = open.into_foreign() };
    Ok(())
}

/// # Safety
///
/// See `open`.
unsafe extern "C" fn open_text(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: The VFS calls this for a new file of an inode of ours.
    from_result(|| unsafe { open(inode, file) }.map(|()| 0))
}

/// # Safety
///
/// See `open`.
unsafe extern "C" fn open_lines(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: By the contract; nobody else uses the file yet.
    from_result(|| unsafe { open(inode, file).map(|()| c::rt_forbid_pwrite(file)) }.map(|()| 0))
}

/// # Safety
///
/// See `open`.
unsafe extern "C" fn open_lines_read(
    inode: *mut bindings::inode,
    file: *mut bindings::file,
) -> c_int {
    // SAFETY: The VFS passes a file that is being opened, whose flags are set.
    match unsafe { (*file).f_flags } & bindings::O_ACCMODE {
        // SAFETY: Called with what the VFS passed to this function.
        bindings::O_WRONLY => unsafe { open_text(inode, file) },
        // SAFETY: Called with what the VFS passed to this function.
        _ => unsafe { open_lines(inode, file) },
    }
}

/// # Safety
///
/// See `open`.
unsafe extern "C" fn open_stream(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: By the contract. nonseekable_open() only clears mode bits and cannot fail.
    from_result(|| unsafe { open(inode, file).map(|()| bindings::nonseekable_open(inode, file)) })
}

/// # Safety
///
/// See `open`.
unsafe extern "C" fn open_sink(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: By the contract. stream_open() only changes mode bits and cannot fail.
    from_result(|| unsafe { open(inode, file).map(|()| bindings::stream_open(inode, file)) })
}

/// # Safety
///
/// Called by the VFS once, for the last reference to a file of ours.
unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: Set by `open`, and nobody uses the file any more.
    let open = unsafe { Pin::<KBox<OpenFile>>::from_foreign((*file).private_data) };
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
        // SAFETY: The VFS passes an operation on a file that one of the `open_*` opened.
        let open = unsafe { open_file((*kiocb).ki_filp) };
        // SAFETY: The VFS passes an iterator to be written to, and nobody else uses it.
        let out = unsafe { IovIterDest::from_raw(iter) };
        // SAFETY: The kiocb is ours during the call.
        let (file, pos) = unsafe { ((*kiocb).ki_filp, &mut (*kiocb).ki_pos) };
        // SAFETY: The file stays open during the call.
        let bytes = open.read(out, pos, || unsafe { nonblocking(file) })?;
        Ok(bytes as isize)
    })
}

/// # Safety
///
/// Called by the VFS for a file of ours that was opened for writing. `pos` is null for a sink.
unsafe extern "C" fn write(
    file: *mut bindings::file,
    buffer: *const u8,
    len: usize,
    pos: *mut i64,
) -> isize {
    from_result(|| {
        // SAFETY: The VFS passes a file that one of the `open_*` opened.
        let open = unsafe { open_file(file) };
        let mut unused = 0;
        // SAFETY: It is null or valid during the call.
        let pos = unsafe { pos.as_mut() }.unwrap_or(&mut unused);
        let user = UserPtr::from_ptr(buffer.cast_mut().cast());
        let mut input = UserSlice::new(user, len).reader();
        let used = open.write(&mut input, pos)?;
        Ok(used.min(len) as isize)
    })
}

/// # Safety
///
/// Called by the VFS for an open file of ours. `table` is null or valid.
unsafe extern "C" fn poll(
    file: *mut bindings::file,
    table: *mut bindings::poll_table_struct,
) -> bindings::__poll_t {
    // SAFETY: The VFS passes an open file of ours, and a table that it keeps meanwhile.
    let (open, poller) = unsafe {
        let table = PollTable::from_raw(table);
        (
            open_file(file),
            Poller::new(File::from_raw_file(file), table),
        )
    };
    if open.readable(&poller) {
        bindings::POLLIN | bindings::POLLRDNORM
    } else {
        0
    }
}

/// A descriptor of the file is closed, others may remain. The readers that sleep in the same
/// program would keep the file open behind its back: they end.
///
/// # Safety
///
/// Called by the VFS for an open file of ours.
unsafe extern "C" fn flush(file: *mut bindings::file, owner: bindings::fl_owner_t) -> c_int {
    // SAFETY: The VFS passes a file that one of the `open_*` opened.
    unsafe { open_file(file) }.close(owner as usize);
    0
}

#[kunit_tests(rtrace_fs_file)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_each_kind() {
        for (kind, read, polled) in [
            (Kind::Text, true, false),
            (Kind::Lines, true, false),
            (Kind::LinesRead, true, false),
            (Kind::Stream, true, true),
            (Kind::Raw, true, true),
            (Kind::Sink, false, false),
        ] {
            let operations = kind.operations();
            // Without an owner the module could go while a file is open.
            assert!(!operations.owner.is_null());
            assert!(operations.release.is_some() && operations.open.is_some());
            // splice() of a file with both would not see what read() sees.
            assert!(operations.read.is_none());
            assert_eq!(operations.read_iter.is_some(), read);
            assert_eq!(operations.splice_read.is_some(), read);
            assert_eq!(operations.poll.is_some(), polled);
            assert_eq!(operations.mmap.is_some(), kind == Kind::Raw);
        }
    }
}
