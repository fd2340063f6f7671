// SPDX-License-Identifier: GPL-2.0

//! What a program can do with `user_events_data`, and what it is answered: the same calls in any tree.
//!
//! Names nothing of the suite, so that it runs alone as well, in a kernel that has user events of its own.

use std::ffi::{c_int, c_long, c_ulong, c_void};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub const REGISTER: c_ulong = 0xc008_2a00;
pub const DELETE: c_ulong = 0x4008_2a01;
pub const UNREGISTER: c_ulong = 0x4008_2a02;
pub const PERSIST: u16 = 1;
pub const MULTI: u16 = 2;

/// Longest wait for what happens soon.
const SOON: Duration = Duration::from_secs(20);

extern "C" {
    fn ioctl(file: c_int, command: c_ulong, ...) -> c_int;
    fn write(file: c_int, bytes: *const c_void, len: usize) -> isize;
    fn read(file: c_int, bytes: *mut c_void, len: usize) -> isize;
    fn pwrite(file: c_int, bytes: *const c_void, len: usize, at: i64) -> isize;
    fn writev(file: c_int, parts: *const [usize; 2], count: c_int) -> isize;
    fn lseek(file: c_int, at: i64, whence: c_int) -> i64;
    fn mmap(
        at: *mut c_void,
        len: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, len: usize) -> c_int;
    fn fork() -> c_int;
    fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn execv(path: *const u8, arguments: *const *const u8) -> c_int;
    fn setresuid(real: c_int, effective: c_int, saved: c_int) -> c_int;
}

const PAGE: usize = 4096;

/// Returns a new page; its words are 0.
pub fn page(writable: bool) -> usize {
    let prot = if writable { 3 } else { 1 };
    // SAFETY: New memory at a place of the kernel's choice.
    unsafe { mmap(std::ptr::null_mut(), PAGE, prot, 0x22, -1, 0) as usize }
}

/// Gives pages back: those that the module had made for a test would count as the module's.
pub fn unmap(pages: &[usize]) {
    for page in pages {
        // SAFETY: A page that was made here, of which nothing is kept.
        unsafe { munmap(*page as *mut c_void, PAGE) };
    }
}

/// Returns a word of a page.
pub fn word(address: usize) -> u64 {
    // SAFETY: Of a page that was made here, which stays. The kernel changes it.
    unsafe { (address as *const u64).read_volatile() }
}

/// Returns the result of a call, or its error as a negative number.
fn answer(result: isize) -> i64 {
    match result {
        -1 => -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        result => result as i64,
    }
}

/// The argument by which a program registers, with room for more.
pub fn registration(definition: &[u8], address: usize, bit: u8, size: u8, flags: u16) -> Vec<u8> {
    let mut bytes = 28u32.to_le_bytes().to_vec();
    bytes.extend([bit, size]);
    bytes.extend(flags.to_le_bytes());
    bytes.extend((address as u64).to_le_bytes());
    bytes.extend((definition.as_ptr() as u64).to_le_bytes());
    bytes.extend(0xffff_ffff_u32.to_le_bytes());
    bytes.resize(PAGE + 8, 0);
    bytes
}

/// `user_events_data`, open.
pub struct Data(pub File);

impl Data {
    pub fn open(root: &Path) -> std::io::Result<Self> {
        let path = root.join("user_events_data");
        Ok(Self(OpenOptions::new().read(true).write(true).open(path)?))
    }

    fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub fn command(&self, command: c_ulong, argument: usize) -> i64 {
        // SAFETY: The argument is an address that the kernel checks; it writes one index there, into a vector of
        // the caller's.
        answer(unsafe { ioctl(self.fd(), command, argument) } as isize)
    }

    /// Returns the index or an error.
    pub fn register(&self, definition: &str, address: usize, bit: u8, flags: u16) -> i64 {
        let text = format!("{definition}\0");
        let bytes = registration(text.as_bytes(), address, bit, 4, flags);
        match self.command(REGISTER, bytes.as_ptr() as usize) {
            0 => i64::from(u32::from_le_bytes([
                bytes[24], bytes[25], bytes[26], bytes[27],
            ])),
            error => error,
        }
    }

    pub fn unregister(&self, address: usize, bit: u8) -> i64 {
        let mut bytes = 16u32.to_le_bytes().to_vec();
        bytes.extend([bit, 0, 0, 0]);
        bytes.extend((address as u64).to_le_bytes());
        self.command(UNREGISTER, bytes.as_ptr() as usize)
    }

    pub fn delete(&self, name: &str) -> i64 {
        let text = format!("{name}\0");
        self.command(DELETE, text.as_ptr() as usize)
    }

    /// Writes a record.
    pub fn write(&self, index: i32, payload: &[u8]) -> i64 {
        let bytes = [&index.to_le_bytes()[..], payload].concat();
        self.write_bytes(&bytes)
    }

    fn write_bytes(&self, bytes: &[u8]) -> i64 {
        // SAFETY: The bytes are there.
        answer(unsafe { write(self.fd(), bytes.as_ptr().cast(), bytes.len()) })
    }
}

/// Runs `f` in a child, which ends with what it returns, and returns that.
pub fn in_child(f: impl FnOnce() -> i32) -> i32 {
    // SAFETY: The suite has no thread that could hold a lock which the child needs.
    let child = unsafe { fork() };
    if child == 0 {
        let status = f();
        // SAFETY: Ends the child.
        unsafe { _exit(status) };
    }
    wait(child)
}

/// Makes a child that runs `f`.
pub fn child(f: impl FnOnce() -> i32) -> i32 {
    // SAFETY: As above.
    let child = unsafe { fork() };
    if child == 0 {
        let status = f();
        // SAFETY: Ends the child.
        unsafe { _exit(status) };
    }
    child
}

/// Waits for the end of a child, and returns its status.
pub fn wait(child: c_int) -> i32 {
    let mut status = 0;
    // SAFETY: The status is writable.
    unsafe { waitpid(child, &mut status, 0) };
    status >> 8 & 0xff
}

/// Runs `/bin/true` in place of this program.
pub fn become_true() -> i32 {
    let path = b"/bin/true\0";
    let arguments = [path.as_ptr(), std::ptr::null()];
    // SAFETY: A path and a list, both terminated.
    unsafe { execv(path.as_ptr(), arguments.as_ptr()) };
    99
}

/// Becomes an ordinary user.
pub fn become_user() {
    // SAFETY: Plain numbers.
    unsafe { setresuid(1000, 1000, 1000) };
}

/// Waits until `condition` holds, and returns whether it does.
pub fn soon(mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + SOON;
    while !condition() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// What was done, and what was answered.
struct Transcript {
    root: PathBuf,
    lines: Vec<String>,
}

impl Transcript {
    fn add(&mut self, what: &str, answer: impl std::fmt::Display) {
        self.lines.push(format!("{what}: {answer}"));
    }

    fn get(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file))
            .unwrap_or_else(|error| format!("{:?}", error.raw_os_error()))
    }

    fn set(&self, file: &str, text: &str) -> i64 {
        let file = OpenOptions::new().append(true).open(self.root.join(file));
        let written = file.and_then(|mut file| file.write(text.as_bytes()));
        match written {
            Ok(_) => 0,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(0)),
        }
    }

    fn truncate(&self, file: &str) -> i64 {
        match OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.root.join(file))
        {
            Ok(_) => 0,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(0)),
        }
    }

    fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Adds the definitions of user events.
    fn list(&mut self, what: &str) {
        let text = self.get("dynamic_events");
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("u:")).collect();
        let line = format!("{lines:?}");
        self.add(what, line);
    }

    /// Adds the status; its lines in any order.
    fn status(&mut self, what: &str) {
        let text = self.get("user_events_status");
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        let line = format!("{lines:?}");
        self.add(what, line);
    }

    /// Adds the lines of the trace without task, CPU and time, and empties it.
    fn trace(&mut self, what: &str) {
        let text = self.get("trace");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let shown = lines.map(|line| line.split_once(": ").map_or(line, |(_, shown)| shown));
        let line = format!("{:?}", shown.collect::<Vec<_>>());
        self.add(what, line);
        self.truncate("trace");
    }

    /// Adds the format without its id, and without the number of characters in an array: the kernel does not
    /// initialise it.
    fn format(&mut self, event: &str) {
        let text = self
            .get(&format!("events/{event}/format"))
            .replace("b[3];", "b[];");
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("ID: "))
            .skip(7);
        let line = format!("{:?}", lines.collect::<Vec<_>>());
        self.add(&format!("format of {event}"), line);
    }
}

/// Definitions, right and wrong.
const DEFINITIONS: &[&str] = &[
    "d1",
    "d2 ",
    "d3 ;; ;",
    "d4 u32 b",
    "d4 u32 b;",
    "d4  u32   b",
    "d4 u32 c",
    "d4 u32 b;;",
    "d4",
    "d5 u32 b;u8 c",
    "d5 u32 b; u8 c;",
    "d5 u32 b;\tu8 c",
    "d6  \tu8 b;u64 c",
    "d7 u32",
    "d8 u32  b",
    "d9 u32 b c",
    "e1 u32 b ",
    "e2 long b",
    "e3 u32\tb",
    "e4 unsigned b",
    "e5 unsigned long b",
    "e6 unsigned  int b",
    "e7 char[0] b",
    "e8 char[1025] b",
    "e9 char[1024] b",
    "f1 char[] b",
    "f2 char[0x10] b",
    "f3 char[3]x] b",
    "f4 char[12345678] b",
    "f5 char[1 b",
    "f6 struct x",
    "f7 struct x y",
    "f8 struct x y 0",
    "f9 struct x y z",
    "g1 struct x y 0x10",
    "g2 struct x y 1 2",
    "g3 struct x y +20",
    "g3 struct x y 20",
    "g4 __data_loc b",
    "g5 __data_loc nonsense b",
    "g6 __rel_loc unsigned char[] b",
    "g7 unsigned int a; unsigned short b; unsigned char c; int d; short e; char f",
    "g8:flag u32 a",
    "g9: u32 a",
    ":",
    "h1 s8 a; u8 b; s16 c; u16 d; s32 e; u32 f; s64 g; u64 h",
];

/// Does everything, and returns what was answered.
pub fn transcript(root: &Path) -> Vec<String> {
    let mut t = Transcript {
        root: root.into(),
        lines: Vec::new(),
    };
    let (words, constant) = (page(true), page(false));
    let Ok(data) = Data::open(root) else {
        t.add("open", "refused");
        return t.lines;
    };
    arguments(&mut t, &data, (words, constant));
    t.list("after the arguments");
    drop(data);
    let root_of = t.root.clone();
    let system = move || root_of.join("events/user_events").exists();
    t.add(
        "all go when the file is closed but those with bits",
        soon(|| !system()),
    );
    t.list("after close");
    bits(&mut t);
    records(&mut t);
    lines(&mut t);
    unmap(&[words, constant]);
    t.list("in the end");
    t.lines
}

fn arguments(t: &mut Transcript, data: &Data, (words, constant): (usize, usize)) {
    let name = b"a1 u32 a\0";
    let right = registration(name, words, 0, 4, 0);
    let mut with = |what: &str, at: usize, bytes: &[u8]| {
        let mut wrong = right.clone();
        wrong[at..at + bytes.len()].copy_from_slice(bytes);
        t.add(what, data.command(REGISTER, wrong.as_ptr() as usize));
    };
    with("size 0", 0, &[0, 0]);
    with("size 27", 0, &[27, 0]);
    with("size 4097", 0, &[1, 16]);
    with("flag 4", 6, &[4, 0]);
    with("word of 2", 5, &[2]);
    with("word of 0", 5, &[0]);
    with("bit 32", 4, &[32]);
    with("bit 64 of 8", 4, &[64, 8]);
    with("odd address", 8, &(words as u64 + 2).to_le_bytes());
    with(
        "odd address of 8",
        4,
        &[&[0, 8, 0, 0][..], &(words as u64 + 4).to_le_bytes()].concat(),
    );
    with(
        "address of the kernel",
        8,
        &0xffff_8880_0000_0000_u64.to_le_bytes(),
    );
    with("address 0", 8, &0u64.to_le_bytes());
    with("constant", 8, &(constant as u64).to_le_bytes());
    with("no name", 16, &0u64.to_le_bytes());
    with(
        "name in the kernel",
        16,
        &0xffff_8880_0000_0000_u64.to_le_bytes(),
    );
    t.add("null", data.command(REGISTER, 0));
    t.add("unknown command", data.command(0x2a03, 0));
    let mut long = registration(name, words, 1, 4, 0);
    long[0] = 40;
    t.add("size 40", data.command(REGISTER, long.as_ptr() as usize));
    long[39] = 1;
    long[4] = 2;
    t.add(
        "size 40, not 0",
        data.command(REGISTER, long.as_ptr() as usize),
    );
    t.add("the same bit", data.register("a1 u32 a", words, 1, 0));
    t.add("another bit", data.register("a1 u32 a", words, 2, 0));
    t.add("another event", data.register("a2 u32 a", words + 4, 2, 0));
    t.add("other fields", data.register("a1 u64 a", words, 3, 0));
    for len in [254, 511, 512] {
        let text = format!("l {}", "u8 a;".repeat(200));
        t.add(
            &format!("a text of {len}"),
            data.register(&text[..len], words, 3, 0),
        );
        t.add("unregister it", data.unregister(words, 3));
    }
    for definition in DEFINITIONS {
        t.add(definition, data.register(definition, words + 8, 0, 0));
        t.add("  unregister it", data.unregister(words + 8, 0));
    }
    for event in ["d1", "d5", "f3", "g3", "g5", "g6", "g7", "h1"] {
        t.format(&format!("user_events/{event}"));
    }
    let mut bytes = 16u32.to_le_bytes().to_vec();
    bytes.extend([0, 1, 0, 0]);
    bytes.extend((words as u64).to_le_bytes());
    t.add(
        "unregister with a field",
        data.command(UNREGISTER, bytes.as_ptr() as usize),
    );
    bytes[0] = 15;
    bytes[5] = 0;
    t.add(
        "unregister of size 15",
        data.command(UNREGISTER, bytes.as_ptr() as usize),
    );
    t.add("unregister null", data.command(UNREGISTER, 0));
    t.add("unregister nothing", data.unregister(words, 9));
    t.add("delete null", data.command(DELETE, 0));
    t.add("delete nothing", data.delete("nothing"));
    t.add("delete what is in use", data.delete("a1"));
    t.add("unregister", data.unregister(words, 1));
    t.add("unregister", data.unregister(words, 2));
    t.add("unregister", data.unregister(words + 4, 2));
}

fn bits(t: &mut Transcript) {
    let words = page(true);
    let Ok(data) = Data::open(&t.root) else {
        return;
    };
    t.add("register", data.register("b1 u32 a", words, 3, 0));
    t.add(
        "in the upper half",
        data.register("b1 u32 a", words + 4, 3, 0),
    );
    t.add("another", data.register("b2 u32 a", words + 8, 31, 0));
    t.status("status");
    t.add("enable", t.set("events/user_events/b1/enable", "1"));
    t.add("words", format!("{:x} {:x}", word(words), word(words + 8)));
    t.add(
        "registered while enabled",
        data.register("b1", words + 16, 0, 0),
    );
    t.add(
        "registered while enabled",
        data.register("b1 u32 a", words + 16, 0, 0),
    );
    t.add("words", format!("{:x}", word(words + 16)));
    t.status("status");
    t.add("delete", data.delete("b1"));
    t.add("unregister", data.unregister(words + 16, 0));
    t.add("words", format!("{:x}", word(words + 16)));
    let root = t.root.clone();
    let enable = |on: &str| {
        let _ = fs::write(root.join("events/user_events/b1/enable"), on);
    };
    let copy = child(|| {
        let off = soon(|| word(words) == 0);
        i32::from(off) + 2 * i32::from(word(words) == 0)
    });
    enable("0");
    t.add("a copy sees it", wait(copy));
    t.add("words", format!("{:x} {:x}", word(words), word(words + 8)));
    enable("1");
    t.add("words", format!("{:x} {:x}", word(words), word(words + 8)));
    let status = in_child(|| {
        data.unregister(words, 3);
        i32::from(word(words) & 8 == 0)
    });
    t.add("a copy unregisters", status);
    t.add("words", format!("{:x} {:x}", word(words), word(words + 8)));
    enable("0");
    t.add("unregister", data.unregister(words, 3));
    t.add("unregister", data.unregister(words + 4, 3));
    t.add("unregister", data.unregister(words + 8, 31));
    drop(data);
    let root = t.root.clone();
    t.add(
        "all are gone",
        soon(|| !root.join("events/user_events").exists()),
    );
    for (what, ends) in [("exit", false), ("exec", true)] {
        let status = in_child(|| {
            let Ok(data) = Data::open(&root) else {
                return 1;
            };
            let index = data.register("c1 u32 a", words, 0, 0);
            drop(data);
            match (index, ends) {
                (0, true) => become_true(),
                (index, _) => index as i32,
            }
        });
        t.add(what, status);
        t.add(
            "it is gone",
            soon(|| !root.join("events/user_events").exists()),
        );
    }
    unmap(&[words]);
}

fn records(t: &mut Transcript) {
    let words = page(true);
    let Ok(data) = Data::open(&t.root) else {
        return;
    };
    let text = "r2 __data_loc char[] s; __rel_loc char[] r; __data_loc u8[] b";
    for (bit, definition) in [
        "r1 u32 a; u8 b",
        text,
        "r3",
        "r4 char[4] s; struct x y 3; s16 z; u64 k",
    ]
    .into_iter()
    .enumerate()
    {
        t.add(definition, data.register(definition, words, bit as u8, 0));
    }
    t.add("not enabled", data.write(0, &[1, 0, 0, 0, 2]));
    t.add("not enabled and short", data.write(0, &[1, 0, 0, 0]));
    t.add("no index", data.write_bytes(&[0, 0, 0]));
    t.add("nothing", data.write_bytes(&[]));
    t.add("index -1", data.write(-1, &[1, 0, 0, 0, 2]));
    t.add("index 4", data.write(4, &[1, 0, 0, 0, 2]));
    t.add("enable", t.set("events/user_events/enable", "1"));
    t.add("word", format!("{:x}", word(words)));
    t.truncate("trace");
    t.add("right", data.write(0, &[1, 0, 0, 0, b'x']));
    t.add(
        "longer",
        data.write(0, &[0xff, 0xff, 0xff, 0xff, 3, 9, 9, 9]),
    );
    t.add("short", data.write(0, &[1, 0, 0, 0]));
    t.add("without fields", data.write(2, &[]));
    t.add("without fields, longer", data.write(2, &[7; 9]));
    t.add("long", data.write(2, &[7; 3000]));
    t.add("too long", data.write(2, &[7; 5000]));
    t.trace("trace");
    let place = |at: u16, len: u16| [at.to_le_bytes(), len.to_le_bytes()].concat();
    let dynamic = |s: (u16, u16), r: (u16, u16), b: (u16, u16), rest: &[u8]| {
        [
            &place(s.0, s.1)[..],
            &place(r.0, r.1),
            &place(b.0, b.1),
            rest,
        ]
        .concat()
    };
    for (what, s, r, b) in [
        ("strings", (20, 3), (7, 3), (20, 6)),
        ("empty strings", (22, 1), (6, 1), (0, 0)),
        ("no strings", (23, 0), (7, 0), (0, 0)),
        ("without NUL", (20, 2), (7, 3), (0, 0)),
        ("without NUL, relative", (20, 3), (7, 2), (0, 0)),
        ("beyond the end", (20, 7), (7, 3), (0, 0)),
        ("beyond the end, relative", (20, 3), (4, 7), (0, 0)),
        ("bytes beyond the end", (20, 3), (7, 3), (20, 7)),
        ("far beyond", (0xffff, 0xffff), (7, 3), (0, 0)),
    ] {
        t.add(what, data.write(1, &dynamic(s, r, b, b"ab\0cd\0")));
    }
    t.add(
        "fixed",
        data.write(3, b"abcdxyz\x02\x01\x01\x02\x03\x04\x05\x06\x07\x08"),
    );
    t.trace("trace");
    let index = 0i32.to_le_bytes();
    let payload = [5, 0, 0, 0, 6];
    let parts = [[index.as_ptr() as usize, 4], [payload.as_ptr() as usize, 5]];
    let bytes = [&index[..], &payload].concat();
    // SAFETY: All bytes are there.
    let result = unsafe { writev(data.fd(), parts.as_ptr(), 2) };
    t.add("writev", answer(result));
    // SAFETY: As above.
    let result = unsafe { pwrite(data.fd(), bytes.as_ptr().cast(), 9, 0) };
    t.add("pwrite", answer(result));
    // SAFETY: As above.
    let result = unsafe { pwrite(data.fd(), bytes.as_ptr().cast(), 9, 1) };
    t.add("pwrite at 1", answer(result));
    // SAFETY: Plain numbers.
    t.add("lseek", answer(unsafe { lseek(data.fd(), 0, 0) } as isize));
    let mut room = [0u8; 8];
    // SAFETY: As many bytes are there.
    let result = unsafe { read(data.fd(), room.as_mut_ptr().cast(), 8) };
    t.add("read", answer(result));
    let broken = [[index.as_ptr() as usize, 4], [8, 5]];
    // SAFETY: The kernel checks addresses.
    let result = unsafe { writev(data.fd(), broken.as_ptr(), 2) };
    t.add("bytes that are not there", answer(result));
    let other = Data::open(&t.root).map(|other| other.write(0, &payload));
    t.add("another file", other.unwrap_or(-1));
    t.trace("trace");
    t.add(
        "filter",
        t.set("events/user_events/r1/filter", "a > 3 && b == 7"),
    );
    for b in [6, 7] {
        t.add("write", data.write(0, &[9, 0, 0, 0, b]));
    }
    t.add("no filter", t.set("events/user_events/r1/filter", "0"));
    t.trace("trace");
    t.add(
        "hist",
        t.set("events/user_events/r1/trigger", "hist:keys=a:vals=b"),
    );
    t.add("off", t.set("events/user_events/enable", "0"));
    t.add("word", format!("{:x}", word(words)));
    t.add("write", data.write(0, &[9, 0, 0, 0, 5]));
    t.add("write what is off", data.write(2, &[]));
    let hist = t.get("events/user_events/r1/hist");
    let hist = hist
        .lines()
        .filter(|line| line.starts_with('{') || line.starts_with("    "))
        .collect::<Vec<_>>();
    t.add("hist", format!("{hist:?}"));
    t.trace("trace");
    t.add(
        "no hist",
        t.set("events/user_events/r1/trigger", "!hist:keys=a:vals=b"),
    );
    t.add("word", format!("{:x}", word(words)));
    t.add(
        "close and unregister",
        (0..4).map(|bit| data.unregister(words, bit)).sum::<i64>(),
    );
    unmap(&[words]);
}

fn lines(t: &mut Transcript) {
    let root = t.root.clone();
    t.add(
        "all are gone",
        soon(|| !root.join("events/user_events").exists()),
    );
    for line in [
        "u:p1 u32 a",
        "u:p1 u32 a",
        "u:p1 u64 a",
        "u: p2 u32 a;u8 b",
        "u:p3",
        "u:p4:flag",
        "u:p5 nonsense",
        "-:p1",
        "-:p1 u64 a",
        "-:user_events/p1 u32 a",
        "-:p3",
        "!u:p2 u32 a; u8 b",
        "-:p2 u32 a",
        "u:p6 char[4] s",
        "-:other/p6 char[4] s",
        "# u:p7",
        "u:p8 u32 a # a comment",
    ] {
        t.add(line, t.set("dynamic_events", line));
    }
    t.list("lines");
    t.status("status");
    let words = page(true);
    let Ok(data) = Data::open(&root) else { return };
    t.add(
        "register what persists",
        data.register("p6 char[4] s", words, 0, 0),
    );
    t.add("all while it is in use", t.truncate("dynamic_events"));
    t.add(
        "a line while it is in use",
        t.set("dynamic_events", "-:p6 char[4] s"),
    );
    t.add("delete", data.delete("p6"));
    t.add("persistent", data.register("p9 u32 a", words, 1, PERSIST));
    t.add(
        "several formats",
        data.register("m1 u32 a", words, 2, MULTI),
    );
    t.add(
        "several formats",
        data.register("m1 u64 a", words, 3, MULTI),
    );
    t.add(
        "several formats",
        data.register("m1 u32 a", words, 4, MULTI),
    );
    t.add(
        "one format of that name",
        data.register("m1 u32 a", words, 5, 0),
    );
    let mut names: Vec<_> = fs::read_dir(root.join("events/user_events_multi"))
        .map(|names| {
            names
                .flatten()
                .map(|name| name.file_name().to_string_lossy().into_owned())
                .collect()
        })
        .unwrap_or_default();
    names.retain(|name| name.starts_with('m'));
    names.sort_unstable();
    let first = names
        .first()
        .and_then(|name| u64::from_str_radix(name.strip_prefix("m1.")?, 16).ok());
    t.add("names of several", names.len());
    t.add("they are numbers", first.is_some());
    t.list("lines");
    let denied = in_child(|| {
        become_user();
        let bytes = registration(b"n1 u32 a\0", words, 6, 4, PERSIST);
        let first = data.command(REGISTER, bytes.as_ptr() as usize);
        let second = data.register("n2 u32 a", words, 7, 0);
        i32::from(first == -1) + 2 * i32::from(second >= 0)
    });
    t.add("a user's", denied);
    t.add(
        "unregister",
        (0..6).map(|bit| data.unregister(words, bit)).sum::<i64>(),
    );
    drop(data);
    t.add(
        "several are gone",
        soon(|| !root.join("events/user_events_multi").exists()),
    );
    t.list("lines that stay");
    let Ok(data) = Data::open(&root) else { return };
    t.add("delete", data.delete("p9"));
    t.add("all", t.truncate("dynamic_events"));
    t.add("none is left", !t.has("events/user_events"));
    unmap(&[words]);
}

/// Longs of the kernel and of Rust are the same here.
const _: () = assert!(size_of::<c_long>() == 8);
