// SPDX-License-Identifier: GPL-2.0

//! The system calls that the standard library does not offer.
//!
//! The few C library functions used are declared here, so that the suite needs
//! no package at all. Constants are those of x86-64.

use crate::errno::{Errno, Op};
use std::ffi::{c_char, c_int, c_long, c_ulong, c_void, CString};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

pub const O_NONBLOCK: i32 = 0o4000;
pub const O_TRUNC: i32 = 0o1000;
const O_CLOEXEC: i32 = 0o2000000;
pub const O_PATH: i32 = 0o10000000;

pub const MS_REMOUNT: c_ulong = 32;
pub const MNT_DETACH: c_int = 2;

pub const POLLIN: i16 = 1;
pub const POLLPRI: i16 = 2;

const PRIO_PROCESS: c_int = 0;
const EPOLL_CTL_ADD: c_int = 1;

const SYS_READ: c_long = 0;
const SYS_WRITE: c_long = 1;
const SYS_DELETE_MODULE: c_long = 176;
const SYS_GETTID: c_long = 186;
const SYS_GETDENTS64: c_long = 217;
const SYS_TGKILL: c_long = 234;
const SYS_FINIT_MODULE: c_long = 313;

const CLOCK_MONOTONIC: c_int = 1;
const SIGKILL: c_int = 9;
const SIGUSR1: c_int = 10;

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: i16,
    revents: i16,
}

/// The kernel's layout on x86-64 has no gap.
#[repr(C, packed)]
struct EpollEvent {
    events: u32,
    data: u64,
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn mount(
        source: *const c_char,
        target: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_void,
    ) -> c_int;
    fn umount2(target: *const c_char, flags: c_int) -> c_int;
    fn poll(fds: *mut PollFd, count: c_ulong, timeout: c_int) -> c_int;
    fn setpriority(which: c_int, who: u32, value: c_int) -> c_int;
    fn epoll_create1(flags: c_int) -> c_int;
    fn epoll_ctl(epoll: c_int, op: c_int, fd: c_int, event: *mut EpollEvent) -> c_int;
    fn epoll_wait(epoll: c_int, events: *mut EpollEvent, most: c_int, timeout: c_int) -> c_int;
    fn sched_setaffinity(pid: c_int, size: usize, mask: *const u64) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn siginterrupt(number: c_int, interrupts: c_int) -> c_int;
    fn getpid() -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn pipe2(fds: *mut c_int, flags: c_int) -> c_int;
    fn mkfifo(path: *const c_char, mode: u32) -> c_int;
}

fn last() -> Errno {
    std::io::Error::last_os_error().into()
}

fn check(result: c_long) -> Op<usize> {
    usize::try_from(result).map_err(|_| last())
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("paths of the suite have no NUL")
}

/// One entry of a folder, as the kernel gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirent {
    pub inode: u64,
    /// Where to seek to for the next one.
    pub next: i64,
    pub kind: u8,
    pub name: String,
}

/// Reads entries of a folder into a buffer of `room` bytes; none at its end.
pub fn getdents(folder: &impl AsRawFd, room: usize) -> Op<Vec<Dirent>> {
    let mut buffer = vec![0u8; room];
    // SAFETY: The buffer has that size.
    let got = check(unsafe {
        syscall(
            SYS_GETDENTS64,
            folder.as_raw_fd(),
            buffer.as_mut_ptr(),
            room,
        )
    })?;
    let mut entries = Vec::new();
    let mut rest = &buffer[..got];
    // inode, next, length of the entry, kind, name with a NUL.
    while rest.len() > 19 {
        let number = |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().expect("8 bytes"));
        let length = usize::from(u16::from_le_bytes([rest[16], rest[17]]));
        let name = rest[19..length]
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default();
        entries.push(Dirent {
            inode: number(0),
            next: number(8) as i64,
            kind: rest[18],
            name: String::from_utf8_lossy(name).into_owned(),
        });
        rest = &rest[length..];
    }
    Ok(entries)
}

/// Mounts a file system of type `kind` on `target`.
pub fn mount_fs(kind: &str, target: &Path, flags: c_ulong, data: &str) -> Op {
    let (target, data) = (c_path(target), c_path(Path::new(data)));
    let kind = c_path(Path::new(kind));
    // SAFETY: All pointers are to NUL-terminated strings that live until the call returns.
    let result = unsafe {
        mount(
            kind.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    };
    check(result.into()).map(drop)
}

/// Mounts a folder at a second place.
pub fn bind(folder: &Path, target: &Path) -> Op {
    const MS_BIND: c_ulong = 4096;
    let (folder, target) = (c_path(folder), c_path(target));
    let nothing = std::ptr::null();
    // SAFETY: Both paths are NUL-terminated strings that live until the call returns; a bind mount takes
    // neither type nor data.
    let result = unsafe {
        mount(
            folder.as_ptr(),
            target.as_ptr(),
            nothing,
            MS_BIND,
            nothing.cast(),
        )
    };
    check(result.into()).map(drop)
}

/// Takes the top mount off `target`.
pub fn umount(target: &Path, flags: c_int) -> Op {
    let target = c_path(target);
    // SAFETY: The pointer is to a NUL-terminated string that lives until the call returns.
    check(unsafe { umount2(target.as_ptr(), flags) }.into()).map(drop)
}

/// Tries to make a fifo, which no trace file system allows.
pub fn make_fifo(path: &Path) -> Op {
    let path = c_path(path);
    // SAFETY: The pointer is to a NUL-terminated string that lives until the call returns.
    check(unsafe { mkfifo(path.as_ptr(), 0o600) }.into()).map(drop)
}

/// Waits until `file` is readable; returns the events that poll reports, 0 after `timeout`.
pub fn poll_in(file: &impl AsRawFd, timeout: Duration) -> Op<i16> {
    poll_for(file, POLLIN, timeout)
}

/// Waits until one of `events` is there for `file`; returns the events that poll reports, 0 after `timeout`.
pub fn poll_for(file: &impl AsRawFd, events: i16, timeout: Duration) -> Op<i16> {
    let mut entry = PollFd {
        fd: file.as_raw_fd(),
        events,
        revents: 0,
    };
    let timeout = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
    // SAFETY: `entry` is one valid pollfd, which the call may write.
    check(unsafe { poll(&mut entry, 1, timeout) }.into())?;
    Ok(entry.revents)
}

/// An epoll descriptor that watches whether `file` is readable.
pub fn epoll_of(file: &impl AsRawFd) -> Op<File> {
    // SAFETY: A plain number.
    let epoll = check(unsafe { epoll_create1(O_CLOEXEC) }.into())? as c_int;
    // SAFETY: The descriptor was made just now and has no other owner.
    let epoll = unsafe { File::from_raw_fd(epoll) };
    let mut event = EpollEvent {
        events: POLLIN as u32,
        data: 0,
    };
    // SAFETY: `event` is a valid epoll_event, which the call reads.
    let result = unsafe {
        epoll_ctl(
            epoll.as_raw_fd(),
            EPOLL_CTL_ADD,
            file.as_raw_fd(),
            &mut event,
        )
    };
    check(result.into())?;
    Ok(epoll)
}

/// Waits as [`poll_in`] does, in epoll_wait.
pub fn epoll_in(epoll: &File, timeout: Duration) -> Op<i16> {
    let mut event = EpollEvent { events: 0, data: 0 };
    let timeout = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
    // SAFETY: `event` is one valid epoll_event, which the call may write.
    check(unsafe { epoll_wait(epoll.as_raw_fd(), &mut event, 1, timeout) }.into())?;
    Ok(event.events as i16)
}

/// A pipe: what is written into the second comes out of the first.
pub fn pipe() -> Op<(File, File)> {
    let mut fds = [0; 2];
    // SAFETY: The call writes two descriptors, for which there is room.
    check(unsafe { pipe2(fds.as_mut_ptr(), O_CLOEXEC) }.into())?;
    // SAFETY: Both descriptors were made just now and have no other owner.
    Ok(unsafe { (File::from_raw_fd(fds[0]), File::from_raw_fd(fds[1])) })
}

/// Keeps the calling thread on one CPU.
pub fn pin_to(cpu: usize) {
    pin_task_to(0, cpu);
}

/// The same for a task; 0 is the calling thread.
pub fn pin_task_to(task: u32, cpu: usize) {
    assert!(move_task_to(task, cpu), "cannot run on cpu {cpu}");
}

/// Has a task go to a CPU. Returns whether it does.
pub fn move_task_to(task: u32, cpu: usize) -> bool {
    let mask = [1u64 << cpu, 0];
    let size = std::mem::size_of_val(&mask);
    // SAFETY: The mask is 16 readable bytes, as the size says.
    unsafe { sched_setaffinity(task as c_int, size, mask.as_ptr()) == 0 }
}

/// The CPU that the caller runs on.
pub fn current_cpu() -> u32 {
    let mut cpu = 0u32;
    call(309, [&raw mut cpu as usize, 0, 0, 0, 0, 0]);
    cpu
}

/// The tracers that only some kernels have themselves.
pub const LATENCY_TRACERS: [&str; 11] = [
    "hwlat",
    "osnoise",
    "timerlat",
    "wakeup",
    "wakeup_rt",
    "wakeup_dl",
    "irqsoff",
    "preemptoff",
    "preemptirqsoff",
    OWN_TRACERS[0],
    OWN_TRACERS[1],
];

/// The tracers that no kernel has itself.
pub const OWN_TRACERS: [&str; 2] = ["irqsoff_sampled", "preemptoff_sampled"];

/// How much of a CPU the calling thread asks for, from -20, most, to 19.
pub fn set_nice(value: i32) {
    // SAFETY: Plain numbers.
    let result = unsafe { setpriority(PRIO_PROCESS, 0, value) };
    assert_eq!(result, 0, "cannot have nice {value}");
}

/// An inotify that is told of changes of the file at `path`.
pub fn watch(path: &Path) -> Op<File> {
    const INOTIFY_INIT1: usize = 294;
    const INOTIFY_ADD_WATCH: usize = 254;
    const IN_MODIFY: usize = 2;
    let answer = |result: isize| usize::try_from(result).map_err(|_| Errno(-result as i32));
    let made = answer(call(INOTIFY_INIT1, [O_CLOEXEC as usize, 0, 0, 0, 0, 0]))?;
    // SAFETY: The descriptor was made just now and has no other owner.
    let inotify = unsafe { File::from_raw_fd(made as c_int) };
    let path = c_path(path);
    let args = [made, path.as_ptr() as usize, IN_MODIFY, 0, 0, 0];
    answer(call(INOTIFY_ADD_WATCH, args))?;
    Ok(inotify)
}

/// Has the calling thread run by SCHED_FIFO with this priority.
pub fn set_fifo(priority: u32) {
    const SCHED_SETSCHEDULER: usize = 144;
    const SCHED_FIFO: usize = 1;
    let result = call(
        SCHED_SETSCHEDULER,
        [0, SCHED_FIFO, &raw const priority as usize, 0, 0, 0],
    );
    assert_eq!(result, 0, "cannot be of real time");
}

/// Reads into an address that is not mapped.
pub fn read_to_nowhere(file: &impl AsRawFd, len: usize) -> Op<usize> {
    // SAFETY: The kernel checks the address; page 0 is not mapped, so nothing is written.
    check(unsafe { syscall(SYS_READ, file.as_raw_fd(), 8usize, len) })
}

/// Writes from an address that is not mapped.
pub fn write_from_nowhere(file: &impl AsRawFd, len: usize) -> Op<usize> {
    // SAFETY: The kernel checks the address; page 0 is not mapped, so nothing is read.
    check(unsafe { syscall(SYS_WRITE, file.as_raw_fd(), 8usize, len) })
}

/// Loads a module from an open file.
pub fn finit_module(file: &impl AsRawFd, parameters: &str) -> Op {
    let parameters = c_path(Path::new(parameters));
    // SAFETY: The parameters are a NUL-terminated string that lives until the call returns.
    check(unsafe { syscall(SYS_FINIT_MODULE, file.as_raw_fd(), parameters.as_ptr(), 0) }).map(drop)
}

/// Unloads a module unless it is in use (EAGAIN).
pub fn delete_module(name: &str) -> Op {
    let name = c_path(Path::new(name));
    // SAFETY: The name is a NUL-terminated string that lives until the call returns.
    check(unsafe { syscall(SYS_DELETE_MODULE, name.as_ptr(), O_NONBLOCK) }).map(drop)
}

/// Any system call, whose result is what the kernel returned: the tests that use it pass numbers,
/// or addresses that the kernel may only read.
pub fn call(number: usize, args: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = args;
    let result: isize;
    // SAFETY: By the callers, see above; the kernel checks addresses.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        )
    };
    result
}

/// The same, whose result is that or the kernel's error.
pub fn checked(number: usize, args: [usize; 6]) -> Op<usize> {
    match call(number, args) {
        error @ -4095..0 => Err(Errno(-error as i32)),
        result => Ok(result as usize),
    }
}

/// A system call without arguments by the interface of 32-bit programs.
pub fn call_32(number: u32) -> i32 {
    let result: i32;
    // SAFETY: The callers choose calls that only return a number.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inlateout("eax") number => result,
            lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
            options(nostack),
        )
    };
    result
}

/// The calling thread's id.
pub fn thread_id() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { syscall(SYS_GETTID) as u32 }
}

/// Makes SIGUSR1 interrupt system calls of this process instead of ending it.
pub fn interruptible_by_signal() {
    extern "C" fn ignore(_: c_int) {}
    // SAFETY: The handler does nothing, so it is safe at any instant.
    unsafe {
        signal(SIGUSR1, ignore);
        siginterrupt(SIGUSR1, 1);
    }
}

/// Sends SIGUSR1 to one thread of this process.
pub fn interrupt_thread(thread: u32) {
    // SAFETY: Plain numbers; a thread that has ended gives an error, which does not matter.
    unsafe { syscall(SYS_TGKILL, getpid(), thread, SIGUSR1) };
}

/// Kills every process of a group.
pub fn kill_group(group: u32) {
    let Ok(group) = c_int::try_from(group) else {
        return;
    };
    // SAFETY: Plain numbers; an empty group gives an error, which does not matter.
    unsafe { kill(-group, SIGKILL) };
}

/// CLOCK_MONOTONIC in nanoseconds: the `mono` trace clock as user space sees it.
pub fn monotonic_ns() -> u64 {
    let mut time = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: `time` is a valid timespec, which the call writes.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

/// Whether the kernel can find functions by their names, for callers that ask through kprobes.
pub fn finds_functions() -> bool {
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    symbols
        .lines()
        .any(|line| line.ends_with(" register_kprobe"))
}

/// Whether this kernel has hooks at the beginning of its functions.
pub fn traces_functions() -> bool {
    Path::new("/sys/kernel/tracing/available_filter_functions").exists()
}

/// Returns whether the kernel has kprobes.
pub fn has_kprobes() -> bool {
    Path::new("/sys/kernel/tracing/kprobe_events").exists()
}

/// Returns whether the kernel has probes in programs.
pub fn has_uprobes() -> bool {
    Path::new("/sys/kernel/tracing/uprobe_events").exists()
}

/// Calls the machine code at an address, which is that of a function of the machine's convention.
pub fn call_code(address: usize, parameters: [usize; 3]) -> usize {
    let [a, b, c] = parameters;
    // SAFETY: The callers map code there that obeys the convention.
    let function: extern "C" fn(usize, usize, usize) -> usize =
        unsafe { std::mem::transmute(address) };
    function(a, b, c)
}

/// The function that `getppid` runs, by the name that the compiler has left it.
pub fn getppid_function() -> &'static str {
    let list = std::fs::read_to_string("/sys/kernel/tracing/available_filter_functions");
    let list = list.unwrap_or_default();
    let names = ["__do_sys_getppid", "__x64_sys_getppid"];
    let is_listed = |name: &&str| list.lines().any(|line| line == *name);
    names.into_iter().find(is_listed).unwrap_or(names[0])
}

/// Whether the kernel calls hooks at the end of functions, too.
pub fn follows_calls() -> bool {
    static FOLLOWS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *FOLLOWS.get_or_init(|| {
        let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let found = |line: &str| line.ends_with(" register_fprobe_ips");
        traces_functions() && symbols.lines().any(found)
    })
}

fn kernel_release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default()
}

/// Whether this is one of the kernels that scripts/kdir builds whole: their checks cost time.
pub fn kernel_with_checks() -> bool {
    kernel_release().contains("-rtrace")
}

/// Whether it is the one of them that checks each access to memory, which takes ten times as long.
pub fn checks_memory() -> bool {
    kernel_release().contains("-rtrace-debug")
}

/// Whether the kernel has latency tracers itself, in its own tracefs.
pub fn has_latency_tracers() -> bool {
    std::path::Path::new("/sys/kernel/tracing/hwlat_detector").exists()
}

/// Whether tasks are preempted while they handle soft interrupts, which are theirs then.
pub fn softirqs_are_of_tasks() -> bool {
    kernel_release().contains("-rt-")
}

/// Whether this kernel proves its locking, which makes it slow.
pub fn proves_locking() -> bool {
    std::path::Path::new("/proc/lockdep").exists()
}

/// How many CPUs are online.
pub fn online_cpus() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    text.trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(last.parse::<usize>().ok()? - first.parse::<usize>().ok()? + 1)
        })
        .sum()
}

/// How much slower than an idle one a machine may be on which the tests still pass.
const SLOWNESS: u32 = 10;

/// How long to wait for what takes `limit` at most on an idle machine.
pub fn patience(limit: Duration) -> Duration {
    limit * SLOWNESS
}

/// Polls a condition until it holds or the time is over that it may take: `limit` on an idle machine.
pub fn wait_until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = std::time::Instant::now() + patience(limit);
    while !condition() {
        if std::time::Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// How often a thread of this process has gone to sleep, when it sleeps inside the kernel now.
fn asleep(thread: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    let line = |label| status.lines().find_map(|line| line.strip_prefix(label));
    let sleeps = line("State:")?.trim().starts_with('S');
    let count = line("voluntary_ctxt_switches:")?.trim().parse().ok()?;
    sleeps.then_some(count)
}

/// Waits until a thread of this process sleeps inside the kernel. A thread that was preempted on
/// the way to its sleep looks asleep, too: it is seen twice, without having run in between.
pub fn wait_asleep(thread: u32) -> bool {
    let mut before = None;
    wait_until(Duration::from_secs(10), || {
        let now = asleep(thread);
        let same = now.is_some() && now == before;
        before = now;
        same
    })
}
