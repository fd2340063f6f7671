// SPDX-License-Identifier: GPL-2.0

//! Tracepoints without a usable header as events; one of the rows of [`super::KINDS`].
//!
//! The arguments of a tracepoint are those of the function `__probestub_NAME`, which every
//! tracepoint has and whose parameters BTF names. From them a descriptor is made at load; the event
//! is `raw:NAME`. Descriptor and event live together until rtrace is unloaded.

use super::{
    raw_desc::RawDesc,
    ComingModule,
    LoadContext, //
    SourceKind,
};
use crate::{
    event::{
        btf::{
            functions::Prototype,
            Btf, //
        },
        raw::{
            Args,
            UnfitReason, //
        }, //
    },
    events::{
        by_name,
        groups::{
            format_of,
            of_module,
            return_to,
            revenant, //
        },
        next_id,
        publish,
        tracepoints::{
            self,
            Tracepoint, //
        },
        used,
        Event,
        Module, //
    },
    kapi::kernel_btf::NoBtf, //
};
use kernel::prelude::*;

/// The function whose parameters are those of a tracepoint's probes.
const STUB: &str = "__probestub_";

/// The tracepoints that have raw events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawWish {
    None,
    /// Those that have no other event.
    Rest,
    All,
}

impl RawWish {
    /// Returns the wish of the number that a user gave to the module.
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

/// A tracepoint that a raw event is wanted for.
struct WantedEvent<'a> {
    name: &'a str,
    tracepoint: Tracepoint<'a>,
    prototype: Option<Prototype>,
}

impl<'a> WantedEvent<'a> {
    /// Returns one whose prototype is not known yet.
    fn new(tracepoint: Tracepoint<'a>) -> Self {
        Self {
            name: tracepoint.name(),
            tracepoint,
            prototype: None,
        }
    }

    /// Tells the kernel log that there is no such event.
    fn refuse(&self, why: &str) {
        pr_info!("raw:{} is not offered: {why}\n", self.name);
    }
}

/// Finds the prototypes of all `wanted` in one pass. Fails with `ENOMEM`; the inner result says why
/// BTF cannot be read.
fn find_prototypes(
    btf: &Btf<'_>,
    wanted: &mut [WantedEvent<'_>],
) -> Result<Result<(), UnfitReason>> {
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
    Ok(found.map_err(UnfitReason::Btf))
}

/// Makes the descriptors of all `wanted` and hands them to `add`. Tells the kernel log which have
/// none.
///
/// # Errors
///
/// `ENOMEM`, and those of `add`.
fn describe<'a>(
    btf: Btf<'_>,
    wanted: &mut [WantedEvent<'a>],
    mut add: impl FnMut(KBox<RawDesc>, Tracepoint<'a>) -> Result,
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

/// Returns the prototype of the probes of the tracepoint `name`; that of its own data is the first parameter.
pub(super) fn prototype(btf: &Btf<'_>, name: &str) -> Option<Prototype> {
    let mut found = None;
    let visited = btf.functions(|function, prototype| {
        if function.strip_prefix(STUB) == Some(name) {
            found = Some(prototype);
        }
    });
    found.filter(|_| visited.is_ok())
}

/// Returns how many arguments a tracepoint with such probes has, if each is passed as one word.
pub(super) fn arity(btf: Btf<'_>, prototype: Prototype) -> Option<usize> {
    Some(Args::new(btf, prototype).ok()?.iter().count())
}

/// Tells the kernel log why there is none at all.
fn refuse_all(of: &str, why: &str) {
    pr_info!("raw events of {of} are not offered: {why}\n");
}

/// The kind of source.
pub(super) struct RawTracepoints;

impl SourceKind for RawTracepoints {
    /// Adds the kernel's own tracepoints.
    fn add(&self, load: &LoadContext<'_>) -> Result {
        if load.raw == RawWish::None {
            return Ok(());
        }
        let btf = match load.btf.and_then(|kernel| Ok(kernel.btf()?)) {
            Ok(btf) => btf,
            Err(why) => {
                refuse_all("this kernel", why.as_str());
                return Ok(());
            }
        };
        let has_other = |tracepoint: Tracepoint<'_>| {
            used().any(|event| event.tracepoint() == tracepoint.as_ptr())
        };
        let mut wanted = KVec::new();
        for tracepoint in tracepoints::all()? {
            if load.raw == RawWish::All || !has_other(tracepoint) {
                wanted.push(WantedEvent::new(tracepoint), GFP_KERNEL)?;
            }
        }
        describe(btf, &mut wanted, |desc, tracepoint| {
            publish(Event::of_descriptor(next_id()?, desc, tracepoint)?)?;
            Ok(())
        })
    }

    fn prepare(&self, coming: &mut ComingModule<'_>) -> Result {
        coming.wants_btf |= match coming.raw {
            RawWish::None => false,
            RawWish::Rest => coming.module.tracepoints().count() > coming.headers.len(),
            RawWish::All => true,
        };
        Ok(())
    }

    fn add_of_module(&self, coming: &ComingModule<'_>, btf: Result<Btf<'_>, NoBtf>) -> Result {
        let (raw, module) = (coming.raw, coming.module);
        let has_other = |tracepoint: Tracepoint<'_>| {
            of_module(module.as_ptr()).any(|event| event.tracepoint() == tracepoint.as_ptr())
        };
        let mut wanted = KVec::new();
        for tracepoint in module.tracepoints() {
            if raw == RawWish::All || raw == RawWish::Rest && !has_other(tracepoint) {
                wanted.push(WantedEvent::new(tracepoint), GFP_KERNEL)?;
            }
        }
        match btf {
            _ if wanted.is_empty() => Ok(()),
            Ok(btf) => describe(btf, &mut wanted, |desc, tracepoint| {
                add_one_of_module(desc, tracepoint, module)
            }),
            Err(why) => {
                refuse_all(module.name(), why.as_str());
                Ok(())
            }
        }
    }
}

/// Adds an event of a module, unless there is one of this name. The caller holds
/// [`GROUPS`](crate::events::GROUPS).
///
/// # Errors
///
/// `ENOMEM`, and `ENOSPC` when there are too many events.
fn add_one_of_module(raw: KBox<RawDesc>, tracepoint: Tracepoint<'_>, owner: Module<'_>) -> Result {
    if by_name("raw", raw.name()).is_some() {
        return Ok(());
    }
    if let Some(old) = revenant(raw.desc(), &[])? {
        if let Some(desc) = old.source().descriptor() {
            return_to(old, desc, tracepoint, owner);
        }
        return Ok(());
    }
    let id = next_id()?;
    let format = format_of(id, raw.desc(), &[])?;
    let mut event = Event::of_descriptor(id, raw, tracepoint)?;
    event.set_owner(owner, format)?;
    publish(event)?;
    Ok(())
}
