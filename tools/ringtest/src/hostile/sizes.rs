// SPDX-License-Identifier: GPL-2.0
//! Events around the size of a sub-buffer, for all sizes of sub-buffers: each is stored whole or
//! refused and counted.

use std::cell::RefCell;

use super::source::Source;
use crate::{
    plain,
    ring::{
        cpu::{
            CpuRing,
            ReaderState, //
        },
        wire::{
            EventSize,
            HEADER, //
        },
        writer::ReserveError, //
    },
    sim::{
        parts,
        Sim, //
    },
};

const SLOTS: usize = 3;
const ORDERS: usize = 8;

struct Ring {
    ring: CpuRing<Sim>,
    state: ReaderState,
    size: usize,
    now: u64,
}

thread_local! {
    /// One ring of each order; they live on, so that every state of them gets such events.
    static RINGS: RefCell<Vec<Ring>> = RefCell::new((0..ORDERS).map(|order| {
        let size = 4096 << order;
        let parts = parts(SLOTS, size);
        let (ring, state) = CpuRing::new(parts, size).unwrap();
        ring.set_overwrite(true);
        Ring { ring, state, size, now: 1000 }
    }).collect());
}

impl Ring {
    /// Writes `len` bytes of `fill`; returns whether the event was taken.
    fn write(&mut self, len: usize, fill: u8) -> bool {
        // SAFETY: One thread, and no writer is active.
        let writer = unsafe { self.ring.writer() };
        match writer.reserve(len, || self.now) {
            Ok(mut event) => {
                assert_eq!(event.payload().len(), len);
                event.payload().fill(fill);
                event.commit();
                true
            }
            Err(why) => {
                assert_eq!(why, ReserveError::TooBig, "{len} bytes in {}", self.size);
                false
            }
        }
    }

    /// Returns all events, as (time, payload).
    fn drain(&mut self) -> Vec<(u64, Vec<u8>)> {
        let mut events = vec![];
        loop {
            let mut image = vec![0; self.size];
            // SAFETY: The state was made together with this ring.
            let mut reader = unsafe { self.ring.reader(&mut self.state) };
            if reader.take_image(&mut image).unwrap().is_none() {
                return events;
            }
            let image = plain::image(&image);
            let found = plain::decode(image.data, 0, image.stamp);
            events.extend(found.into_iter().map(|event| (event.time, event.payload)));
        }
    }
}

pub fn events_of_every_size(source: &mut Source) {
    // The large ones seldom, for they take their time.
    let order = source.below(ORDERS).min(source.below(ORDERS));
    RINGS.with_borrow_mut(|rings| {
        let ring = &mut rings[order];
        let capacity = ring.size - HEADER;
        let len = match source.below(3) {
            0 => capacity - 24 + source.below(40),
            1 => 100 + source.below(24),
            _ => source.number() as usize,
        };
        let before = {
            // SAFETY: The state was made together with this ring.
            let reader = unsafe { ring.ring.reader(&mut ring.state) };
            reader.stats().too_big
        };
        let fits = EventSize::new(len, capacity as u32).is_some();
        // The largest payload leaves room for its header, its length word and nothing else.
        assert_eq!(fits, len.saturating_add(3) & !3 <= capacity - 8);

        let (small, fill) = (1 + source.below(30), source.next() as u8);
        ring.now += source.number() >> 24;
        assert!(ring.write(small, !fill));
        let first = ring.now;
        ring.now += source.number() >> 24;
        assert_eq!(ring.write(len, fill), fits);
        let mut wanted = vec![(first, small, !fill)];
        if fits {
            wanted.push((ring.now, len, fill));
        }
        let found = ring.drain();
        assert_eq!(found.len(), wanted.len());
        for ((time, payload), (stamp, len, fill)) in found.iter().zip(wanted) {
            assert_eq!(*time, stamp);
            assert!(payload.len() >= len && payload[..len].iter().all(|b| *b == fill));
        }
        // SAFETY: The state was made together with this ring.
        let reader = unsafe { ring.ring.reader(&mut ring.state) };
        assert_eq!(reader.stats().too_big, before + u64::from(!fits));
    });
}
