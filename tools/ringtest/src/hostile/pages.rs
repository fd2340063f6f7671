// SPDX-License-Identifier: GPL-2.0
//! Sub-buffers: right ones, right ones with something wrong, and noise; through the one decoder,
//! through the walks of `trace` and `trace_pipe`, and through a second decoder that gives up where
//! it is in doubt.

use super::source::Source;
use crate::{
    plain,
    ring::{
        cursor::Cursor,
        wire::{
            self,
            EventSize,
            MalformedRecord, //
        },
    },
    stream::{
        Tour,
        Walk, //
    },
};

/// An event as the generator or the second decoder knows it: time, where it begins and ends,
/// payload.
type Event = (u64, usize, usize, Vec<u8>);

fn push(data: &mut Vec<u8>, words: &[u32]) {
    data.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
}

/// A delta that a time record holds.
fn delta(source: &mut Source) -> u64 {
    source.number() & wire::STAMP_MAX >> 1
}

/// Returns data as a writer leaves it, and the events in it.
fn written(source: &mut Source, mut time: u64) -> (Vec<u8>, Vec<Event>) {
    let (mut data, mut events) = (vec![], vec![]);

    for _ in 0..source.below(6) {
        let most = if source.once_in(8) { 300 } else { 40 };
        let payload = source.below(most);
        let size = EventSize::new(payload, 4080).unwrap();
        let mut small = 0;

        match source.below(4) {
            0 => {
                let long = delta(source);
                push(&mut data, &wire::time_record(wire::TIME_EXTEND, long));
                time = time.wrapping_add(long);
            }
            1 => {
                time = time.wrapping_add(source.below(1000) as u64);
                push(&mut data, &wire::time_record(wire::TIME_STAMP, time));
            }
            2 => {
                // A discarded event: padding, and its own time in what is left of it.
                push(&mut data, &wire::padding(8));
                time = time.wrapping_add(source.below(1000) as u64);
                push(&mut data, &wire::time_record(wire::TIME_STAMP, time));
            }
            _ => small = source.number() & wire::DELTA_MAX,
        }
        let offset = data.len();
        time = time.wrapping_add(small);
        push(&mut data, &[wire::header(size.type_len, small as u32)]);
        if size.type_len == 0 {
            push(&mut data, &[size.length_word()]);
        }
        let head = if size.type_len == 0 { 8 } else { 4 };
        let len = (size.total - head) as usize;
        let bytes: Vec<u8> = (0..len).map(|_| source.next() as u8).collect();
        data.extend(&bytes);
        events.push((time, offset, data.len(), bytes));
    }
    (data, events)
}

/// Returns what the decoder finds. It must end, and stay inside the data.
fn decoded(data: &[u8], offset: usize, time: u64) -> (Vec<Event>, bool) {
    let (mut events, mut broken) = (vec![], false);
    let mut cursor = Cursor::at(data, offset, time);
    let mut behind = offset;

    while let Some(event) = cursor.next() {
        assert!(!broken, "an event behind malformed bytes");
        match event {
            Ok(event) => {
                assert!(event.offset >= behind && event.next >= event.offset + 4);
                assert!(event.next <= data.len());
                behind = event.next;
                events.push((event.time, event.offset, event.next, event.payload.to_vec()));
            }
            Err(MalformedRecord) => broken = true,
        }
    }
    (events, broken)
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

/// A second decoder, from the description of the format. Stops at malformed data.
fn second(data: &[u8], mut at: usize, mut time: u64) -> (Vec<Event>, bool) {
    let mut events = vec![];

    while at < data.len() {
        let Some(head) = word(data, at) else {
            return (events, true);
        };
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        if kind == 29 && delta == 0 {
            return (events, false);
        }
        let more = word(data, at + 4);
        if matches!(kind, 0 | 29..=31) && more.is_none() {
            return (events, true);
        }
        let more = more.unwrap_or(0) as usize;
        let end = match kind {
            0 if more < 4 => return (events, true),
            0 => at + 8 + (more - 4).next_multiple_of(4),
            29 => at + more + 4,
            30 | 31 => at + 8,
            words => at + 4 + words as usize * 4,
        };
        if end > data.len() {
            return (events, true);
        }
        let value = (more as u64) << 27 | delta;
        match kind {
            29 => {}
            30 => time = time.wrapping_add(value),
            31 => {
                const TOP: u64 = !((1 << 59) - 1);
                let near = time & TOP | value;
                time = match near < time && time - near > wire::STAMP_MAX / 2 {
                    true => near.wrapping_add(1 << 59),
                    false => near,
                };
            }
            _ => {
                time = time.wrapping_add(delta);
                let (from, to) = match kind {
                    0 => (at + 8, at + 8 + more - 4),
                    _ => (at + 4, end),
                };
                events.push((time, at, end, data[from..to].to_vec()));
            }
        }
        at = end;
    }
    (events, false)
}

/// Bytes that look like records.
fn noise(source: &mut Source) -> Vec<u8> {
    let mut data = vec![];

    for _ in 0..source.below(24) {
        let kind = match source.below(3) {
            0 => *source.pick(&[0, 29, 30, 31]),
            _ => source.below(32) as u32,
        };
        let word = match source.below(4) {
            0 => source.next() as u32,
            1 => source.below(64) as u32,
            _ => wire::header(kind, source.number() as u32),
        };
        push(&mut data, &[word]);
    }
    data.extend(source.bytes(3));
    data
}

pub fn random_pages(source: &mut Source) {
    let data = noise(source);
    let offset = source.below(data.len() + 8) & !3;
    let time = source.number();

    assert_eq!(
        decoded(&data, offset, time),
        second(&data, offset, time),
        "{data:?} from {offset} at {time}"
    );
}

pub fn right_pages(source: &mut Source) {
    let time = source.number() >> 1;
    let (data, events) = written(source, time);

    assert_eq!(decoded(&data, 0, time), (events.clone(), false));
    let plain: Vec<_> = plain::decode(&data, 0, time)
        .into_iter()
        .map(|event| (event.time, event.next, event.payload))
        .collect();
    let wanted: Vec<_> = events
        .into_iter()
        .map(|(time, _, next, payload)| (time, next, payload))
        .collect();
    assert_eq!(plain, wanted);
}

pub fn broken_pages(source: &mut Source) {
    let time = source.number();
    let (mut data, _) = written(source, time);

    source.spoil(&mut data);
    assert_eq!(decoded(&data, 0, time), second(&data, 0, time), "{data:?}");
}

pub fn walks(source: &mut Source) {
    let time = source.number();
    let mut data = match source.once_in(3) {
        true => noise(source),
        false => written(source, time).0,
    };
    if source.once_in(2) {
        source.spoil(&mut data);
    }
    let (events, _) = decoded(&data, 0, time);
    let mut walk = Walk::new(&data, 0, time);
    let skipped = source.below(events.len() + 3);

    walk.skip(&data, skipped as u64);
    for (stamp, offset, _, payload) in events.iter().skip(skipped) {
        assert_eq!(walk.stamp(), Some(*stamp));
        assert!(walk.passed().0 <= *offset);
        assert_eq!(walk.record(&data), Some(payload.as_slice()));
        walk.pass(&data);
    }
    assert_eq!((walk.stamp(), walk.record(&data)), (None, None));
    assert!(walk.passed().0 <= data.len());
    // Nothing more comes, and a walk that continues from here finds the end, too.
    walk.pass(&data);
    let (offset, time) = walk.passed();
    assert_eq!(Walk::new(&data, offset, time).stamp(), None);
}

/// A time that a record has no room for comes back whole when it is near enough.
pub fn absolute_times(source: &mut Source) {
    let base = source.number() >> 1;
    let time = base + (delta(source) >> 1);
    let mut data = vec![];

    push(&mut data, &wire::time_record(wire::TIME_STAMP, time));
    push(&mut data, &[wire::header(1, 0), 7]);
    let (events, broken) = decoded(&data, 0, base);
    assert!(!broken);
    assert_eq!(events[0].0, time, "from {base}");
}

/// The image of a sub-buffer tells what is in it, what was lost, and nothing else.
pub fn images(source: &mut Source) {
    let len = source.below(64) * 4;
    let room = len + source.below(4) * 4;
    let (stamp, lost) = (source.number(), source.number());
    let mut image = vec![0; wire::HEADER + room];

    for byte in &mut image[wire::HEADER..wire::HEADER + len] {
        *byte = source.next() as u8;
    }
    let data = image[wire::HEADER..wire::HEADER + len].to_vec();
    wire::finish_image(&mut image, stamp, len, lost);
    let found = plain::image(&image);
    assert_eq!((found.stamp, found.data), (stamp, data.as_slice()));
    assert_eq!(found.missed, lost != 0);
    let told = found.missed && room - len >= 8;
    assert_eq!(found.missed_count, told.then_some(lost));
    // An image with no room for its own head is left alone.
    let mut short = source.bytes(wire::HEADER - 1);
    let before = short.len();
    wire::finish_image(&mut short, stamp, len, lost);
    assert_eq!(short.len(), before);
}

/// A tour through numbers that no ring has knows its place.
pub fn tours(source: &mut Source) {
    let mut tour = Tour::default();
    // The number of the next event, once it is in a sub-buffer.
    let mut next = None;

    for _ in 0..source.below(12) {
        let (bound, seq, event) = (source.number(), source.number(), source.number());
        let forgotten = source.number();

        tour.go_on_to(bound);
        assert_eq!(tour.done(), next.unwrap_or(0) >= bound);
        assert_eq!(tour.further().is_some(), next.is_some());

        let entered = tour.enter(seq, event, forgotten);
        let here = next.unwrap_or(event).max(forgotten);
        assert_eq!(entered.seen, here.saturating_sub(event));
        assert_eq!(entered.missed, event.saturating_sub(here));
        assert_eq!(tour.further(), Some(seq));
        assert_eq!(tour.same(), seq.checked_sub(1));

        let passed = source.below(10);
        (0..passed).for_each(|_| tour.pass());
        next = Some(here.max(event).saturating_add(passed as u64));
    }
}
