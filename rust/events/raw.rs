// SPDX-License-Identifier: GPL-2.0

//! How does a tracepoint without a usable header become an event?
//!
//! Its arguments are those of the function `__probestub_NAME`, which every tracepoint has and whose
//! parameters BTF names. From them a descriptor is made at load; the event is `raw:NAME`. Descriptor
//! and event live together until rtrace is unloaded.

use super::{
    groups::{
        self,
        format_of,
        of_module,
        revenant, //
    },
    next_id,
    publish,
    text,
    tracepoints,
    used,
    Event, //
};
use crate::{
    event::{
        btf::{
            functions::Prototype,
            Btf, //
        },
        raw::{
            Args,
            Kind,
            Unfit,
            MOST_ARGS, //
        }, //
    },
    kapi::{
        c,
        kernel_btf::{
            KernelBtf,
            NoBtf, //
        }, //
    }, //
};
use core::{
    fmt::{
        self,
        Write, //
    },
    ptr, //
};
use kernel::{
    bindings,
    prelude::*, //
};

const _: () = assert!(MOST_ARGS == c::RT_RAW_MOST_ARGS as usize);

/// The system of all of them.
pub(super) const SYSTEM: &CStr = c"raw";

/// The function whose parameters are those of a tracepoint's probes.
const STUB: &str = "__probestub_";

/// For which tracepoints there are raw events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawWish {
    None,
    /// Those that have no other event.
    Rest,
    All,
}

impl RawWish {
    /// From the number that a user gave to the module.
    pub(crate) fn from_number(number: u8) -> Self {
        match number {
            0 => Self::None,
            _ if cfg!(CONFIG_CFI) => {
                refuse_all("this kernel", "it compares prototypes at calls");
                Self::None
            }
            1 => Self::Rest,
            _ => Self::All,
        }
    }
}

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

// SAFETY: Nothing changes after it was made, and what it points to is its own.
unsafe impl Send for RawDesc {}
// SAFETY: As above.
unsafe impl Sync for RawDesc {}

/// Bytes of the strings of most events.
const USUAL_TEXTS: usize = 256;

/// Strings of C, one behind the other.
struct Texts(KVec<u8>);

impl Write for Texts {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0
            .extend_from_slice(text.as_bytes(), GFP_KERNEL)
            .map_err(|_| fmt::Error)
    }
}

impl Texts {
    /// Adds what `write` writes; returns where it begins.
    fn add(&mut self, write: impl FnOnce(&mut Self) -> fmt::Result) -> Result<usize> {
        let at = self.0.len();
        write(self).map_err(|_| ENOMEM)?;
        self.0.push(0, GFP_KERNEL)?;
        Ok(at)
    }

    fn at(texts: &KVec<u8>, at: usize) -> *const c_char {
        texts
            .get(at..)
            .map_or(c"".as_char_ptr(), |text| text.as_ptr().cast())
    }
}

impl RawDesc {
    /// For the tracepoint `name` with these arguments.
    fn new(name: &str, args: &Args<'_>) -> Result<KBox<Self>> {
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
        // SAFETY: Null pointers and numbers.
        list.push(unsafe { core::mem::zeroed() }, GFP_KERNEL)?;
        // SAFETY: A table of constants in our own module; the number of arguments is at most the
        // last index.
        let probe = unsafe {
            (&raw const c::rtrace_raw_probes)
                .cast::<*mut c_void>()
                .add(args.iter().count())
                .read()
        };
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

    /// The arguments.
    #[inline(always)]
    pub(super) fn args(&self) -> &[c::rt_raw_arg] {
        self.args.split_last().map_or(&[], |(_end, args)| args)
    }

    fn name(&self) -> &str {
        // SAFETY: In the texts, terminated (invariant).
        unsafe { text(self.desc.name) }
    }
}

fn kind(kind: Kind) -> u8 {
    let number = match kind {
        Kind::Signed => c::rt_raw_kind_RT_RAW_SIGNED,
        Kind::Unsigned => c::rt_raw_kind_RT_RAW_UNSIGNED,
        Kind::Pointer => c::rt_raw_kind_RT_RAW_POINTER,
        Kind::Value => c::rt_raw_kind_RT_RAW_VALUE,
    };
    number as u8
}

/// A tracepoint that shall have a raw event.
struct Wanted<'a> {
    name: &'a str,
    tracepoint: *mut bindings::tracepoint,
    prototype: Option<Prototype>,
}

impl Wanted<'_> {
    fn new(tracepoint: *mut bindings::tracepoint) -> Self {
        Self {
            // SAFETY: The callers pass live tracepoints, whose name is a constant.
            name: unsafe { text((*tracepoint).name) },
            tracepoint,
            prototype: None,
        }
    }

    fn refuse(&self, why: &str) {
        pr_info!("raw:{} is not offered: {why}\n", self.name);
    }
}

/// Finds the prototypes of all `wanted` in one pass.
fn find_prototypes(btf: &Btf<'_>, wanted: &mut [Wanted<'_>]) -> Result<Result<(), Unfit>> {
    let mut order = KVec::with_capacity(wanted.len(), GFP_KERNEL)?;
    for (index, tracepoint) in wanted.iter().enumerate() {
        order.push((tracepoint.name, index), GFP_KERNEL)?;
    }
    order.sort_unstable();
    let found = btf.functions(|function, prototype| {
        let Some(name) = function.strip_prefix(STUB) else {
            return;
        };
        if let Ok(at) = order.binary_search_by(|(wanted, _)| (*wanted).cmp(name)) {
            let wanted = order.get(at).and_then(|(_, index)| wanted.get_mut(*index));
            if let Some(wanted) = wanted {
                wanted.prototype = Some(prototype);
            }
        }
    });
    Ok(found.map_err(Unfit::Btf))
}

/// Makes the descriptors of all `wanted` and hands them to `add`. What has none is told.
fn describe(
    btf: Btf<'_>,
    wanted: &mut [Wanted<'_>],
    mut add: impl FnMut(KBox<RawDesc>, *mut bindings::tracepoint) -> Result,
) -> Result {
    if let Err(why) = find_prototypes(&btf, wanted)? {
        wanted.iter().for_each(|wanted| wanted.refuse(why.as_str()));
        return Ok(());
    }
    for wanted in wanted.iter() {
        let Some(prototype) = wanted.prototype else {
            wanted.refuse("BTF does not know its arguments");
            continue;
        };
        match Args::new(btf, prototype) {
            Ok(args) => add(RawDesc::new(wanted.name, &args)?, wanted.tracepoint)?,
            Err(why) => wanted.refuse(why.as_str()),
        }
    }
    Ok(())
}

/// Says why there is none at all.
fn refuse_all(of: &str, why: &str) {
    pr_info!("raw events of {of} are not offered: {why}\n");
}

/// Offers the kernel's own tracepoints. Called when all other events of the kernel are offered.
pub(super) fn offer(wish: RawWish, kernel: Result<&KernelBtf, NoBtf>) -> Result {
    if wish == RawWish::None {
        return Ok(());
    }
    let btf = match kernel.and_then(|kernel| Ok(kernel.btf()?)) {
        Ok(btf) => btf,
        Err(why) => {
            refuse_all("this kernel", why.as_str());
            return Ok(());
        }
    };
    let has_other = |tracepoint| used().any(|event| event.tracepoint() == tracepoint);
    let mut wanted = KVec::new();
    for tracepoint in tracepoints::all()? {
        if wish == RawWish::All || !has_other(tracepoint) {
            wanted.push(Wanted::new(tracepoint), GFP_KERNEL)?;
        }
    }
    describe(btf, &mut wanted, |desc, tracepoint| {
        publish(event(desc, tracepoint, ptr::null_mut(), None)?)?;
        Ok(())
    })
}

/// A new event that owns its descriptor.
fn event(
    raw: KBox<RawDesc>,
    tracepoint: *mut bindings::tracepoint,
    owner: *mut bindings::module,
    format: Option<KVVec<u8>>,
) -> Result<KBox<Event>> {
    let mut event = Event::new(next_id()?, &raw.desc, tracepoint, owner, format)?;
    // INVARIANT: The box keeps the descriptor where it is.
    event.raw = Some(raw);
    Ok(event)
}

/// Adds an event of a module. The caller holds [`GROUPS`].
fn add_one_of_module(
    raw: KBox<RawDesc>,
    tracepoint: *mut bindings::tracepoint,
    owner: *mut bindings::module,
) -> Result {
    if super::by_name("raw", raw.name()).is_some() {
        return Ok(());
    }
    if let Some(old) = revenant(&raw.desc, &[])? {
        if let Some(raw) = &old.raw {
            groups::return_to(old, &raw.desc, tracepoint, owner);
        }
        return Ok(());
    }
    let format = format_of(next_id()?, &raw.desc, &[])?;
    publish(event(raw, tracepoint, owner, Some(format))?)?;
    Ok(())
}

/// Whether some of a module's tracepoints shall have raw events, when `others` have other events.
///
/// # Safety
///
/// `module` stays during the call.
pub(super) unsafe fn wants_btf(
    wish: RawWish,
    module: *mut bindings::module,
    others: usize,
) -> bool {
    match wish {
        RawWish::None => false,
        // SAFETY: By the contract.
        RawWish::Rest => unsafe { tracepoints::of_module(module) }.count() > others,
        RawWish::All => true,
    }
}

/// Adds the tracepoints of a module that is being loaded, which has all its other events. The caller
/// holds [`GROUPS`](super::GROUPS).
///
/// # Safety
///
/// `module` stays during the call.
pub(super) unsafe fn add_of_module(
    wish: RawWish,
    module: *mut bindings::module,
    btf: Result<Btf<'_>, NoBtf>,
) -> Result {
    let has_other = |tracepoint| of_module(module).any(|event| event.tracepoint() == tracepoint);
    let mut wanted = KVec::new();
    // SAFETY: By the contract.
    for tracepoint in unsafe { tracepoints::of_module(module) } {
        if wish == RawWish::All || wish == RawWish::Rest && !has_other(tracepoint) {
            wanted.push(Wanted::new(tracepoint), GFP_KERNEL)?;
        }
    }
    match btf {
        _ if wanted.is_empty() => Ok(()),
        Ok(btf) => describe(btf, &mut wanted, |desc, tracepoint| {
            add_one_of_module(desc, tracepoint, module)
        }),
        Err(why) => {
            // SAFETY: By the contract; the name is terminated.
            refuse_all(unsafe { text((*module).name.as_ptr()) }, why.as_str());
            Ok(())
        }
    }
}
