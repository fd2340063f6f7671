// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what only a running kernel can show: CPUs, preemption, clocks, sleeping.

use super::{
    c::rt_scale,
    claim::{
        HookClaim,
        HookClaims, //
    },
    clock,
    context,
    cpus,
    kept::{
        KeptRef,
        KeptRefs,
        KeptValue, //
    },
    percpu::{
        self,
        CpuPin,
        PerCpu, //
    },
    publisher::{
        FollowedArc,
        PublishedRef,
        Publisher, //
    },
    waker::Waker,
    words::{
        LocalU64,
        SharedPtr,
        SharedU64, //
    }, //
};
use crate::{
    ring::{
        cpu::GateWord,
        port::{
            LocalWord,
            SharedWord, //
        },
    },
    text::clock::ClockId,
};
use core::mem::offset_of;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
};

#[kunit_tests(rtrace_kapi)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_one_level_of_disabled_preemption() {
        let depth = || context::raw().preempt_count & 0xff;
        let before = depth();
        let inside = CpuPin::with(|_| depth());
        assert_eq!(inside, before + 1);
        assert_eq!(depth(), before);
    }

    #[test]
    fn local_words_add_and_exchange() {
        let word: LocalU64 = LocalWord::new(40);
        word.add(2);
        assert_eq!(word.get(), 42);
        assert!(!word.cmpxchg(41, 1));
        assert!(word.cmpxchg(42, 7));
        word.add(u64::MAX);
        assert_eq!(word.get(), 6);
        word.set(9);
        assert_eq!(word.get(), 9);
        word.set(0);
        word.increment();
        assert!(word.is_one());
        word.increment();
        assert!(!word.is_one() && !word.decrement_to_zero());
        assert!(word.decrement_to_zero() && word.get() == 0);
    }

    #[test]
    fn shared_words_exchange() {
        let word: SharedU64 = SharedWord::new(1);
        assert!(!word.cas(2, 3));
        assert!(word.cas(1, 3));
        assert_eq!(word.load_acquire(), 3);
        word.store_release(4);
        assert_eq!(word.load(), 4);
    }

    #[test]
    fn shared_pointers_exchange() {
        let (mut one, mut other) = (1u8, 2u8);
        let (one, other) = (&raw mut one, &raw mut other);
        let place = SharedPtr::<u8>::null();
        assert!(place.load_acquire().is_null());
        place.store_release(one);
        assert_eq!(place.load_acquire(), one);
        assert_eq!(place.exchange(other), one);
        assert_eq!(place.exchange(core::ptr::null_mut()), other);
        assert!(place.load_acquire().is_null());
        assert_eq!(SharedPtr::new(one).load_acquire(), one);
    }

    /// Decrements the counter when it is dropped.
    struct Counted<'a>(&'a Atomic<i32>, u32);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }

    #[test]
    fn every_cpu_has_its_own_value_and_all_are_dropped() -> Result {
        let alive = Atomic::new(0);
        let values = PerCpu::new(|cpu| {
            alive.fetch_add(1, Relaxed);
            Ok(Counted(&alive, cpu))
        })?;
        assert_eq!(alive.load(Relaxed) as usize, cpus::possible().count());
        for cpu in cpus::possible() {
            assert_eq!(values.of(cpu).map(|value| value.1), Some(cpu));
        }
        assert!(values.of(u32::MAX).is_none());
        let mine = CpuPin::with(|pin| values.this(pin).1);
        assert!(cpus::is_possible(mine) && cpus::is_online(mine));
        assert!(!cpus::is_online(cpus::most()));
        drop(values);
        assert_eq!(alive.load(Relaxed), 0);
        Ok(())
    }

    #[test]
    fn a_failure_half_way_drops_what_was_made() {
        let alive = Atomic::new(0);
        let last = cpus::possible().last();
        let values = PerCpu::new(|cpu| {
            if Some(cpu) == last {
                return Err(ENOMEM);
            }
            alive.fetch_add(1, Relaxed);
            Ok(Counted(&alive, cpu))
        });
        assert!(values.is_err());
        assert_eq!(alive.load(Relaxed), 0);
    }

    #[test]
    fn clocks_do_not_go_back() {
        for clock in ClockId::ALL {
            let (a, b) = CpuPin::with(|_| (clock::read(*clock), clock::read(*clock)));
            assert!(b >= a);
        }
    }

    /// Checks ten thousand times that `local` lies between two readings of `sched_clock()`.
    fn local_lies_between(read: fn(ClockId) -> u64) {
        let outside = (0..10_000).find_map(|_| {
            let [before, local, after] = CpuPin::with(|_| {
                let before = clock::sched_clock_in_order();
                [before, read(ClockId::Local), clock::sched_clock_in_order()]
            });
            (local < before || after < local).then_some([before, local, after])
        });
        assert_eq!(outside, None);
    }

    #[test]
    fn local_is_sched_clock() {
        pr_info!("clock local is read by way of: {}\n", clock::local_way());
        local_lies_between(clock::read);
    }

    #[test]
    fn local_by_a_call_is_sched_clock() {
        local_lies_between(clock::by_call);
    }

    /// Makes this CPU one that has not read `local` yet.
    fn forget_the_factor(pin: &CpuPin) {
        let own = percpu::part_here(&raw const rt_scale, pin).cast_mut();
        let number = own
            .wrapping_byte_add(offset_of!(rt_scale, sequence))
            .cast::<u32>();
        // SAFETY: It is this CPU's own; an interrupt finds the old number or this one.
        unsafe { number.write_volatile(u32::MAX) };
    }

    #[test]
    fn each_clock_leaves_what_a_gate_can_hold() {
        if let Some(here) = clock::InlineClock::of(ClockId::Local) {
            assert_eq!(u64::from(clock::to_leave(ClockId::Local)), here.word());
        }
        for &clock in ClockId::ALL {
            assert!(GateWord::can_hold(clock::to_leave(clock).into()));
        }
    }

    #[test]
    fn the_factor_of_local_is_made_anew() {
        let Some(here) = clock::InlineClock::of(ClockId::Local) else {
            return;
        };
        let [before, time, after, later] = CpuPin::with(|pin| {
            forget_the_factor(pin);
            let before = here.now();
            let time = Some(clock::read(ClockId::Local));
            [before, time, here.now(), here.now()]
        });
        assert_eq!(before, None);
        assert!(time <= after && after <= later);
    }

    #[test]
    fn the_context_is_the_current_task() {
        assert_eq!(context::raw().pid, kernel::current!().pid());
    }

    #[test]
    fn a_sleeper_that_is_ready_does_not_sleep() -> Result {
        let waker = Arc::pin_init(Waker::new(), GFP_KERNEL)?;
        let mut looks = 0;
        waker.wait(&mut || {
            looks += 1;
            true
        })?;
        assert_eq!(looks, 1);
        Ok(())
    }

    #[test]
    fn an_event_between_look_and_sleep_wakes_up() -> Result {
        let waker = Arc::pin_init(Waker::new(), GFP_KERNEL)?;
        let mut looks = 0;
        // If the wake-up were lost, this would sleep for ever.
        waker.wait(&mut || {
            looks += 1;
            waker.published();
            looks == 3
        })?;
        assert_eq!(looks, 3);
        Ok(())
    }

    /// How many [`Alive`] there are.
    static ALIVE: Atomic<i32> = Atomic::new(0);

    /// Is counted as long as it is there.
    struct Alive(u32);

    impl Alive {
        fn new(number: u32) -> Self {
            ALIVE.fetch_add(1, Relaxed);
            Self(number)
        }
    }

    impl Drop for Alive {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Relaxed);
        }
    }

    fn alive() -> i32 {
        ALIVE.load(Relaxed)
    }

    #[test]
    fn what_is_followed_goes_after_another_one_was_set() -> Result {
        let followed = FollowedArc::none();
        let number = || CpuPin::with(|pin| followed.get(pin).map(|alive: &Alive| alive.0));
        drop(followed.set(Some(Arc::new(Alive::new(1), GFP_KERNEL)?)));
        let first = followed.set(Some(Arc::new(Alive::new(2), GFP_KERNEL)?));
        assert_eq!((number(), alive()), (Some(2), 2));
        drop(first);
        assert_eq!((number(), alive()), (Some(2), 1));
        let second = followed.set(None);
        assert!(followed.is_none());
        assert_eq!((number(), alive()), (None, 1));
        drop(second);
        assert_eq!(alive(), 0);
        drop(followed.set(Some(Arc::new(Alive::new(3), GFP_KERNEL)?)));
        drop(followed);
        assert_eq!(alive(), 0);
        Ok(())
    }

    #[test]
    fn what_was_retired_can_be_published_again() -> Result {
        static PUBLISHED: PublishedRef<Alive> = PublishedRef::none();
        let number = || CpuPin::with(|pin| PUBLISHED.get(pin).map(|alive| alive.0));
        let mut publisher = Publisher::of(&PUBLISHED);
        drop(publisher.set(Some(KBox::new(Alive::new(1), GFP_KERNEL)?)));
        let first = publisher.set(Some(KBox::new(Alive::new(2), GFP_KERNEL)?));
        assert_eq!(number(), Some(2));
        let second = publisher.set_again(first);
        assert_eq!((number(), alive()), (Some(1), 2));
        let third = publisher.set(Some(KBox::new(Alive::new(3), GFP_KERNEL)?));
        drop(second.and(third));
        assert_eq!((number(), alive()), (Some(3), 1));
        drop(publisher);
        assert_eq!((number(), alive()), (None, 0));
        Ok(())
    }

    #[test]
    fn a_reference_keeps_what_was_taken_away_from_it() -> Result {
        let value = KeptValue::new(Arc::new(Alive::new(1), GFP_KERNEL)?);
        let reference = KeptRef::from(&value);
        assert!(reference.is(&value));
        drop(value);
        let other = reference.clone();
        reference.clear();
        assert!(reference.get().is_none() && reference.clone().get().is_none());
        assert_eq!(other.get().map(|alive| alive.0), Some(1));
        drop(other);
        assert_eq!(alive(), 1);
        drop(reference);
        assert_eq!(alive(), 0);
        Ok(())
    }

    #[test]
    fn references_are_found_by_their_numbers() -> Result {
        let mut all = KeptRefs::default();
        let second = Arc::new(Alive::new(2), GFP_KERNEL)?;
        all.push(KeptRef::from(&Arc::new(Alive::new(1), GFP_KERNEL)?))?;
        all.push(KeptRef::from(&second))?;
        let number =
            |all: &KeptRefs<Alive>, at| all.get(at).map(|found| found.map(|alive| alive.0));
        assert_eq!(number(&all, 0), Some(Some(1)));
        assert_eq!(number(&all, 1), Some(Some(2)));
        assert_eq!(number(&all, 2), None);
        all.forget(&second);
        assert_eq!(number(&all, 1), Some(None));
        drop(second);
        assert_eq!(alive(), 2);
        drop(all);
        assert_eq!(alive(), 0);
        Ok(())
    }

    #[test]
    fn a_hook_has_one_owner() {
        static CLAIMS: HookClaims<2> = HookClaims::none();
        let (mut first, mut second) = (HookClaim::of(1), HookClaim::of(1));
        assert_eq!(first.own(&CLAIMS), Ok(1));
        assert_eq!(second.own(&CLAIMS), Err(EBUSY));
        assert_eq!(first.own(&CLAIMS), Ok(1));
        assert_eq!(HookClaim::of(2).own(&CLAIMS), Err(EINVAL));
    }
}
