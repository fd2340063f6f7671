// SPDX-License-Identifier: GPL-2.0

//! Error numbers and their names, for values of the type `errno`.

/// The numbers that a pointer can be instead of an address are not greater.
const GREATEST: u64 = 4095;

/// The names of the numbers from 1 on; those without one have an empty name.
const NAMES: &[&str] = &[
    "EPERM",
    "ENOENT",
    "ESRCH",
    "EINTR",
    "EIO",
    "ENXIO",
    "E2BIG",
    "ENOEXEC",
    "EBADF",
    "ECHILD",
    "EAGAIN",
    "ENOMEM",
    "EACCES",
    "EFAULT",
    "ENOTBLK",
    "EBUSY",
    "EEXIST",
    "EXDEV",
    "ENODEV",
    "ENOTDIR",
    "EISDIR",
    "EINVAL",
    "ENFILE",
    "EMFILE",
    "ENOTTY",
    "ETXTBSY",
    "EFBIG",
    "ENOSPC",
    "ESPIPE",
    "EROFS",
    "EMLINK",
    "EPIPE",
    "EDOM",
    "ERANGE",
    "EDEADLK",
    "ENAMETOOLONG",
    "ENOLCK",
    "ENOSYS",
    "ENOTEMPTY",
    "ELOOP",
    "",
    "ENOMSG",
    "EIDRM",
    "ECHRNG",
    "EL2NSYNC",
    "EL3HLT",
    "EL3RST",
    "ELNRNG",
    "EUNATCH",
    "ENOCSI",
    "EL2HLT",
    "EBADE",
    "EBADR",
    "EXFULL",
    "ENOANO",
    "EBADRQC",
    "EBADSLT",
    "",
    "EBFONT",
    "ENOSTR",
    "ENODATA",
    "ETIME",
    "ENOSR",
    "ENONET",
    "ENOPKG",
    "EREMOTE",
    "ENOLINK",
    "EADV",
    "ESRMNT",
    "ECOMM",
    "EPROTO",
    "EMULTIHOP",
    "EDOTDOT",
    "EBADMSG",
    "EOVERFLOW",
    "ENOTUNIQ",
    "EBADFD",
    "EREMCHG",
    "ELIBACC",
    "ELIBBAD",
    "ELIBSCN",
    "ELIBMAX",
    "ELIBEXEC",
    "EILSEQ",
    "ERESTART",
    "ESTRPIPE",
    "EUSERS",
    "ENOTSOCK",
    "EDESTADDRREQ",
    "EMSGSIZE",
    "EPROTOTYPE",
    "ENOPROTOOPT",
    "EPROTONOSUPPORT",
    "ESOCKTNOSUPPORT",
    "EOPNOTSUPP",
    "EPFNOSUPPORT",
    "EAFNOSUPPORT",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "ENETDOWN",
    "ENETUNREACH",
    "ENETRESET",
    "ECONNABORTED",
    "ECONNRESET",
    "ENOBUFS",
    "EISCONN",
    "ENOTCONN",
    "ESHUTDOWN",
    "ETOOMANYREFS",
    "ETIMEDOUT",
    "ECONNREFUSED",
    "EHOSTDOWN",
    "EHOSTUNREACH",
    "EALREADY",
    "EINPROGRESS",
    "ESTALE",
    "EUCLEAN",
    "ENOTNAM",
    "ENAVAIL",
    "EISNAM",
    "EREMOTEIO",
    "EDQUOT",
    "ENOMEDIUM",
    "EMEDIUMTYPE",
    "ECANCELED",
    "ENOKEY",
    "EKEYEXPIRED",
    "EKEYREVOKED",
    "EKEYREJECTED",
    "EOWNERDEAD",
    "ENOTRECOVERABLE",
    "ERFKILL",
    "EHWPOISON",
    "EFTYPE",
];

/// The first number of those that programs do not see.
const FIRST_INNER: u64 = 512;

/// Their names.
const INNER: &[&str] = &[
    "ERESTARTSYS",
    "ERESTARTNOINTR",
    "ERESTARTNOHAND",
    "ENOIOCTLCMD",
    "ERESTART_RESTARTBLOCK",
    "EPROBE_DEFER",
    "EOPENSTALE",
    "ENOPARAM",
    "",
    "EBADHANDLE",
    "ENOTSYNC",
    "EBADCOOKIE",
    "ENOTSUPP",
    "ETOOSMALL",
    "ESERVERFAULT",
    "EBADTYPE",
    "EJUKEBOX",
    "EIOCBQUEUED",
    "ERECALLCONFLICT",
    "ENOGRACE",
];

/// Returns all numbers that have a name.
pub(super) fn all() -> impl Iterator<Item = (u64, &'static str)> {
    let named = Iterator::chain((1..).zip(NAMES), (FIRST_INNER..).zip(INNER));
    named
        .map(|(number, name)| (number, *name))
        .filter(|(_, name)| !name.is_empty())
}

/// Returns the name of the error that a function returns as `value`, which is signed.
pub(super) fn name(value: u64) -> Option<&'static str> {
    let index = value.wrapping_neg().checked_sub(1)?;
    let inner = |index: u64| INNER.get(index.checked_sub(FIRST_INNER.wrapping_sub(1))? as usize);
    let name = NAMES.get(index as usize).or_else(|| inner(index))?;
    Some(*name).filter(|name| !name.is_empty())
}

/// Returns the first value of `size` bytes, without sign, that is an error: 2, 4 or 8.
pub(super) fn first_value(size: usize) -> u64 {
    value(GREATEST, size)
}

/// Returns what a function returns for that number: `size` bytes without sign.
pub(super) fn value(number: u64, size: usize) -> u64 {
    number.wrapping_neg() & mask(size)
}

/// Returns a word of which the low `size` bytes are set.
pub(super) fn mask(size: usize) -> u64 {
    let unused = 64u32.saturating_sub((size as u32).saturating_mul(8));
    u64::MAX.wrapping_shr(unused)
}
