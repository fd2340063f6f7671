// SPDX-License-Identifier: GPL-2.0

//! Error numbers with names, so that a table and a failure can be read.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

macro_rules! errnos {
    ($($name:ident = $number:literal,)*) => {
        $(#[allow(dead_code, reason = "one list for every table")]
        pub const $name: Errno = Errno($number);)*

        impl fmt::Display for Errno {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($number => f.write_str(stringify!($name)),)*
                    number => write!(f, "errno {number}"),
                }
            }
        }
    };
}

errnos! {
    EPERM = 1, ENOENT = 2, EINTR = 4, EIO = 5, ENXIO = 6, E2BIG = 7, EBADF = 9, EAGAIN = 11,
    ENOMEM = 12, EACCES = 13, EFAULT = 14, EBUSY = 16, EEXIST = 17, EXDEV = 18, ENODEV = 19,
    ENOTDIR = 20, EISDIR = 21, EINVAL = 22, EFBIG = 27, ENOSPC = 28, ESPIPE = 29, EROFS = 30,
    ERANGE = 34, ENAMETOOLONG = 36, ENOSYS = 38, ENOTEMPTY = 39, EOVERFLOW = 75, EOPNOTSUPP = 95,
    ETIMEDOUT = 110,
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<std::io::Error> for Errno {
    fn from(error: std::io::Error) -> Self {
        // Only a few errors are made by the library; none of them is a file operation's.
        Errno(error.raw_os_error().unwrap_or(0))
    }
}

/// The outcome of one file operation.
pub type Op<T = ()> = Result<T, Errno>;
