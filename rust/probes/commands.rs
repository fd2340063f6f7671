// SPDX-License-Identifier: GPL-2.0

//! Commands of functions: what an instance does when a function is called.
//!
//! An instance with commands has one more target, whose [`Manner`](super::Manner) has them. The list does
//! not change; another one replaces it, and what is left of each command stays when it does.

use super::{
    manner::{
        put_stack,
        Nesting,
        STACK, //
    },
    times_left::TimesLeft,
    EventFile,
    Sink,
    WANT_NEWS,
    WANT_SNAPSHOT, //
};
use crate::{
    event::context::ContextWords,
    functions::commands::{
        CommandKind,
        CommandVerb, //
    },
    kapi::{
        function_hook,
        grace_ref::GraceRef,
        percpu::CpuPin,
        stack,
        words::SharedU64, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A command of one function.
pub(crate) struct FunctionCommand {
    kind: CommandKind,
    left: TimesLeft<SharedU64>,
    /// The event that it switches.
    event: GraceRef<EventFile>,
}

impl FunctionCommand {
    /// Returns one that acts `left` times.
    pub(crate) fn new(kind: CommandKind, left: i64) -> Self {
        Self {
            kind,
            left: TimesLeft::new(left),
            event: GraceRef::none(),
        }
    }

    /// Has it switch `event`, or none.
    ///
    /// # Safety
    ///
    /// The file stays where it is until the command was disarmed and hooks have ended.
    pub(crate) unsafe fn set_event(&self, event: Option<&EventFile>) {
        // SAFETY: The caller promises to keep it as long as a hook may have got it.
        unsafe { self.event.set(event) };
    }

    /// Returns how often it will still act.
    pub(crate) fn left(&self) -> i64 {
        self.left.get()
    }

    /// Has it never act again. A hook that began before may still be in it until writers have left.
    pub(crate) fn disarm(&self) {
        self.left.clear();
        self.event.clear();
    }

    /// Returns whether there is something to do; if not, it does not count.
    fn is_due(&self, sink: &Sink) -> bool {
        self.kind.acts_with(self.left())
            && match self.kind.verb {
                CommandVerb::TraceOn => !sink.is_on(),
                CommandVerb::TraceOff | CommandVerb::Stacktrace => sink.is_on(),
                CommandVerb::Snapshot | CommandVerb::Dump => true,
                // Or each call would print the same once more.
                CommandVerb::CpuDump => sink.is_on(),
                CommandVerb::EnableEvent => self.event.get().is_some_and(EventFile::is_off),
                CommandVerb::DisableEvent => self.event.get().is_some_and(|file| !file.is_off()),
            }
    }

    /// Does it. Interrupts are disabled, and what is called is not recorded.
    fn act(&self, sink: &Sink, pin: &CpuPin, raw: &ContextWords) {
        match self.kind.verb {
            CommandVerb::TraceOn | CommandVerb::TraceOff => {
                sink.switch(self.kind.verb == CommandVerb::TraceOn);
                // Readers that wait reach the end of their file, and names of tasks are remembered or not.
                sink.want(WANT_NEWS);
            }
            CommandVerb::Snapshot => sink.want(WANT_SNAPSHOT),
            CommandVerb::Stacktrace => stack::with_callers(pin, |callers| {
                let mut callers = callers;
                while let [first, rest @ ..] = callers {
                    if !function_hook::is_trampoline(*first) {
                        break;
                    }
                    callers = rest;
                }
                put_stack(sink, pin, raw, STACK, callers);
            }),
            CommandVerb::Dump | CommandVerb::CpuDump => {
                // What led here stays until it is printed.
                sink.switch(false);
                sink.want(WANT_NEWS);
                let is_of_cpu = self.kind.verb == CommandVerb::CpuDump;
                sink.want_dump(is_of_cpu.then(|| pin.number()));
            }
            CommandVerb::EnableEvent | CommandVerb::DisableEvent => {
                if let Some(file) = self.event.get() {
                    file.set_off(self.kind.verb == CommandVerb::DisableEvent);
                }
            }
        }
    }
}

/// The commands of an instance.
pub(crate) struct Commands(KVVec<(u64, Arc<FunctionCommand>)>);

impl Commands {
    /// Returns the list of these, each with the address of its function, in ascending order.
    pub(crate) fn new(rows: KVVec<(u64, Arc<FunctionCommand>)>) -> Self {
        Self(rows)
    }

    /// Returns the addresses of their functions, in ascending order.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn addresses(&self) -> Result<KVVec<u64>> {
        let mut addresses = KVVec::new();
        for (address, _) in &self.0 {
            if addresses.last() != Some(address) {
                addresses.push(*address, GFP_KERNEL)?;
            }
        }
        Ok(addresses)
    }

    /// Returns where those of `address` begin. That of `core` has arithmetic that could panic.
    fn first(&self, address: u64) -> usize {
        let (mut low, mut high) = (0usize, self.0.len());
        while low < high {
            let middle = low.wrapping_add(high.wrapping_sub(low) / 2);
            match self.0.get(middle) {
                Some((of, _)) if *of < address => low = middle.wrapping_add(1),
                _ => high = middle,
            }
        }
        low
    }

    /// Does what is to be done when the function at `address` is called. Any context.
    pub(super) fn called(
        &self,
        address: u64,
        sink: &Sink,
        nesting: &Nesting,
        pin: &CpuPin,
        raw: &ContextWords,
    ) {
        let rows = self.0.get(self.first(address)..).unwrap_or_default().iter();
        for (_, command) in rows.take_while(|(of, _)| *of == address) {
            if command.is_due(sink) {
                nesting.enter(pin, raw.in_nmi(), || {
                    if command.left.take(command.kind) {
                        command.act(sink, pin, raw);
                    }
                });
            }
        }
    }
}
