// SPDX-License-Identifier: GPL-2.0

//! Real work for the tracers to see: processes, pipes, files, sleeps, sockets.
//! Everything ends before the function returns, so that a test can stop tracing
//! at a known point.

use crate::sys;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// All kinds of work, each a number of times.
pub fn mixed(rounds: usize) {
    for _ in 0..rounds {
        processes(2);
        pipe(10);
        files(2);
        std::thread::sleep(Duration::from_millis(3));
        sockets(3);
    }
}

/// Work in the background, until dropped.
pub struct Load {
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
}

impl Load {
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let kinds: [fn(); 2] = [|| pipe(20), || processes(1)];
        let worker = |kind: fn()| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    kind();
                    // Without a rest nothing would be left for the test on a slow machine.
                    std::thread::sleep(Duration::from_millis(1));
                }
            })
        };
        let workers = kinds.into_iter().map(worker).collect();
        Load { stop, workers }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

/// Children that run a program, this one, which ends at once.
pub fn processes(count: usize) {
    for _ in 0..count {
        let child = Command::new("/proc/self/exe")
            .arg("--help")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(child.is_ok(), "cannot start a child");
    }
}

/// Two threads that wake each other.
pub fn pipe(rounds: usize) {
    let (mut there, mut back) = (sys::pipe().expect("pipe"), sys::pipe().expect("pipe"));
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        while there.0.read_exact(&mut byte).is_ok() && back.1.write_all(&byte).is_ok() {}
    });
    for _ in 0..rounds {
        let mut byte = [1];
        let sent = there.1.write_all(&byte);
        sent.and_then(|()| back.0.read_exact(&mut byte))
            .expect("pipe");
    }
    drop(there.1);
    let _ = echo.join();
}

/// Files made, written, read, synced and removed.
pub fn files(count: usize) {
    let path = format!("/tmp/rtguest.work.{}", std::process::id());
    for _ in 0..count {
        std::fs::write(&path, vec![7u8; 20_000]).expect("write a file");
        assert_eq!(std::fs::read(&path).map_or(0, |bytes| bytes.len()), 20_000);
        let _ = std::fs::remove_file(&path);
    }
}

/// Datagrams and a connection over the loopback device, when it is up.
pub fn sockets(count: usize) {
    let Ok(receiver) = UdpSocket::bind("127.0.0.1:0") else {
        return;
    };
    let (Ok(sender), Ok(address)) = (UdpSocket::bind("127.0.0.1:0"), receiver.local_addr()) else {
        return;
    };
    let _ = receiver.set_read_timeout(Some(Duration::from_secs(1)));
    let mut bytes = [0; 100];
    for _ in 0..count {
        if sender.send_to(&[1; 100], address).is_err() {
            return;
        }
        let _ = receiver.recv(&mut bytes);
    }
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else {
        return;
    };
    let Ok(address) = listener.local_addr() else {
        return;
    };
    let Ok(mut client) = TcpStream::connect(address) else {
        return;
    };
    if let Ok((mut server, _)) = listener.accept() {
        let _ = client.write_all(&[2; 3000]);
        drop(client);
        let _ = server.read_to_end(&mut Vec::new());
    }
}
