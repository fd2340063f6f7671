// SPDX-License-Identifier: GPL-2.0

//! A connection of this machine with itself by AF_VSOCK, which only modules serve.

use crate::check::Check;
use crate::sys;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};

const SYS_SOCKET: usize = 41;
const SYS_CONNECT: usize = 42;
const SYS_ACCEPT: usize = 43;
const SYS_BIND: usize = 49;
const SYS_LISTEN: usize = 50;

const AF_VSOCK: usize = 40;
const SOCK_STREAM: usize = 1;

const ANYBODY: u32 = u32::MAX;
const MYSELF: u32 = 1;
const PORT: u32 = 4711;

/// `struct sockaddr_vm`.
#[repr(C)]
struct Address {
    family: u16,
    reserved: u16,
    port: u32,
    cid: u32,
    flags: u8,
    zero: [u8; 3],
}

fn call(what: &str, number: usize, args: [usize; 3]) -> Check<usize> {
    let [a, b, c] = args;
    let result = sys::call(number, [a, b, c, 0, 0, 0]);
    usize::try_from(result).map_err(|_| format!("{what}: error {}", -result))
}

fn socket() -> Check<File> {
    let number = call("socket", SYS_SOCKET, [AF_VSOCK, SOCK_STREAM, 0])?;
    // SAFETY: The kernel just made this file for us, and no other code knows its number.
    Ok(unsafe { File::from_raw_fd(number as i32) })
}

fn with_address(what: &str, number: usize, socket: &File, cid: u32) -> Check {
    let address = Address {
        family: AF_VSOCK as u16,
        reserved: 0,
        port: PORT,
        cid,
        flags: 0,
        zero: [0; 3],
    };
    let at = &raw const address as usize;
    let args = [socket.as_raw_fd() as usize, at, size_of::<Address>()];
    call(what, number, args).map(drop)
}

/// Sends `count` messages to itself and reads them.
pub fn talk(count: usize) -> Check {
    let server = socket()?;
    with_address("bind", SYS_BIND, &server, ANYBODY)?;
    call("listen", SYS_LISTEN, [server.as_raw_fd() as usize, 1, 0])?;
    let mut client = socket()?;
    with_address("connect", SYS_CONNECT, &client, MYSELF)?;
    let number = call("accept", SYS_ACCEPT, [server.as_raw_fd() as usize, 0, 0])?;
    // SAFETY: The kernel just made this file for us, and no other code knows its number.
    let mut peer = unsafe { File::from_raw_fd(number as i32) };
    for round in 0..count {
        let message = vec![round as u8; round % 100 + 1];
        client
            .write_all(&message)
            .map_err(|e| format!("send: {e}"))?;
        let mut got = vec![0; message.len()];
        peer.read_exact(&mut got)
            .map_err(|e| format!("receive: {e}"))?;
        ensure_eq!(got, message, "message {round}");
    }
    Ok(())
}
