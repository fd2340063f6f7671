// SPDX-License-Identifier: GPL-2.0

//! Events of kprobes and kretprobes: the probe itself, and its event's source.
//!
//! One probe of the kernel serves all instances: it has a list of the files that it records into. It is
//! registered while its definition exists, and hit only while the event is enabled somewhere.
//!
//! [`rtrace_kprobe_hit`] runs in any context, NMI included: no lock, no allocation, no panic.

use super::{
    dynamic::DefinedProbe,
    probe_layout::ProbeLayout,
    targets::RecordTargets, //
};
use crate::{
    events::{
        Attachment,
        Event,
        Fields,
        PrintManner,
        Printer,
        Source, //
    },
    fetch::{
        print::RecordHead,
        run::{
            ProbedMachine,
            WORDS, //
        }, //
    },
    kapi::{
        kprobe::KernelProbe,
        strings,
        symbol::{
            self,
            Symbol, //
        }, //
    },
    probes::{
        COMMON,
        MOST_PAYLOAD, //
    },
    text::writer::ByteWrite, //
};
use kernel::{
    fmt,
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// A probe of a definition.
#[pin_data]
pub(super) struct Kprobe {
    layout: ProbeLayout,
    address: u64,
    hits: Atomic<u64>,
    /// Changed under `state`.
    targets: RecordTargets,
    #[pin]
    state: Mutex<ProbeState>,
}

struct ProbeState {
    /// None after the definition was removed.
    probe: Option<KernelProbe>,
    users: usize,
    /// The definition is being removed.
    ended: bool,
}

// SAFETY: The pointers are cookies, which are for any context.
unsafe impl Send for Kprobe {}
// SAFETY: Through `&self` only atomic words change, and what the mutex protects.
unsafe impl Sync for Kprobe {}

impl Kprobe {
    /// Returns that of a definition, with the registered `probe`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(layout: ProbeLayout, probe: KernelProbe) -> Result<Arc<Self>> {
        let state = ProbeState {
            users: 0,
            probe: None,
            ended: false,
        };
        let address = probe.address();
        let this = Arc::pin_init(
            pin_init!(Self {
                layout,
                address,
                hits: Atomic::new(0),
                targets: RecordTargets::none(),
                state <- new_mutex!(state),
            }),
            GFP_KERNEL,
        )?;
        this.state.lock().probe = Some(probe);
        Ok(this)
    }

    /// Has it record for `cookie` as well.
    fn add(&self, cookie: *mut c_void) -> Result {
        let mut state = self.state.lock();
        let probe = state
            .probe
            .as_ref()
            .filter(|_| !state.ended)
            .ok_or(ENODEV)?;
        self.targets.add(cookie)?;
        if state.users == 0 {
            // SAFETY: The function expects a `Kprobe`. The probe goes before this does: the state has it
            // until `take`, whose caller drops it.
            let enabled = unsafe { probe.enable((&raw const *self).cast()) };
            enabled.inspect_err(|_| {
                self.targets.remove(cookie);
            })?;
        }
        state.users = state.users.wrapping_add(1);
        Ok(())
    }

    /// Has it record for `cookie` no more.
    fn remove(&self, cookie: *mut c_void) {
        let mut state = self.state.lock();
        if !self.targets.remove(cookie) {
            return;
        }
        state.users = state.users.saturating_sub(1);
        if let (0, Some(probe)) = (state.users, &state.probe) {
            probe.disable();
        }
    }

    /// Returns whether it is hit when the function returns.
    fn returns(&self) -> bool {
        self.layout.head == RecordHead::Return
    }

    /// Records a hit wherever the event is enabled. Any context, with preemption disabled.
    fn hit(&self, machine: &Registers<'_>, returned_to: u64) {
        let _ = self.hits.fetch_add(1, Relaxed);
        let program = self.layout.program();
        let (size, rooms) = program.measure(machine, MOST_PAYLOAD);
        let fill = |record: &mut [u8]| {
            put(record, COMMON, self.address);
            if self.returns() {
                put(record, COMMON.wrapping_add(8), returned_to);
            }
            program.fill(machine, &rooms, record);
        };
        // SAFETY: `remove` takes a cookie off before `events::synchronize` waits for probes, of which this
        // is one: preemption is disabled. The size has the common fields and an address.
        unsafe { self.targets.record(size, fill) };
    }
}

impl DefinedProbe for Kprobe {
    fn line(&self) -> &[u8] {
        &self.layout.line
    }

    fn is_used(&self) -> bool {
        self.state.lock().users != 0
    }

    fn end(&self) -> Result {
        let mut state = self.state.lock();
        if state.users != 0 {
            return Err(EBUSY);
        }
        state.ended = true;
        Ok(())
    }

    fn clear(&self) {
        let probe = self.state.lock().probe.take();
        drop(probe);
    }

    fn counts(&self) -> Option<(u64, u64)> {
        let state = self.state.lock();
        let missed = state.probe.as_ref().map_or(0, KernelProbe::missed);
        Some((self.hits.load(Relaxed), missed))
    }
}

/// Puts a word at `at` of the record, if there is room.
fn put(record: &mut [u8], at: usize, word: u64) {
    if let Some(place) = record.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = word.to_le_bytes();
    }
}

/// The registers of a hit, and the memory of this machine.
struct Registers<'a>(&'a [u64; WORDS]);

impl ProbedMachine for Registers<'_> {
    fn registers(&self) -> &[u64; WORDS] {
        self.0
    }

    fn read(&self, address: u64, to: &mut [u8], user: bool) -> bool {
        strings::read(address, to, user)
    }

    fn comm(&self) -> [u8; 16] {
        strings::comm()
    }

    fn current(&self) -> u64 {
        kernel::current!().as_ptr() as u64
    }

    fn symbol(&self, address: u64, take: impl FnOnce(&[u8])) {
        symbol::with_text_at(address, take);
    }
}

/// Records a hit of a probe. Any context.
///
/// # Safety
///
/// - `data` is the `Kprobe` that the probe was enabled with.
/// - `registers` is a `struct pt_regs` that does not change meanwhile; preemption is disabled.
#[no_mangle]
unsafe extern "C" fn rtrace_kprobe_hit(
    data: *const c_void,
    registers: *const c_void,
    returned_to: usize,
) {
    // SAFETY: The caller promises the `Kprobe` of the probe, which goes after the probe.
    let probe = unsafe { &*data.cast::<Kprobe>() };
    // SAFETY: The caller promises the registers, which are as many words on this machine.
    let words = unsafe { &*registers.cast::<[u64; WORDS]>() };
    probe.hit(&Registers(words), returned_to as u64);
}

/// The source of the event of a probe.
pub(super) struct KprobeSource(pub(super) Arc<Kprobe>);

impl Source for KprobeSource {
    fn attach(&self, to: Attachment) -> Result {
        self.0.add(to.cookie())
    }

    fn detach(&self, from: Attachment) {
        self.0.remove(from.cookie());
    }

    fn visit_fields(&self, _: &Event, visit: &mut dyn FnMut(&mut Fields<'_>)) {
        visit(&mut self.0.layout.fields());
    }

    fn write_format(&self, event: &Event, w: &mut dyn fmt::Write) -> fmt::Result {
        self.0.layout.write_format(event, w)
    }

    fn print<'p>(
        &self,
        _: &Event,
        record: &[u8],
        manner: PrintManner,
        printer: &'p mut Printer,
    ) -> Option<&'p [u8]> {
        let layout = &self.0.layout;
        Some(printer.compose(|out| {
            let ip = word(record, COMMON);
            out.write_str("(")?;
            if self.0.returns() {
                write_place(word(record, COMMON.wrapping_add(8)), true, manner, out)?;
                out.write_str(" <- ")?;
            }
            write_place(ip, !self.0.returns(), manner, out)?;
            out.write_str(")")?;
            layout.write_values(record, out)
        }))
    }

    fn own_depth(&self) -> u32 {
        1
    }

    fn may_be_followed(&self) -> bool {
        false
    }
}

/// Returns the word at `at` of a record.
fn word(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Writes where a probe was hit, with the place in the function if `offset` is set.
fn write_place(
    address: u64,
    offset: bool,
    manner: PrintManner,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    if address == 0 {
        return out.write_str("0");
    }
    let symbol = Symbol::at(address);
    let text = symbol.text();
    match text.split_once('+') {
        Some((name, rest)) if !offset => {
            out.write_str(name)?;
            let module = rest.split_once(' ').map_or("", |(_, module)| module);
            if !module.is_empty() {
                write!(out, " {module}")?;
            }
        }
        _ => out.write_str(text)?,
    }
    if manner.has_addresses() {
        write!(out, " <{address:016x}>")?;
    }
    Ok(())
}
