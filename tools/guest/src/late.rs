// SPDX-License-Identifier: GPL-2.0

//! A file whose bytes do not come until this process says so: a FUSE file system of its own, which is that file alone.
//! A task that touches its memory waits in the file system, whatever the flags of its fault.

use crate::check::Check;
use crate::maps::PAGE;
use crate::sys;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

const PLACE: &str = "/tmp/rtg-late";

const SYS_MMAP: usize = 9;
const SYS_MADVISE: usize = 28;
const READ_WRITE: usize = 3;
const SHARED_THERE: usize = 0x11;
const MADV_RANDOM: usize = 1;
const MNT_FORCE: i32 = 1;

const ENOENT: i32 = 2;
const ENOSYS: i32 = 38;

/// The requests of `linux/fuse.h` that are answered, and those that get no answer.
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const RELEASE: u32 = 18;
const INIT: u32 = 26;
const DESTROY: u32 = 38;
const UNANSWERED: [u32; 3] = [2, 36, 42];

/// The version that is spoken, without readahead and with no flag.
const VERSION: [u32; 2] = [7, 31];
const HEADER: usize = 40;
/// Where the numbers of bytes of reads and writes are, after the header, a handle and an offset.
const COUNT: usize = HEADER + 16;

/// What reads are answered.
#[derive(Default)]
struct Reads {
    come: bool,
    /// Those that wait, with their numbers of bytes.
    waiting: Vec<(u64, usize)>,
}

/// The file.
pub struct LateFile {
    device: Arc<File>,
    reads: Arc<Mutex<Reads>>,
    server: Option<JoinHandle<()>>,
}

fn lock(reads: &Mutex<Reads>) -> MutexGuard<'_, Reads> {
    reads.lock().unwrap_or_else(PoisonError::into_inner)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Answers the request `number`. One that was given up meanwhile takes no answer.
fn answer(mut device: &File, number: u64, error: i32, bytes: &[u8]) {
    let mut message = words(&[(16 + bytes.len()) as u32, -error as u32]);
    message.extend(number.to_le_bytes());
    message.extend(bytes);
    let _ = device.write_all(&message);
}

/// Answers one request.
fn obey(device: &File, reads: &Mutex<Reads>, request: &[u8]) {
    let word = |at: usize| {
        let bytes = request
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok());
        u32::from_le_bytes(bytes.unwrap_or_default())
    };
    let (kind, number) = (word(4), u64::from(word(8)) | u64::from(word(12)) << 32);
    let bytes = match kind {
        INIT => {
            let mut out = words(&VERSION);
            out.extend(words(&[0, 0, 16 | 12 << 16, PAGE as u32, 1]));
            out.resize(64, 0);
            out
        }
        GETATTR => {
            // For how long it is so, then the attributes: number, size, blocks.
            let mut out: Vec<u8> = [3600, 0, 1, PAGE as u64, 8]
                .iter()
                .flat_map(|word: &u64| word.to_le_bytes())
                .collect();
            // Three times; their nanoseconds, the mode and the number of links.
            out.resize(out.len() + 24, 0);
            out.extend(words(&[0, 0, 0, 0o100644, 1]));
            out.resize(104, 0);
            out
        }
        OPEN => vec![0; 16],
        READ => {
            let (mut reads, len) = (lock(reads), word(COUNT) as usize);
            if !reads.come {
                reads.waiting.push((number, len));
                return;
            }
            vec![0; len]
        }
        WRITE => words(&[word(COUNT), 0]),
        RELEASE | DESTROY => Vec::new(),
        kind if UNANSWERED.contains(&kind) => return,
        _ => return answer(device, number, ENOSYS, &[]),
    };
    answer(device, number, 0, &bytes);
}

/// Answers requests until the file system is gone.
fn serve(mut device: &File, reads: &Mutex<Reads>) {
    let mut request = vec![0; 1 << 16];
    loop {
        match device.read(&mut request) {
            Ok(len) => obey(device, reads, &request[..len]),
            // It was given up before it was read.
            Err(e) if e.kind() == ErrorKind::Interrupted || e.raw_os_error() == Some(ENOENT) => {}
            Err(_) => return,
        }
    }
}

impl LateFile {
    /// Makes one. A task that opens it waits until it is served.
    pub fn new() -> Check<Self> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let Ok(device) = device else {
            skip!("this kernel has no FUSE");
        };
        fs::write(PLACE, "").map_err(|e| format!("{PLACE}: {e}"))?;
        let options = format!(
            "fd={},rootmode=100644,user_id=0,group_id=0",
            device.as_raw_fd()
        );
        sys::mount_fs("fuse", Path::new(PLACE), 0, &options).map_err(|e| format!("mount: {e}"))?;
        Ok(Self {
            device: Arc::new(device),
            reads: Arc::default(),
            server: None,
        })
    }

    /// Has it served, by a thread: programs that are copies of this one were made before.
    pub fn serve(&mut self) {
        let (device, reads) = (self.device.clone(), self.reads.clone());
        self.server = Some(thread::spawn(move || serve(&device, &reads)));
    }

    /// Has its one page be the memory at `address`, in place of a page that was there. Nothing is read.
    pub fn map(address: usize) -> Check {
        let file = OpenOptions::new().read(true).write(true).open(PLACE);
        let file = file.map_err(|e| format!("open: {e}"))?;
        // The kernel learns its size.
        let len = file.metadata().map_err(|e| format!("metadata: {e}"))?.len();
        ensure_eq!(len, PAGE as u64, "bytes of the file");
        let fd = file.as_raw_fd() as usize;
        let place = sys::call(SYS_MMAP, [address, PAGE, READ_WRITE, SHARED_THERE, fd, 0]);
        ensure_eq!(place as usize, address, "mmap");
        // Without readahead, which may begin to read and not wait.
        let advised = sys::call(SYS_MADVISE, [address, PAGE, MADV_RANDOM, 0, 0, 0]);
        ensure_eq!(advised, 0, "madvise");
        Ok(())
    }

    /// Returns whether a task waits for the bytes.
    pub fn is_awaited(&self) -> bool {
        !lock(&self.reads).waiting.is_empty()
    }

    /// Has the bytes there, which are 0.
    pub fn bring(&self) {
        let mut reads = lock(&self.reads);
        reads.come = true;
        for (number, len) in reads.waiting.drain(..) {
            answer(&self.device, number, 0, &vec![0; len]);
        }
    }
}

impl Drop for LateFile {
    fn drop(&mut self) {
        // A task that still waits goes on, and the server ends.
        let _ = sys::umount(Path::new(PLACE), MNT_FORCE | sys::MNT_DETACH);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
        let _ = fs::remove_file(PLACE);
    }
}
