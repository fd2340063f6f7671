// SPDX-License-Identifier: GPL-2.0
//! The map of histograms: its writers on two CPUs, and readers, in every execution of a few events.
//!
//! tools/ringtest `hists::` has writers that interrupt each other while memory is simple. Here writers of two
//! CPUs run operation by operation, as does a reader, one that takes all, and one that makes room. At the end each
//! key is in one entry with all that was counted for it, or its events are drops.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Collected};
use std::time::Instant;

use loom::sync::Mutex;

use crate::machine::{interrupt, no_interrupts, Checker, Machine, Word};
use crate::map::{Map, Part, Shape, LEVELS};
use crate::ring::port::{LocalWord, SharedWord};
use crate::runs::{self, long, tell};
use crate::weak::Weak;

/// Runs every execution, see [`runs::every`], whatever word the operations are of.
fn every(preemptions: Option<usize>, world: impl Fn() + Send + Sync + 'static) -> u64 {
    runs::every(preemptions, move || Weak::with_turns(&world))
}

type WeakMap = Map<Machine<Weak>>;

const CPUS: usize = 2;
/// Words of a key, and of a note: enough to be torn.
const KEY: usize = 2;
const NOTE: usize = 2;

fn zeroes(len: usize) -> Vec<Word<Weak>> {
    (0..len).map(|_| LocalWord::new(0)).collect()
}

fn new_map(size: usize) -> WeakMap {
    let shape = Shape {
        size,
        key_words: KEY,
        note_words: NOTE,
        sums: 2,
        raised: 0,
        variables: 1,
        cpus: CPUS,
    };
    let parts = (0..CPUS).map(|_| Part::new(zeroes(shape.own_words())));
    Map::new(
        shape,
        zeroes(shape.slots()),
        zeroes(shape.shared_words()),
        parts.collect(),
    )
}

fn words(key: u64) -> [u64; KEY] {
    [key, !key]
}

fn write(map: &WeakMap, cpu: usize, key: u64) -> Option<usize> {
    map.count_in(cpu, &words(key), &[key * 10], || words(key))
}

/// The same by the fast paths, if one of them leads there.
fn write_quickly(map: &WeakMap, cpu: usize, key: u64) {
    let (words, sums) = (words(key), [key * 10]);
    let first = map.count_first(cpu, &words, &sums);
    let known = first.or_else(|| map.count_known(cpu, &words, &sums));
    if known.is_none() {
        write(map, cpu, key);
    }
}

/// Returns the entries: for each key its events and its sum. Each is whole, and there is one of a key.
fn rows(map: &WeakMap) -> BTreeMap<u64, (u64, u64)> {
    let mut all = BTreeMap::new();
    let done = map.for_each_row(|_, row| {
        let row: Vec<u64> = row.collect();
        let key = row[0];
        assert_eq!(row[..KEY], words(key), "a torn key");
        assert_eq!(row[KEY..][..NOTE], words(key), "a torn note");
        let counted = (row[KEY + NOTE], row[KEY + NOTE + 1]);
        assert_eq!(all.insert(key, counted), None, "{key} is in two entries");
        Ok::<(), ()>(())
    });
    assert_eq!(done, Ok(()));
    all
}

/// Checks what so many events of each key have left, when no writer is active.
fn check(map: &WeakMap, events: &BTreeMap<u64, u64>, size: usize, writers: usize) {
    let all = rows(map);
    let (hits, drops) = map.totals();
    assert_eq!(hits + drops, events.values().sum::<u64>(), "events");
    assert_eq!(all.values().map(|row| row.0).sum::<u64>(), hits, "hits");
    assert!(drops == 0 || events.len() > size, "{drops} drops with room");
    assert!(all.len() <= size + writers, "{} entries", all.len());
    assert_eq!(map.entries(), all.len());
    for (key, (hits, sum)) in &all {
        assert_eq!(hits * key * 10, *sum, "sum");
        assert!(hits <= &events[key]);
        assert!(drops != 0 || *hits == events[key]);
        // It is before the first empty slot of its probe sequence.
        assert!(map.find(&words(*key)).is_some(), "an orphan");
    }
}

/// What writers do.
#[derive(Clone, Copy)]
struct Race {
    size: usize,
    /// Keys of the events of each CPU.
    keys: [&'static [u64]; CPUS],
    /// That of the events that interrupt the first CPU, and the instants at which they do.
    nested: (u64, [Option<u32>; LEVELS - 1]),
    /// Whether they try the fast path first.
    quick: bool,
}

const RACE: Race = Race {
    size: 2,
    keys: [&[1], &[1]],
    nested: (1, [None; LEVELS - 1]),
    quick: false,
};

impl Race {
    /// Runs it beside what the caller does; returns how many writers interrupted others.
    fn run(self, beside: impl FnOnce(&WeakMap)) -> u64 {
        Weak::no_writer();
        let map = Rc::new(new_map(self.size));
        let interrupts = Rc::new(Cell::new(0));
        let (inner, count) = (map.clone(), interrupts.clone());
        let key = self.nested.0;
        let at = self.nested.1.into_iter().flatten().collect();
        interrupt(
            at,
            Rc::new(move || {
                write(&inner, 0, key);
                count.set(count.get() + 1);
            }),
        );
        let threads: Vec<_> = (0..CPUS)
            .filter(|cpu| !self.keys[*cpu].is_empty())
            .map(|cpu| {
                let map = map.clone();
                Weak::spawn(move || {
                    if cpu == 0 {
                        Weak::become_writer();
                    }
                    for key in self.keys[cpu] {
                        match self.quick {
                            true => write_quickly(&map, cpu, *key),
                            false => drop(write(&map, cpu, *key)),
                        }
                    }
                })
            })
            .collect();
        beside(&map);
        threads.into_iter().for_each(Weak::join);
        Weak::no_writer();
        no_interrupts();
        let mut events = BTreeMap::new();
        for key in self.keys.into_iter().flatten() {
            *events.entry(*key).or_default() += 1;
        }
        if interrupts.get() != 0 {
            *events.entry(key).or_default() += interrupts.get();
        }
        check(&map, &events, self.size, CPUS * LEVELS);
        interrupts.get()
    }

    /// Explores it.
    fn explore(self, name: &str, short: usize, beside: fn(&WeakMap)) {
        let (began, most) = (Instant::now(), bound(short));
        let runs = every(Some(most), move || {
            self.run(beside);
        });
        tell(name, runs, began, &format!("at most {most} preemptions"));
    }

    /// Explores it with three writers that interrupt each other, the first of them each instant of the outer
    /// one in turn, and each other one so many instants later.
    fn explore_nested(self, name: &str, short: usize) {
        let (began, most) = (Instant::now(), bound(short));
        let (mut runs, mut programs, mut deepest) = (0, 0, 0);
        let step = if long() { 1 } else { 8 };
        for later in (1u32..=16).step_by(step) {
            for at in 0u32.. {
                let instants = [0, 1, 2].map(|level| Some(at + level * later));
                let race = Race {
                    nested: (self.nested.0, instants),
                    ..self
                };
                let reached = Arc::new(AtomicU64::new(0));
                let all = reached.clone();
                runs += every(Some(most), move || {
                    let interrupts = race.run(|_| {});
                    all.fetch_max(interrupts, Ordering::Relaxed);
                });
                programs += 1;
                let reached = reached.load(Ordering::Relaxed);
                deepest = deepest.max(reached);
                if reached == 0 {
                    break;
                }
            }
        }
        let how = format!("{programs} times of interrupts, at most {most} preemptions");
        tell(name, runs, began, &how);
        assert_eq!(deepest, LEVELS as u64 - 1);
    }
}

/// Preemptions in one execution, at most.
fn bound(short: usize) -> usize {
    short + usize::from(long())
}

/// Returns a key whose slot in a map of this size is that of key 1: then the order in which both come is that of
/// their entries.
fn neighbour(size: usize) -> u64 {
    let found = Arc::new(Collected::new(None));
    let set = found.clone();
    every(Some(0), move || {
        Weak::no_writer();
        let order = |first, second| {
            let (map, mut order) = (new_map(size), Vec::new());
            write(&map, 0, first);
            write(&map, 0, second);
            let _ = map.for_each_row(|_, row| {
                order.extend(row.next());
                Ok::<(), ()>(())
            });
            order
        };
        let key = (2..=64).find(|key| order(1, *key) != order(*key, 1));
        *set.lock().unwrap() = key;
    });
    let key = *found.lock().unwrap();
    key.expect("some keys share a slot")
}

/// The same with a key that a test can name.
fn leaked(keys: Vec<u64>) -> &'static [u64] {
    Vec::leak(keys)
}

#[test]
fn two_cpus_add_one_key() {
    RACE.explore("one key", 3, |_| {});
    let keys: [&[u64]; CPUS] = [&[1, 1], &[1]];
    Race { keys, ..RACE }.explore("one key, again", 2, |_| {});
}

#[test]
fn two_cpus_add_keys_of_one_slot() {
    let other = neighbour(2);
    let keys = [leaked(vec![1, other]), leaked(vec![other])];
    Race { keys, ..RACE }.explore("one slot", 2, |_| {});
    let keys = [leaked(vec![1]), leaked(vec![other])];
    Race { keys, ..RACE }.explore("one slot, once", 2, |_| {});
}

/// The fast path, which looks and changes nothing, beside a writer that adds the key.
#[test]
fn two_cpus_take_the_fast_path() {
    let keys: [&[u64]; CPUS] = [&[1, 1], &[1]];
    Race {
        keys,
        quick: true,
        ..RACE
    }
    .explore("the fast path", 2, |_| {});
}

/// The entry that fills the map may be that of the key.
#[test]
fn two_cpus_want_the_last_place() {
    let (keys, other): ([&[u64]; CPUS], _) = ([&[1], &[2]], [&[1, 2], &[2][..]]);
    let race = Race { size: 1, ..RACE };
    race.explore("the last place, one key", 2, |_| {});
    Race { keys, ..race }.explore("the last place", 2, |_| {});
    let keys = other;
    Race { keys, ..race }.explore("the last place, twice", 2, |_| {});
}

#[test]
fn writers_four_levels_deep_beside_another_cpu() {
    RACE.explore_nested("four levels, one key", 1);
    let keys = [&[1], &[2][..]];
    let nested = (2, RACE.nested.1);
    Race {
        keys,
        nested,
        ..RACE
    }
    .explore_nested("four levels, two keys", 1);
}

#[test]
fn a_reader_beside_writers() {
    let reader = |map: &WeakMap| {
        let (first, second) = (rows(map), rows(map));
        for (key, (hits, _)) in &first {
            // What is there stays there, and grows.
            assert!(second[key].0 >= *hits, "{key}");
        }
    };
    let keys: [&[u64]; CPUS] = [&[1, 2], &[]];
    Race { keys, ..RACE }.explore("a reader", 2, reader);
    let keys: [&[u64]; CPUS] = [&[1], &[1]];
    Race { keys, ..RACE }.explore("a reader beside two", 1, reader);
}

/// What a writer has set is found by its key with all of it, and of two that take it one has it.
#[test]
fn a_variable_is_taken_once() {
    let began = Instant::now();
    let seen = Arc::new(Collected::new(BTreeSet::new()));
    let all = seen.clone();
    let most = bound(3);
    let runs = every(Some(most), move || {
        Weak::no_writer();
        let map = Rc::new(new_map(2));
        let (writer, other) = (map.clone(), map.clone());
        let writer = Weak::spawn(move || {
            if let Some(entry) = write(&writer, 0, 1) {
                writer.set_variable(entry, 0, 7);
            }
        });
        let taken = Rc::new(Cell::new(None));
        let set = taken.clone();
        let other = Weak::spawn(move || set.set(other.variable(&words(1), 0, true)));
        let mut all_taken = vec![map.variable(&words(1), 0, true)];
        Weak::join(writer);
        Weak::join(other);
        all_taken.push(taken.get());
        all.lock().unwrap().insert(all_taken.clone());
        all_taken.push(map.variable(&words(1), 0, true));
        let mut taken = all_taken.into_iter().flatten();
        assert_eq!((taken.next(), taken.next()), (Some(7), None));
    });
    tell(
        "take once",
        runs,
        began,
        &format!("at most {most} preemptions"),
    );
    // The one, the other, and neither.
    assert_eq!(seen.lock().unwrap().len(), 3);
}

/// Two maps, of which writers use one: what `actions/counts.rs` does with grace periods.
struct Exchanged {
    maps: [WeakMap; 2],
    current: Word<Weak>,
    /// Who waits for a grace period waits for each CPU to be outside of its writers once.
    writing: [Mutex<()>; CPUS],
}

impl Exchanged {
    fn new(sizes: [usize; 2]) -> Rc<Self> {
        Weak::no_writer();
        Rc::new(Exchanged {
            maps: sizes.map(new_map),
            current: SharedWord::new(0),
            writing: [Mutex::new(()), Mutex::new(())],
        })
    }

    fn write(&self, cpu: usize, key: u64) {
        let _inside = self.writing[cpu].lock().unwrap();
        let current = SharedWord::load_acquire(&self.current);
        write(&self.maps[current as usize], cpu, key);
    }

    fn exchange(&self) {
        self.current.store_release(1);
    }

    fn synchronize(&self) {
        self.writing
            .iter()
            .for_each(|cpu| drop(cpu.lock().unwrap()));
    }
}

/// Explores an exchange, beside a writer of these keys on the first CPU. The second map goes on with what the
/// first one has if `grows`, and with nothing otherwise.
fn exchange(name: &str, sizes: [usize; 2], keys: &'static [u64], grows: bool) {
    let (began, most) = (Instant::now(), bound(3));
    let seen = Arc::new(Collected::new(BTreeSet::new()));
    let all = seen.clone();
    let runs = every(Some(most), move || {
        let world = Exchanged::new(sizes);
        let writer = world.clone();
        let writer = Weak::spawn(move || keys.iter().for_each(|key| writer.write(0, *key)));
        world.exchange();
        world.synchronize();
        let [old, new] = &world.maps;
        let (taken, (hits, drops)) = (rows(old), old.totals());
        all.lock().unwrap().insert(hits + drops);
        if grows {
            for (key, (hits, sum)) in &taken {
                new.absorb(1, &words(*key), words(*key), &[*hits, *sum]);
            }
            new.absorb_drops(1, drops);
        }
        Weak::join(writer);
        assert_eq!(rows(old), taken, "a writer came too late");
        assert_eq!(old.totals(), (hits, drops), "a writer came too late");
        let mut events = BTreeMap::new();
        for key in keys {
            *events.entry(*key).or_default() += 1;
        }
        if grows {
            let lost = new.totals().1;
            assert!(lost == drops || events.len() > sizes[1], "drops");
            assert_eq!(new.totals().0 + lost, keys.len() as u64, "events");
            assert_eq!(
                rows(new).values().map(|row| row.0).sum::<u64>(),
                new.totals().0
            );
        } else {
            let mut both = rows(new);
            for (key, (hits, sum)) in taken {
                let row = both.entry(key).or_default();
                *row = (row.0 + hits, row.1 + sum);
            }
            let both = both.into_iter().map(|(key, (hits, sum))| {
                assert_eq!(sum, hits * key * 10);
                (key, hits)
            });
            assert_eq!(both.collect::<BTreeMap<u64, u64>>(), events);
        }
    });
    tell(name, runs, began, &format!("at most {most} preemptions"));
    // Nothing, all, and what is between.
    assert_eq!(seen.lock().unwrap().len(), keys.len() + 1);
}

/// An event is in what was taken or in what comes next.
#[test]
fn all_is_taken_beside_a_writer() {
    exchange("take", [2, 2], &[1, 2], false);
    exchange("take, one key", [2, 2], &[1, 1], false);
}

/// A larger map has them all, also those that writers count while it takes the rest from the smaller one.
#[test]
fn a_larger_map_absorbs_beside_a_writer() {
    exchange("grow, one key", [1, 2], &[1, 1], true);
    exchange("grow", [1, 4], &[1, 2], true);
    exchange("grow, all full", [1, 1], &[1, 2], true);
}
