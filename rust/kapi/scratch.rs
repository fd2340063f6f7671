// SPDX-License-Identifier: GPL-2.0

//! A place beside the ring where a probe fills a record that may not be wanted.
//!
//! An event with a filter is filled here and asked about; only what the filter lets through is
//! reserved in the ring and copied. So what is filtered out costs no reservation, no time and no
//! discard. There is one place for each CPU: a writer that interrupts its user fills in the ring, as if
//! there were no such place. An event with triggers is filled here even when recording is off; for these
//! there are more places, for as many writers inside each other as a ring takes.

use super::{
    c::rt_scratch,
    cpus,
    late::LazyPerCpu,
    own_word::own_word,
    percpu::{
        self,
        CpuPin, //
    },
    raw_cell::RawCell,
    words::{
        barrier,
        LocalU64,
        SharedU64, //
    }, //
};
use crate::ring::{
    packed::PackedSize,
    port::{
        LocalWord,
        SharedWord, //
    },
    writer::MAX_NEST, //
};
use core::{
    arch::asm,
    marker::PhantomData,
    mem::{
        offset_of,
        size_of, //
    },
    ptr::{
        self,
        with_exposed_provenance,
        with_exposed_provenance_mut,
        NonNull, //
    },
    slice, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// The bytes of a place: with the word before them a page.
const MOST: usize = bindings::PAGE_SIZE - size_of::<u64>();

/// The longest record that a place takes, as many bytes as one has in sub-buffers of any size: two words that begin in a
/// record are in the place.
const LONGEST_BYTES: usize = MOST - 2 * size_of::<u64>();

/// The word of its size: those of shorter ones are less.
const LONGEST: u64 = PackedSize::new(LONGEST_BYTES).word();

/// What one CPU has.
#[repr(C)]
pub(super) struct ScratchPlace {
    /// The word of the [`PackedSize`] of the record that is being filled; 0 when there is none.
    used: LocalU64,
    /// Used by the CPU itself, and on it by the probe that found `used` 0.
    bytes: RawCell<[u64; MOST / size_of::<u64>()]>,
}

impl ScratchPlace {
    /// Allocates one that no record is in.
    fn new() -> Result<KBox<Self>> {
        let place = init!(Self {
            used: LocalWord::new(0),
            bytes <- pin_init::init_zeroed(),
        });
        KBox::init(place, GFP_KERNEL)
    }

    /// Returns room for a record of this size, as [`Places::begin`]. The place is that of this CPU.
    #[inline(always)]
    fn begin(&self, size: PackedSize) -> Option<NonNull<c_void>> {
        if size.word() > LONGEST || self.used.get() != 0 {
            return None;
        }
        // A writer that interrupts in between finds 0 and is done, 0 again, when this goes on. No size is 0.
        self.used.set(size.word());
        // For the probe, which comes back with the address of the bytes.
        let _ = (&raw const *self).expose_provenance();
        Some(NonNull::from(&self.bytes).cast())
    }
}

pub(super) static PLACES: LazyPerCpu<KBox<ScratchPlace>> = LazyPerCpu::new();

/// Whether each CPU has its place in `rt_scratch`.
static ARE_THERE: SharedU64 = SharedU64::zero();

/// For writers inside of the user of the first place, as many as a ring takes: interrupts, and events inside events.
pub(super) static MORE: LazyPerCpu<KVec<KBox<ScratchPlace>>> = LazyPerCpu::new();

/// Allocates the memory. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    PLACES.prepare(|_| ScratchPlace::new())?;
    for cpu in 0..cpus::most() {
        let own = percpu::part_of((&raw const rt_scratch).cast_mut(), cpu);
        if let (Some(own), Some(place)) = (own, PLACES.of(cpu)) {
            let place = ptr::from_ref::<ScratchPlace>(place).expose_provenance();
            // SAFETY: It is that CPU's own word, which others only load, and which gets the same address each time.
            unsafe { own.write_volatile(with_exposed_provenance_mut(place)) };
        }
    }
    ARE_THERE.store_release(1);
    Ok(())
}

/// Allocates the memory for [`begin_at_any_level`]. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn prepare_all_levels() -> Result {
    prepare()?;
    MORE.prepare(|_| {
        let mut places = KVec::new();
        for _ in 1..MAX_NEST {
            places.push(ScratchPlace::new()?, GFP_KERNEL)?;
        }
        Ok(places)
    })
}

/// Returns room for a record as [`Places::begin`], also for a writer that interrupts others that have some.
pub(crate) fn begin_at_any_level(pin: &CpuPin, size: PackedSize) -> Option<NonNull<c_void>> {
    let first = Places::get().and_then(|places| places.begin(pin, size));
    first.or_else(|| MORE.this(pin)?.iter().find_map(|place| place.begin(size)))
}

/// The places of all CPUs.
///
/// # Invariants
///
/// Each CPU's `rt_scratch` is the exposed address of its own one among [`PLACES`].
#[derive(Clone, Copy)]
pub(crate) struct Places(());

impl Places {
    /// The word of places.
    const BIT: u64 = 1;

    /// Returns those that there are, until unload.
    pub(crate) fn get() -> Option<Self> {
        // Acquire: pairs with the release in `prepare`.
        // INVARIANT: It was set there for all, and stays.
        (ARE_THERE.load_acquire() != 0).then_some(Self(()))
    }

    /// Returns them as an odd word.
    pub(crate) fn word(self) -> u64 {
        Self::BIT
    }

    /// Returns those of that word; nothing from an even one.
    ///
    /// # Safety
    ///
    /// It is even or from [`Self::word`].
    #[inline(always)]
    pub(crate) unsafe fn of_word(word: u64) -> Option<Self> {
        // INVARIANT: An odd word is that of places which were there, as the caller promises.
        (word & Self::BIT != 0).then_some(Self(()))
    }

    /// Returns room for a record of this size on this CPU, of unknown content, until [`Record::end`].
    /// Nothing when another record is in it, or when the record is too long.
    #[inline(always)]
    pub(crate) fn begin(self, _: &CpuPin, size: PackedSize) -> Option<NonNull<c_void>> {
        let place: usize;
        // SAFETY: It reads a per-CPU variable of ours of eight bytes, which stays as it is (invariant).
        unsafe {
            asm!(concat!("mov {place}, ", own_word!()), place = out(reg) place,
                own = sym rt_scratch, options(nostack, preserves_flags, readonly, pure))
        };
        // SAFETY: It is the exposed address of the place of this CPU (invariant), on which the pin keeps the caller. It
        // stays until unload, when no probe runs any more.
        let place = unsafe { &*with_exposed_provenance::<ScratchPlace>(place) };
        place.begin(size)
    }
}

/// A record in the place of this CPU.
///
/// # Invariants
///
/// - It is the address of the bytes of a [`ScratchPlace`] that [`Places::begin`] has exposed.
/// - The place is used by nothing else until it ends.
/// - The word before the bytes is that of its size, which is not more than [`LONGEST_BYTES`].
#[repr(transparent)]
pub(crate) struct Record<'a>(*mut c_void, PhantomData<&'a ScratchPlace>);

impl Record<'_> {
    /// Returns the one that was filled.
    ///
    /// # Safety
    ///
    /// `entry` is from [`Places::begin`] on this CPU, and was not given back by [`Self::end`] since. The
    /// caller, and the probe that filled it, touch it only by the result; there is no other [`Record`] of it.
    #[inline(always)]
    pub(crate) unsafe fn filled(entry: *mut c_void) -> Self {
        // INVARIANT: It was given to the caller, of a size that `begin` has looked at.
        Self(entry, PhantomData)
    }

    /// Returns the place that it is in.
    #[inline(always)]
    fn place(&self) -> &ScratchPlace {
        let place = self.0.addr().wrapping_sub(offset_of!(ScratchPlace, bytes));
        // SAFETY: The bytes are those of a place that `begin` has exposed, by the first invariant, and that
        // stays as long as probes run.
        unsafe { &*with_exposed_provenance::<ScratchPlace>(place) }
    }

    /// Returns its size.
    #[inline(always)]
    pub(crate) fn size(&self) -> PackedSize {
        // SAFETY: The word is that of a size, by the third invariant.
        unsafe { PackedSize::from_word(self.place().used.get()) }
    }

    /// Returns its bytes.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        let len = self.size().payload();
        // SAFETY: As many bytes are there by the third invariant, and no other code uses them by the second
        // one; `self` is borrowed for as long.
        unsafe { slice::from_raw_parts_mut(self.place().bytes.get().cast(), len) }
    }

    /// Returns the word that begins at `at`, little-endian; what is after the record is of unknown content.
    #[inline(always)]
    pub(crate) fn word(&self, at: PlacedWord) -> u64 {
        self.to_read().word(at)
    }

    /// Returns what reads it.
    #[inline(always)]
    pub(crate) fn to_read(&self) -> RecordToRead<'_> {
        // INVARIANT: It is borrowed for as long.
        RecordToRead(self.0, PhantomData)
    }

    /// Stores a half word of its own byte order at `AT`.
    #[inline(always)]
    pub(crate) fn put<const AT: usize>(&mut self, half: u32) {
        const { assert!(AT % size_of::<u32>() == 0 && AT <= MOST - size_of::<u32>()) };
        let to = self.place().bytes.get().cast::<u8>().wrapping_add(AT);
        // SAFETY: The bytes are inside the place, and aligned (asserted); no other code uses them by the second
        // invariant, and `self` is borrowed.
        unsafe { to.cast::<u32>().write(half) };
    }

    /// Copies what is after the first `AT` bytes, which are whole words, to the same place of a record at
    /// `to`.
    ///
    /// # Safety
    ///
    /// As many bytes as this one has are there, and the caller's alone.
    #[inline(always)]
    pub(crate) unsafe fn copy_behind<const AT: usize>(&self, to: *mut u8) {
        const WORD: usize = size_of::<u64>();
        const HALF: usize = size_of::<u32>();
        let from = self.place().bytes.get().cast::<u8>().cast_const();
        let len = self.size().payload();
        let mut end = AT.wrapping_add(WORD);
        while end <= len {
            let at = end.wrapping_sub(WORD);
            // SAFETY: The word ends inside of both records, by the condition; these are only used here, by
            // the second invariant and by what the caller promises.
            unsafe { copy::<u64>(to.wrapping_add(at), from.wrapping_add(at)) };
            end = end.wrapping_add(WORD);
            // Records are short: the compiler is not to make several loops of this one.
            barrier();
        }
        let rest = len & (WORD - 1);
        if rest == 0 {
            return;
        }
        let mut at = len.wrapping_sub(rest);
        if rest >= HALF {
            // SAFETY: The half word ends inside of both records, whose last `rest` bytes are left.
            unsafe { copy::<u32>(to.wrapping_add(at), from.wrapping_add(at)) };
            at = at.wrapping_add(HALF);
        }
        while at < len {
            // SAFETY: The byte is inside of both records, by the condition.
            unsafe { copy::<u8>(to.wrapping_add(at), from.wrapping_add(at)) };
            at = at.wrapping_add(1);
        }
    }

    /// Returns where [`Self::filled`] finds it again.
    #[inline(always)]
    pub(crate) fn into_entry(self) -> *mut c_void {
        self.0
    }

    /// Gives the place back.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.place().used.set(0);
    }
}

/// A [`Record`] that is only read.
///
/// # Invariants
///
/// It is the address of a [`Record`] that is borrowed as long as this is there.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct RecordToRead<'a>(*const c_void, PhantomData<&'a ScratchPlace>);

impl<'a> RecordToRead<'a> {
    /// Returns the word that begins at `at`, little-endian; what is after the record is of unknown content.
    #[inline(always)]
    pub(crate) fn word(self, at: PlacedWord) -> u64 {
        self.words().word(at)
    }

    /// Returns what reads its words.
    #[inline(always)]
    pub(crate) fn words(self) -> RecordWords<'a> {
        // INVARIANT: All words are inside the place, by the invariant of `PlacedWord`; no other code writes there, as
        // the record is borrowed (invariant).
        RecordWords(self.0, PhantomData)
    }

    /// Returns the two words that begin where a string does, by what a field has: in the lower half where that is in the
    /// record, in the upper one its length. `None` unless it is inside of the record and has a NUL at its end: the
    /// first NUL of the words, if there is one, is that of the string.
    #[inline(always)]
    pub(crate) fn ended_text(self, place: u32) -> Option<[u64; 2]> {
        let (at, len) = ((place & 0xffff) as usize, (place >> 16) as usize);
        let end = at.wrapping_add(len);
        if len == 0 || !self.reaches(end) {
            return None;
        }
        let last = with_exposed_provenance::<u8>(self.0.addr().wrapping_add(end).wrapping_sub(1));
        // SAFETY: The byte is in the record, which no other code writes, as it is borrowed (invariant): the string is not
        // empty and ends in the record.
        if unsafe { last.read() } != 0 {
            return None;
        }
        // INVARIANT: The string begins in the record, whose length is not more than `LONGEST_BYTES`: two words from
        // there on are inside of the place.
        let words = [
            PlacedWord(at),
            PlacedWord(at.wrapping_add(size_of::<u64>())),
        ];
        Some(words.map(|at| self.word(at)))
    }

    /// Returns its size.
    #[inline(always)]
    fn size(self) -> PackedSize {
        // INVARIANT: It is the address of one. This one is gone before the borrow ends, and changes nothing.
        Record(self.0.cast_mut(), PhantomData::<&'a ScratchPlace>).size()
    }

    /// Returns the number of its bytes.
    #[inline(always)]
    fn len(self) -> usize {
        self.size().payload()
    }

    /// Returns whether it has so many bytes.
    #[inline(always)]
    fn reaches(self, end: usize) -> bool {
        let size = self.size();
        match size.unusual_payload() {
            None => end <= size.payload(),
            Some(len) => {
                // The compiler is not to choose one of two numbers and compare then: that is longer for both.
                barrier();
                end <= len
            }
        }
    }

    /// Returns its bytes.
    #[inline(always)]
    pub(crate) fn bytes(self) -> &'a [u8] {
        let len = self.len();
        let bytes = with_exposed_provenance(self.0.addr());
        // SAFETY: As many bytes are there by the third invariant of `Record`, and no other code writes there, as
        // the record is borrowed (invariant).
        unsafe { slice::from_raw_parts(bytes, len) }
    }
}

/// The words of a record, which may be in the ring.
///
/// # Invariants
///
/// The bytes of the words that are read are there, at this address, and no other code writes there as long as this is
/// there.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct RecordWords<'a>(*const c_void, PhantomData<&'a [u8]>);

impl RecordWords<'_> {
    /// Returns those of the record whose bytes are there.
    ///
    /// # Safety
    ///
    /// They are, with exposed provenance, and no other code writes there as long as the result is there; no word is read
    /// that ends after the record.
    #[inline(always)]
    pub(crate) unsafe fn of_bytes(bytes: *const c_void) -> Self {
        // INVARIANT: The caller promises it.
        Self(bytes, PhantomData)
    }

    /// Returns the word that begins at `at`, little-endian; what is after the record is of unknown content.
    #[inline(always)]
    pub(crate) fn word(self, at: PlacedWord) -> u64 {
        let word = with_exposed_provenance::<u64>(self.0.addr().wrapping_add(at.0));
        // SAFETY: Eight bytes are there, which no other code writes (invariant).
        u64::from_le(unsafe { word.read_unaligned() })
    }
}

/// Copies the bytes of a `T`.
///
/// # Safety
///
/// They are there, at both places, which do not overlap; those at `to` are the caller's alone.
#[inline(always)]
unsafe fn copy<T: Copy>(to: *mut u8, from: *const u8) {
    // SAFETY: The caller promises the bytes of a `T` at both places, apart from each other.
    unsafe { from.copy_to_nonoverlapping(to, size_of::<T>()) };
}

/// Where a word is in a record.
///
/// # Invariants
///
/// The word is inside of a place.
#[derive(Clone, Copy)]
pub(crate) struct PlacedWord(usize);

impl PlacedWord {
    /// The first one. INVARIANT: A place has one.
    pub(crate) const FIRST: Self = Self(0);

    /// Returns where it ends.
    pub(crate) fn end(self) -> usize {
        self.0.wrapping_add(size_of::<u64>())
    }

    /// Returns that at this offset; nothing when no place is so long.
    pub(crate) fn new(offset: usize) -> Option<Self> {
        // INVARIANT: Not after the last one of a place.
        (offset <= MOST - size_of::<u64>()).then_some(Self(offset))
    }
}
