// SPDX-License-Identifier: GPL-2.0

//! One round of the long run: writers, all readers and a storm of settings, until enough events
//! were recorded; then everything is read, and nothing runs any more.

use super::random::Random;
use super::readers::{self, Counts, Wait, WAITS};
use super::seen::{Got, Seen};
use super::storm::{Storm, EVENT};
use super::writers::{Writers, Written};
use crate::check::Check;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

const NAMES: [&str; 3] = ["rtg-soak-a", "rtg-soak-b", "rtg-soak-c"];

/// What the rounds share.
pub struct Stage {
    pub top: Tree,
    pub instances: Vec<Instance>,
    pub seen: Vec<Seen>,
    pub writers: Writers,
    pub cpus: usize,
    _names: NamesOff,
}

/// No names of tasks are recorded while this lives. With them the first event that is enabled, and the
/// last one that is disabled, make the kernel patch sched_switch, of which an emulated CPU may keep a
/// stale translation (Documentation/building.md); the storm would do that all the time.
struct NamesOff(Tree);

impl NamesOff {
    fn new(top: Tree) -> Check<Self> {
        top.set("options/record-cmd", "0")?;
        Ok(NamesOff(top))
    }
}

impl Drop for NamesOff {
    fn drop(&mut self) {
        // The next test that looks at names finds out when this fails.
        let _ = self.0.set("options/record-cmd", "1");
    }
}

/// How a round goes.
pub struct Plan {
    pub seed: u64,
    pub events: u64,
    pub pause_us: u64,
    /// A writer's turns without an interrupt or an NMI of its own making, after each one that has them.
    pub calm_turns: u64,
    /// Priority of the writers: below 0, readers see little of a lot.
    pub nice: i32,
    /// KiB per CPU to begin with.
    pub kb: u64,
    /// The storm clears buffers and changes clocks; each instance has one consumer, which keeps a log.
    pub clears: bool,
}

/// What a round did.
pub struct Done {
    pub written: Written,
    /// Per instance and CPU: what its consumers got.
    pub counts: Vec<Vec<Counts>>,
    /// Lines that non-consuming readers got.
    pub viewed: u64,
}

impl Stage {
    pub fn new(context: &Context) -> Check<Self> {
        sys::interruptible_by_signal();
        let cpus = sys::online_cpus();
        let names = NamesOff::new(Tree::at(&context.root))?;
        let instances = NAMES.iter().map(|name| Instance::new(&context.root, name));
        let instances = instances.collect::<Check<Vec<_>>>()?;
        // A reader that polls wants each event.
        instances
            .iter()
            .try_for_each(|own| own.set("buffer_percent", "0"))?;
        let writers = Writers::load(context, &NAMES)?;
        Ok(Stage {
            top: Tree::at(&context.root),
            instances,
            seen: (0..NAMES.len()).map(|ring| Seen::new(ring, cpus)).collect(),
            writers,
            cpus,
            _names: names,
        })
    }

    pub fn trees(&self) -> Vec<&Tree> {
        self.instances.iter().map(|own| &**own).collect()
    }

    /// Writers and instances go.
    pub fn end(self) -> Check {
        self.writers.unload()?;
        self.instances.into_iter().try_for_each(Instance::remove)
    }

    /// Everything as at first: empty and on.
    pub fn prepare(&self, plan: &Plan) -> Check {
        for (own, seen) in self.instances.iter().zip(&self.seen) {
            own.set("trace_clock", "local")?;
            own.set("buffer_subbuf_size_kb", "4")?;
            own.set("buffer_size_kb", &plan.kb.to_string())?;
            own.clear()?;
            seen.reset();
        }
        self.instances[0].set(EVENT, "1")
    }

    /// Runs a round. `told` gets what the storm did.
    pub fn run(&self, plan: &Plan, told: &mut String) -> Check<Done> {
        self.prepare(plan)?;
        let trees = self.trees();
        let stop = AtomicBool::new(false);
        let mut storm = Storm::new(&self.top, &trees, self.cpus, plan.seed);
        let done = std::thread::scope(|scope| {
            let mut crew = Crew::new(scope, &stop);
            self.hire(&mut crew, plan, &trees);
            let turn = match plan.clears {
                true => Storm::clear_something,
                false => Storm::keep,
            };
            let stormed = self.storm(&mut storm, plan, &crew, turn);
            // Readers end in any case, or the scope would not.
            let stopped = self.writers.stop();
            let (counts, viewed) = crew.dismiss(self.instances.len(), self.cpus);
            stormed.and(stopped)?;
            Ok(Done {
                written: self.writers.written()?,
                counts: counts?,
                viewed: viewed?,
            })
        });
        *told = storm.told();
        done
    }

    /// Lets the writers write, and turns something by `turn` all the time.
    pub fn storm<'a>(
        &self,
        storm: &mut Storm<'a>,
        plan: &Plan,
        crew: &Crew<'_, '_>,
        turn: fn(&mut Storm<'a>) -> Check,
    ) -> Check {
        self.writers.set("calm_turns", plan.calm_turns)?;
        self.writers
            .start(plan.seed, plan.events, plan.pause_us, plan.nice)?;
        // The storm shall not wait for those that it disturbs.
        sys::set_nice(-15);
        // A reader that ended has found something wrong.
        while self.writers.busy()? && crew.all_at_work() {
            if !plan.clears || self.writers.written()?.recorded() < plan.events * 2 / 3 {
                turn(storm)?;
            } else {
                // Events recorded from now on have to come back.
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(())
    }

    fn hire<'s>(&'s self, crew: &mut Crew<'s, '_>, plan: &Plan, trees: &[&'s Tree]) {
        let mut random = Random::new(plan.seed ^ 0x5eed);
        let logs = plan.clears;
        let sleepers = [Wait::Read, Wait::Poll, Wait::Epoll];
        for (ring, tree) in trees.iter().copied().enumerate() {
            let seen = &self.seen[ring];
            if ring == 0 {
                let wait = *random.pick(&sleepers);
                crew.consumer(ring, move |stop| {
                    readers::pipe(tree, "trace_pipe", wait, Got::consumer(seen, logs), stop)
                });
                continue;
            }
            for cpu in 0..self.cpus {
                let wait = *random.pick(&WAITS);
                crew.consumer(ring, move |stop| {
                    readers::raw(tree, cpu, wait, Got::consumer(seen, logs), stop)
                });
                // Two consumers of one ring, if it does not matter which was first.
                if ring == 2 && !plan.clears {
                    let wait = *random.pick(&sleepers);
                    let name = format!("per_cpu/cpu{cpu}/trace_pipe");
                    crew.consumer(ring, move |stop| {
                        readers::pipe(tree, &name, wait, Got::consumer(seen, logs), stop)
                    });
                }
            }
        }
        let (trees, seed) = (trees.to_vec(), plan.seed);
        crew.viewer(move |stop| readers::viewer(&trees, &self.seen, seed, stop));
    }
}

type Consumer<'s> = (usize, ScopedJoinHandle<'s, Check<Vec<Counts>>>);

/// The readers at work.
pub struct Crew<'s, 'e> {
    scope: &'s Scope<'s, 'e>,
    stop: &'s AtomicBool,
    threads: std::sync::Arc<Mutex<Vec<u32>>>,
    consumers: Vec<Consumer<'s>>,
    viewers: Vec<ScopedJoinHandle<'s, Check<u64>>>,
}

impl<'s, 'e> Crew<'s, 'e> {
    pub fn new(scope: &'s Scope<'s, 'e>, stop: &'s AtomicBool) -> Self {
        Crew {
            scope,
            stop,
            threads: Default::default(),
            consumers: Vec::new(),
            viewers: Vec::new(),
        }
    }

    /// Returns the ids of the threads.
    pub fn threads(&self) -> std::sync::Arc<Mutex<Vec<u32>>> {
        self.threads.clone()
    }

    fn spawn<T: Send + 's>(
        &self,
        work: impl FnOnce(&AtomicBool) -> T + Send + 's,
    ) -> ScopedJoinHandle<'s, T> {
        let (stop, threads) = (self.stop, self.threads.clone());
        self.scope.spawn(move || {
            if let Ok(mut threads) = threads.lock() {
                threads.push(sys::thread_id());
            }
            work(stop)
        })
    }

    pub fn consumer(
        &mut self,
        ring: usize,
        work: impl FnOnce(&AtomicBool) -> Check<Vec<Counts>> + Send + 's,
    ) {
        let handle = self.spawn(work);
        self.consumers.push((ring, handle));
    }

    pub fn viewer(&mut self, work: impl FnOnce(&AtomicBool) -> Check<u64> + Send + 's) {
        let handle = self.spawn(work);
        self.viewers.push(handle);
    }

    pub fn all_at_work(&self) -> bool {
        let consumers = self.consumers.iter().all(|(_, h)| !h.is_finished());
        consumers && self.viewers.iter().all(|h| !h.is_finished())
    }

    /// Lets them read the rest, and ends them.
    pub fn dismiss(self, rings: usize, cpus: usize) -> (Check<Vec<Vec<Counts>>>, Check<u64>) {
        self.stop.store(true, Ordering::Release);
        let all_ended = || {
            let consumers = self.consumers.iter().all(|(_, h)| h.is_finished());
            consumers && self.viewers.iter().all(|h| h.is_finished())
        };
        // One may sleep in `read`; a signal that comes too early is not noticed.
        while !all_ended() {
            if let Ok(threads) = self.threads.lock() {
                threads.iter().copied().for_each(sys::interrupt_thread);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let died = |_| Err("a reader died".to_string());
        let mut sums = Ok(vec![vec![Counts::default(); cpus]; rings]);
        for (ring, handle) in self.consumers {
            match (handle.join().unwrap_or_else(died), &mut sums) {
                (Ok(counts), Ok(sums)) => {
                    for (sum, counts) in sums[ring].iter_mut().zip(&counts) {
                        sum.add(counts);
                    }
                }
                (Err(problem), Ok(_)) => sums = Err(problem),
                _ => {}
            }
        }
        let viewed = self.viewers.into_iter();
        let viewed = viewed.map(|h| h.join().unwrap_or_else(|_| Err("a viewer died".into())));
        (sums, viewed.sum())
    }
}
