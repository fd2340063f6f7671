// SPDX-License-Identifier: GPL-2.0
//! A ring that nothing uses but the holder: it may be emptied, and get other parts.

use core::mem;
use core::ops::DerefMut;

use super::cpu::{CpuRing, Parts, ReaderState};
use super::port::{Memory as _, Port};
use super::pos::Layout;
use super::slot::SubBufIndex;
use super::subbuf::SubBuf;

/// A ring in no use, and the memory of its reader.
///
/// # Invariants
///
/// No writer is active and none begins during `'r`, and `state` is that of the ring, which nothing
/// else has: so no other code has a reference to the parts of the ring.
pub(crate) struct IdleRing<'r, P: Port> {
    ring: &'r CpuRing<P>,
    state: &'r mut ReaderState,
}

impl<P: Port> CpuRing<P> {
    /// Returns the ring, in no use.
    ///
    /// # Safety
    ///
    /// - No writer is active and none begins during `'r` (recording is disabled and a grace period
    ///   has passed).
    /// - `state` is this ring's.
    pub(crate) unsafe fn idle<'r>(&'r self, state: &'r mut ReaderState) -> IdleRing<'r, P> {
        // INVARIANT: the caller promises both; the state is borrowed mutably.
        IdleRing { ring: self, state }
    }
}

impl<P: Port> IdleRing<'_, P> {
    /// Returns the ring. What is borrowed of its parts is given back before they are changed.
    pub(super) fn ring(&self) -> &CpuRing<P> {
        self.ring
    }

    /// Returns the memory of the reader.
    pub(super) fn state(&mut self) -> &mut ReaderState {
        self.state
    }

    /// Returns both.
    pub(super) fn split(&mut self) -> (&CpuRing<P>, &mut ReaderState) {
        (self.ring, &mut *self.state)
    }

    /// Returns the parts, for change.
    fn parts(&mut self) -> &mut Parts<P> {
        // SAFETY: the ring is in no use (invariant), and `self` is borrowed, so that no reference
        // from `ring` is left.
        unsafe { self.ring.s.parts.get_mut() }
    }

    /// Returns a sub-buffer, for change.
    pub(super) fn subbuf(&mut self, index: SubBufIndex) -> Option<&mut SubBuf<P>>
    where
        P::Table<SubBuf<P>>: DerefMut,
    {
        self.parts().subbufs.get_mut(index.0 as usize)
    }

    /// Exchanges the parts; returns the old ones.
    ///
    /// # Safety
    ///
    /// Before the ring is used again the caller makes all words fit the new parts, and gives
    /// sub-buffers without memory that of the ring's.
    pub(super) unsafe fn replace(&mut self, new: FittingParts<P>) -> Parts<P> {
        // SAFETY: the ring is in no use (invariant), and `self` is borrowed, so that no reference
        // from `ring` is left.
        *unsafe { self.ring.layout.get_mut() } = new.layout;
        mem::replace(self.parts(), new.parts)
    }
}

/// Parts for a ring.
///
/// # Invariants
///
/// All sub-buffers are for `layout`. Only if it is that of the ring some may have no memory, and there
/// are enough with those of the ring then.
pub(super) struct FittingParts<P: Port> {
    parts: Parts<P>,
    layout: Layout,
}

impl<P: Port> FittingParts<P> {
    /// Returns `parts`, if `ring` can use them; else gives them back.
    pub(super) fn of(ring: &CpuRing<P>, parts: Parts<P>) -> Result<Self, Parts<P>> {
        match layout_of(ring, &parts) {
            // INVARIANT: as `layout_of` has found.
            Some(layout) => Ok(Self { parts, layout }),
            None => Err(parts),
        }
    }

    /// Returns the layout that the ring will have with them.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns how many slots there are.
    pub(super) fn slots(&self) -> u64 {
        self.parts.slots.len() as u64
    }
}

/// Returns the layout that `ring` would have with these parts, `None` if it cannot use them.
fn layout_of<P: Port>(ring: &CpuRing<P>, parts: &Parts<P>) -> Option<Layout> {
    parts.check().ok()?;
    let wanted = parts.subbufs.len();
    let same = parts.count_of(ring.layout.size());
    if same.saturating_add(parts.count_of(0)) == wanted {
        let there = same.saturating_add(ring.subbufs().len());
        return (there >= wanted).then_some(*ring.layout);
    }
    let size = parts.subbufs.first()?.memory().size();
    let layout = Layout::for_size(size)?;
    (parts.count_of(size) == wanted).then_some(layout)
}
