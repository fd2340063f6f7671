// SPDX-License-Identifier: GPL-2.0

//! The descriptor of a raw event, made from the arguments of its tracepoint, and the source of that
//! event, which it is as well. Made by `raw` at load, or when a module comes; read by `raw_probes`.

use super::raw_probes;
use crate::{
    event::raw::{
        ArgKind,
        Args,
        MOST_ARGS, //
    },
    events::Source,
    kapi::c, //
};
use core::{
    fmt::{
        self,
        Write, //
    },
    ptr, //
};
use kernel::prelude::*;

const _: () = assert!(MOST_ARGS == c::RT_RAW_MOST_ARGS as usize);

/// The system of all of them.
const SYSTEM: &CStr = c"raw";

/// A descriptor, with all that it points to.
///
/// # Invariants
///
/// `desc` is valid as long as this is: `args` ends with one whose type is null, and all strings are
/// in `_texts`. Neither vector changes.
pub(super) struct RawDesc {
    desc: c::rt_event_desc,
    args: KVec<c::rt_raw_arg>,
    _texts: KVec<u8>,
}

// SAFETY: What it points to is its own (invariant) or a constant, and belongs to no thread.
unsafe impl Send for RawDesc {}
// SAFETY: Nothing changes after it was made (invariant), so that many threads may read it.
unsafe impl Sync for RawDesc {}

/// Bytes of the strings of most events.
const USUAL_TEXTS: usize = 256;

/// Strings of C, one after the other.
struct Texts(KVec<u8>);

impl Write for Texts {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0
            .extend_from_slice(text.as_bytes(), GFP_KERNEL)
            .map_err(|_| fmt::Error)
    }
}

impl Texts {
    /// Adds what `write` writes, and returns where it begins. Fails with `ENOMEM`.
    fn add(&mut self, write: impl FnOnce(&mut Self) -> fmt::Result) -> Result<usize> {
        let at = self.0.len();
        write(self).map_err(|_| ENOMEM)?;
        self.0.push(0, GFP_KERNEL)?;
        Ok(at)
    }

    /// Returns the string that begins at `at`.
    fn at(texts: &KVec<u8>, at: usize) -> *const c_char {
        texts
            .get(at..)
            .map_or(c"".as_char_ptr(), |text| text.as_ptr().cast())
    }
}

impl RawDesc {
    /// Returns the descriptor of the tracepoint `name` with these arguments.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `EINVAL` when no probe takes as many arguments.
    pub(super) fn new(name: &str, args: &Args<'_>) -> Result<KBox<Self>> {
        let mut texts = Texts(KVec::with_capacity(USUAL_TEXTS, GFP_KERNEL)?);
        let mut places = [(0, 0); MOST_ARGS];
        let name = texts.add(|w| w.write_str(name))?;
        let print_fmt = texts.add(|w| args.write_print_fmt(w))?;
        for (arg, place) in args.iter().zip(&mut places) {
            *place = (
                texts.add(|w| write!(w, "{}", arg.ty))?,
                texts.add(|w| arg.write_name(w))?,
            );
        }
        // The strings stay where they are from here on.
        let texts = texts.0;
        let mut list = KVec::with_capacity(args.iter().count().wrapping_add(1), GFP_KERNEL)?;
        for (arg, (ty, name)) in args.iter().zip(places) {
            list.push(
                c::rt_raw_arg {
                    type_: Texts::at(&texts, ty),
                    name: Texts::at(&texts, name),
                    offset: arg.offset,
                    size: arg.size,
                    kind: kind(arg.kind),
                    unused: 0,
                },
                GFP_KERNEL,
            )?;
        }
        list.push(
            c::rt_raw_arg {
                type_: ptr::null(),
                name: ptr::null(),
                offset: 0,
                size: 0,
                kind: 0,
                unused: 0,
            },
            GFP_KERNEL,
        )?;
        let probe = raw_probes::of_arity(args.iter().count()).ok_or(EINVAL)?;
        let name = Texts::at(&texts, name);
        // INVARIANT: The strings and the list are terminated, and move into the same box.
        Ok(KBox::new(
            Self {
                desc: c::rt_event_desc {
                    system: SYSTEM.as_char_ptr(),
                    name,
                    tp_name: name,
                    print_fmt: Texts::at(&texts, print_fmt),
                    fields: list.as_ptr().cast(),
                    probe,
                    print: ptr::null_mut(),
                    size: args.record_size(),
                    kind: c::rt_event_kind_RT_EVENT_PLAIN as u16,
                    nr: 0,
                    ftrace_id: 0,
                },
                args: list,
                _texts: texts,
            },
            GFP_KERNEL,
        )?)
    }

    /// Returns the arguments.
    #[inline(always)]
    pub(super) fn args(&self) -> &[c::rt_raw_arg] {
        self.args.split_last().map_or(&[], |(_end, args)| args)
    }

    /// Returns the bytes of a record.
    #[inline(always)]
    pub(super) fn record_size(&self) -> usize {
        usize::from(self.desc.size)
    }

    /// Returns the descriptor.
    pub(super) fn desc(&self) -> &c::rt_event_desc {
        &self.desc
    }

    /// Returns the event's name.
    pub(super) fn name(&self) -> &str {
        self.desc.name()
    }
}

/// Returns `kind` as C knows it.
fn kind(kind: ArgKind) -> u8 {
    let number = match kind {
        ArgKind::Signed => c::rt_raw_kind_RT_RAW_SIGNED,
        ArgKind::Unsigned => c::rt_raw_kind_RT_RAW_UNSIGNED,
        ArgKind::Pointer => c::rt_raw_kind_RT_RAW_POINTER,
        ArgKind::Value => c::rt_raw_kind_RT_RAW_VALUE,
    };
    number as u8
}

impl Source for RawDesc {
    fn probe_data(&self) -> *const c_void {
        ptr::from_ref(self).cast()
    }

    fn descriptor(&self) -> Option<&c::rt_event_desc> {
        Some(&self.desc)
    }

    fn is_usual(&self) -> bool {
        false
    }
}
