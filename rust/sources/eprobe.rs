// SPDX-License-Identifier: GPL-2.0

//! Event probes: events that are recorded when another event is, with fields of its record.
//!
//! In each instance that has the event enabled, a [`EventFollower`] of the other event looks at each record. So the
//! other event need not be enabled, and its filter and its triggers do not matter.
//!
//! [`EventRecorder`] runs in any context, NMI included: no lock, no allocation, no panic.

use super::{
    defined::DefinedProbe,
    hit_counts::{
        HitKind,
        HitSums, //
    },
    hit_kernel::{
        HitKernel,
        SharedByHits, //
    },
    probe::{
        self,
        RecordBytes, //
    },
    probe_layout::ProbeLayout,
    quick_eprobe::quick_recorder,
    siblings::{
        FollowedSiblings,
        SiblingProbes, //
    },
    synthetic::SyntheticRef,
    user_events::UserEventUse, //
};
use crate::{
    events::{
        self,
        Attachment,
        Event,
        ModuleHold,
        PrintManner,
        Recipient,
        Symbols, //
    },
    fetch::run::{
        ProbedMachine,
        WORDS, //
    },
    kapi::{
        grace::SharedWait,
        kprobe::LeavingProbes,
        lent_ref::LentRef,
        nesting::NestedWriter,
        percpu::CpuPin,
        strings,
        task, //
    },
    probes::{
        Effect,
        EventFile,
        EventFollower,
        Filter,
        Hit,
        MOST_PAYLOAD, //
    },
    synthetic::command::SYSTEM,
    text::writer::ByteWrite,
    user_events, //
};
use core::ptr;
use kernel::{
    fmt,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// The event that a definition follows, which stays as long as this is there.
pub(super) struct FollowedEvent {
    event: &'static Event,
    _module: Option<ModuleHold>,
    _synthetic: Option<SyntheticRef>,
    _user: Option<UserEventUse>,
    /// Of an event that another definition makes.
    siblings: Option<FollowedSiblings>,
}

impl FollowedEvent {
    /// Returns that of these names; `None` when there is none that can be followed. `defined` returns the probes of an
    /// event that a definition makes. Process context, with the definitions locked.
    pub(super) fn find(
        system: &str,
        name: &str,
        defined: impl FnOnce(&Event) -> Option<Arc<SiblingProbes>>,
    ) -> Option<Self> {
        let event = events::by_name(system, name)?;
        if !event.source().may_be_followed() {
            return None;
        }
        let siblings = defined(event).map(FollowedSiblings::new);
        // Other definitions, and other modules, may have events in these systems.
        let is_by_fields = event.serial() != 0 && siblings.is_none() && event.module().is_none();
        let (synthetic, user) = match system {
            SYSTEM if is_by_fields => (Some(SyntheticRef::find(name.as_bytes())?), None),
            user_events::SYSTEM | user_events::MULTI_SYSTEM if is_by_fields => {
                (None, Some(UserEventUse::of_event(event)?))
            }
            _ => (None, None),
        };
        let module = event.hold_module().ok()?;
        Some(Self {
            event,
            _module: module,
            _synthetic: synthetic,
            _user: user,
            siblings,
        })
    }

    /// Lets another definition, which makes the event, be removed together with what follows it.
    pub(super) fn let_go(&mut self) {
        self.siblings = None;
    }

    /// Returns the event.
    pub(super) fn event(&self) -> &'static Event {
        self.event
    }
}

/// Followers that were detached.
static DETACHED: SharedWait = SharedWait::new();

/// What a definition says of its records, and what its hits share, for all instances.
pub(super) struct FollowingLayout {
    pub(super) layout: ProbeLayout,
    pub(super) hits: SharedByHits,
}

/// The probe of a definition.
#[pin_data]
pub(super) struct Eprobe {
    shared: Arc<FollowingLayout>,
    followed: &'static Event,
    /// The text of the filter; empty if there is none.
    filter: KVec<u8>,
    #[pin]
    state: Mutex<EprobeState>,
}

struct EprobeState {
    followers: KVec<AttachedFollower>,
    /// Those that were detached; probes may still be in them.
    retired: KVec<KBox<EventFollower>>,
    /// The number of the last of them among all that were detached.
    last_retired: u64,
    /// The definition is being removed.
    ended: bool,
}

/// What follows the event for one instance.
struct AttachedFollower {
    of: Attachment,
    follower: KBox<EventFollower>,
}

impl EprobeState {
    /// Frees those that were detached.
    fn free_retired(&mut self) {
        if self.retired.is_empty() {
            return;
        }
        DETACHED.pass(self.last_retired, events::synchronize);
        for follower in core::mem::take(&mut self.retired) {
            super::forget(follower.recipient());
        }
    }
}

impl Eprobe {
    /// Returns that of a definition whose records have this layout.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(
        layout: ProbeLayout,
        followed: &'static Event,
        filter: &str,
    ) -> Result<Arc<Self>> {
        let mut text = KVec::new();
        text.extend_from_slice(filter.as_bytes(), GFP_KERNEL)?;
        // Symbols have the addresses that they had at the definition, as in ftrace.
        let hits = SharedByHits::new(&layout)?;
        let shared = Arc::new(FollowingLayout { layout, hits }, GFP_KERNEL)?;
        let state = EprobeState {
            followers: KVec::new(),
            retired: KVec::new(),
            last_retired: 0,
            ended: false,
        };
        Arc::pin_init(
            pin_init!(Self {
                shared,
                followed,
                filter: text,
                state <- new_mutex!(state),
            }),
            GFP_KERNEL,
        )
    }

    /// Returns the filter, compiled once more.
    fn compile_filter(&self) -> Result<Option<KBox<Filter>>> {
        if self.filter.is_empty() {
            return Ok(None);
        }
        let filter = Filter::new(self.followed, &self.filter)?;
        filter.map(Some).map_err(|_| EINVAL)
    }
}

impl DefinedProbe for Eprobe {
    fn layout(&self) -> &ProbeLayout {
        &self.shared.layout
    }

    fn attach(&self, to: Attachment) -> Result {
        let filter = self.compile_filter()?;
        // SAFETY: The file is about to be attached here.
        let file = unsafe { EventFile::of_attachment(&to) };
        let recorder = EventRecorder {
            shared: self.shared.clone(),
            // SAFETY: `detach` detaches what follows, and the file goes after `events::synchronize` has waited for the
            // writers in that, as this does in `free_retired`.
            file: unsafe { LentRef::new(file) },
        };
        let effect = quick_recorder(recorder)?;
        let mut state = self.state.lock();
        if state.ended {
            return Err(ENODEV);
        }
        state.free_retired();
        // So that `detach` needs no memory.
        let all = state.followers.len().saturating_add(1);
        state.retired.reserve(all, GFP_KERNEL)?;
        state.followers.reserve(1, GFP_KERNEL)?;
        // SAFETY: `detach` detaches what follows, which goes in `free_retired`.
        let follower = unsafe { EventFollower::new(self.followed, file, effect, filter) }?;
        let source = self.followed.source();
        let attached = source.attach(follower.attachment(to.user_bytes()));
        attached.inspect_err(|_| super::forget(follower.recipient()))?;
        let attached = AttachedFollower { of: to, follower };
        let _ = state.followers.push_within_capacity(attached);
        Ok(())
    }

    fn detach(&self, from: Attachment) {
        let mut state = self.state.lock();
        let is_meant = |attached: &AttachedFollower| attached.of.is_same(&from);
        let Some(at) = state.followers.iter().position(is_meant) else {
            return;
        };
        let Ok(attached) = state.followers.remove(at) else {
            return;
        };
        let follower = attached.follower;
        let source = follower.event().source();
        source.detach(follower.attachment(from.user_bytes()));
        // There is room since it was attached.
        let _ = state.retired.push_within_capacity(follower);
        state.last_retired = DETACHED.leave();
    }

    fn own_depth(&self) -> u32 {
        self.followed.source().own_depth()
    }

    fn write_head(
        &self,
        _: &[u8],
        _: PrintManner,
        _: &mut Symbols,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let followed = self.followed;
        write!(out, "({}.{})", followed.system(), followed.name())
    }

    fn is_used(&self) -> bool {
        !self.state.lock().followers.is_empty()
    }

    fn end(&self) -> Result {
        let mut state = self.state.lock();
        if !state.followers.is_empty() {
            return Err(EBUSY);
        }
        state.ended = true;
        Ok(())
    }

    fn clear(&self, _: &mut LeavingProbes) {
        self.state.lock().free_retired();
    }

    fn sums(&self) -> HitSums {
        self.shared.hits.counts.sums(None)
    }

    fn followed(&self) -> Option<&'static Event> {
        Some(self.followed)
    }

    fn is_following(&self, event: &Event, recipient: Recipient) -> bool {
        let state = self.state.lock();
        let mut followers = state.followers.iter();
        followers.any(|attached| attached.follower.is_for(event, recipient))
    }
}

/// Records the event, for one instance, when the other one is.
pub(super) struct EventRecorder {
    pub(super) shared: Arc<FollowingLayout>,
    pub(super) file: LentRef<EventFile>,
}

impl EventRecorder {
    /// Counts an event that is not recorded because too many are inside each other. Any context, in a probe of the event
    /// that is followed.
    pub(super) fn too_deep(&self, pin: &CpuPin) {
        self.shared.hits.counts.count(HitKind::TooDeep);
        self.file.miss(pin);
    }
}

impl Effect for EventRecorder {
    fn miss(&self, pin: &CpuPin) {
        self.too_deep(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        let Some(_nested) = NestedWriter::enter(hit.pin()) else {
            return self.too_deep(hit.pin());
        };
        let FollowingLayout { layout, hits } = &*self.shared;
        hits.counts.count(HitKind::Hit);
        let kernel = HitKernel::new(hits);
        let machine = FollowedRecord { record, kernel };
        let program = layout.program();
        let longest = || self.file.longest(hit.pin());
        program.with_rooms(&machine, MOST_PAYLOAD, longest, |size, rooms| {
            let fill = |own: &mut [u8]| program.fill(&machine, rooms, own);
            probe::record(&self.file, &RecordBytes::new(size), fill);
        });
    }
}

/// A record that is followed, and the memory of this machine.
struct FollowedRecord<'a> {
    record: &'a [u8],
    kernel: HitKernel<'a>,
}

impl<'a> ProbedMachine for FollowedRecord<'a> {
    type Kernel = HitKernel<'a>;

    fn kernel(&self) -> &HitKernel<'a> {
        &self.kernel
    }

    fn registers(&self) -> &[u64; WORDS] {
        &[0; WORDS]
    }

    fn read(&self, address: u64, to: &mut [u8], user: bool) -> bool {
        strings::read(address, to, user)
    }

    fn comm_address(&self) -> u64 {
        task::comm_address()
    }

    fn record(&self) -> (&[u8], u64) {
        (self.record, ptr::from_ref(self.record).addr() as u64)
    }
}
