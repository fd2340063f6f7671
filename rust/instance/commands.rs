// SPDX-License-Identifier: GPL-2.0

//! The commands of an instance in `set_ftrace_filter`: what it does when functions are called.
//!
//! A word adds commands to functions or takes them away, at once. Hooks see a list, which is replaced as a
//! whole. Process context; the lock of the commands is used as that of the triggers.

use super::{
    enable,
    triggers,
    Instance, //
};
use crate::{
    buffers::CpuSel,
    events::Event,
    functions::{
        commands::{
            CommandKind,
            CommandVerb,
            CommandWord, //
        },
        words::Selection, //
    },
    hooks,
    kapi::{
        grace,
        sort,
        stack, //
    },
    probes::{
        Commands, //
        FunctionCommand,
    },
    text::writer::ByteWrite, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::Relaxed,
        Arc,
        SetOnce, //
    }, //
};

/// What prints the records of an instance into the kernel's log. Process context.
static DUMP: SetOnce<fn(&Arc<Instance>, CpuSel)> = SetOnce::new();

/// Has `dump` called for what the commands `dump` and `cpudump` are to print. Called once.
pub(crate) fn dump_by(dump: fn(&Arc<Instance>, CpuSel)) {
    DUMP.populate(dump);
}

/// Prints the records of these CPUs.
pub(super) fn dump(inst: &Arc<Instance>, cpus: CpuSel) {
    if let Some(dump) = DUMP.copy() {
        dump(inst, cpus);
    }
}

/// A command of a function.
struct CommandRow {
    address: u64,
    /// The event that it switches, which is held.
    event: Option<&'static Event>,
    command: Arc<FunctionCommand>,
}

/// The commands of one kind, by the addresses of their functions in ascending order.
struct KindCommands {
    kind: CommandKind,
    rows: KVVec<CommandRow>,
}

impl KindCommands {
    fn has(&self, address: u64) -> bool {
        let rows = &self.rows;
        rows.binary_search_by_key(&address, |row| row.address)
            .is_ok()
    }
}

/// All of them, the newest kind first.
pub(super) struct FunctionCommands(KVec<KindCommands>);

/// Says of a row whether it is meant.
type RowPredicate<'a> = &'a dyn Fn(CommandKind, &CommandRow) -> bool;

impl FunctionCommands {
    /// Returns no commands.
    pub(super) const fn none() -> Self {
        Self(KVec::new())
    }

    fn of(&self, kind: CommandKind) -> Option<&KindCommands> {
        self.0.iter().find(|of| of.kind == kind)
    }

    /// Returns what hooks are to see of those that stay; `None` when it is nothing.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn list(&self, stays: RowPredicate<'_>) -> Result<Option<Arc<Commands>>> {
        let mut list: KVVec<(u64, Arc<FunctionCommand>)> = KVVec::new();
        for of in &self.0 {
            let rows = of.rows.iter().filter(|row| stays(of.kind, row));
            let rows = rows.map(|row| (row.address, row.command.clone()));
            let before = core::mem::replace(&mut list, KVVec::new());
            for next in sort::merged(before.into_iter(), rows, |(address, _)| *address) {
                list.push(next, GFP_KERNEL)?;
            }
        }
        match list.is_empty() {
            true => Ok(None),
            false => Ok(Some(Arc::new(Commands::new(list), GFP_KERNEL)?)),
        }
    }
}

impl Instance {
    /// Writes the commands, one per line.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of the kernel's list of functions.
    pub(super) fn show_commands(&self, out: &mut dyn ByteWrite) -> Result {
        let all = self.commands.lock();
        if all.0.is_empty() {
            return Ok(());
        }
        let functions = hooks::current()?;
        for of in &all.0 {
            for function in functions.list().iter() {
                let rows = &of.rows;
                let at = rows.binary_search_by_key(&function.address, |row| row.address);
                let Some(row) = at.ok().and_then(|at| rows.get(at)) else {
                    continue;
                };
                let event = row.event.map(|event| (event.system(), event.name()));
                of.kind
                    .write_line(function.shown, event, row.command.left(), out)
                    .map_err(|_| ENOMEM)?;
            }
        }
        Ok(())
    }

    /// Obeys a word of `set_ftrace_filter`, if it is a command. Returns whether it is.
    ///
    /// # Errors
    ///
    /// `EINVAL` for what is wrong, selects no function or adds nothing, `ERANGE` for a count that is too
    /// large, `ENODEV` if none of the kind is there to be taken away, the errors of attaching an event and of
    /// allocating a snapshot, `ENOMEM`. Nothing has changed then, but that an instance may have got a snapshot.
    pub(super) fn obey_command(&self, word: &[u8]) -> Result<bool> {
        let Some(word) = CommandWord::parse(word).map_err(triggers::refused)? else {
            return Ok(false);
        };
        let kind = word.kind;
        let mut all = self.commands.lock();
        let event = match word.event {
            Some((system, name)) => Some(triggers::find(system, name)?),
            None => None,
        };
        let selection = word.functions().map_err(triggers::refused);
        if word.removes {
            if all.of(kind).is_none() {
                return Err(ENODEV);
            }
            self.take_commands(&mut all, kind, selection?)?;
            return Ok(true);
        }
        let left = word.count().map_err(triggers::refused)?;
        match kind.verb {
            CommandVerb::Snapshot => self.buffers().arm_snapshot()?,
            CommandVerb::Stacktrace => stack::prepare()?,
            _ => {}
        }
        let addresses = match selection? {
            Some(selection) => addresses_of(&selection, all.of(kind))?,
            None => KVVec::new(),
        };
        if addresses.is_empty() {
            return Err(EINVAL);
        }
        self.add_commands(&mut all, kind, event, left, &addresses)?;
        Ok(true)
    }

    /// Adds a command to each of these functions, none of which has one of the kind.
    fn add_commands(
        &self,
        all: &mut FunctionCommands,
        kind: CommandKind,
        event: Option<&'static Event>,
        left: i64,
        addresses: &[u64],
    ) -> Result {
        if all.of(kind).is_none() {
            let rows = KVVec::new();
            all.0.push(KindCommands { kind, rows }, GFP_KERNEL)?;
            all.0.rotate_right(1);
        }
        if kind.verb == CommandVerb::TraceOn {
            // Before a hook sees it: a task that is recorded at once may end at once.
            self.command_may_turn_on.store(true, Relaxed);
            enable::try_record_tasks();
        }
        let added = self
            .push_commands(all, kind, event, left, addresses)
            .and_then(|()| self.follow_commands(all.list(&|_, _| true)?));
        if added.is_err() {
            let is_new = |of: CommandKind, row: &CommandRow| {
                of == kind && addresses.binary_search(&row.address).is_ok()
            };
            self.drop_commands(all, &is_new);
        }
        added
    }

    /// Adds the rows of that. Those before the one that fails are there.
    fn push_commands(
        &self,
        all: &mut FunctionCommands,
        kind: CommandKind,
        event: Option<&'static Event>,
        left: i64,
        addresses: &[u64],
    ) -> Result {
        let of = all.0.iter_mut().find(|of| of.kind == kind).ok_or(EINVAL)?;
        let mut rows =
            KVVec::with_capacity(of.rows.len().saturating_add(addresses.len()), GFP_KERNEL)?;
        let mut new = KVVec::with_capacity(addresses.len(), GFP_KERNEL)?;
        for address in addresses {
            let command = Arc::new(FunctionCommand::new(kind, left), GFP_KERNEL)?;
            new.push((*address, command), GFP_KERNEL)?;
        }
        if let Some(event) = event {
            // One for each function, so that each is released by itself.
            for (at, (_, command)) in new.iter().enumerate() {
                let held = self.hold(event).and_then(|held| {
                    self.with_file(event, |file| {
                        // SAFETY: The file stays while it is held: until `drop_commands` has disarmed the
                        // command and waited.
                        unsafe { command.set_event(Some(file)) };
                        Ok(())
                    })?;
                    held.keep();
                    Ok(())
                });
                if held.is_err() {
                    (0..at).for_each(|_| self.release(event));
                    return held;
                }
            }
        }
        let old = core::mem::replace(&mut of.rows, KVVec::new());
        let new = new.into_iter().map(|(address, command)| CommandRow {
            address,
            event,
            command,
        });
        for next in sort::merged(old.into_iter(), new, |row| row.address) {
            // There is room for all.
            rows.push(next, GFP_KERNEL)?;
        }
        of.rows = rows;
        Ok(())
    }

    /// Takes the commands of a kind away from these functions, or from all.
    fn take_commands(
        &self,
        all: &mut FunctionCommands,
        kind: CommandKind,
        selection: Option<Selection<'_>>,
    ) -> Result {
        let functions = hooks::current()?;
        let mut gone = KVVec::new();
        for (at, function) in functions.list().iter().enumerate() {
            let is_meant = match &selection {
                None => true,
                // As in ftrace, an index takes nothing away.
                Some(Selection::Line(_)) => false,
                Some(selection) => selection.takes(at, &function),
            };
            if is_meant && all.of(kind).is_some_and(|of| of.has(function.address)) {
                gone.push(function.address, GFP_KERNEL)?;
            }
        }
        if gone.is_empty() {
            return Err(EINVAL);
        }
        sort::ascending(&mut gone);
        let goes = |of: CommandKind, row: &CommandRow| {
            of == kind && gone.binary_search(&row.address).is_ok()
        };
        let list = all.list(&|kind, row| !goes(kind, row))?;
        self.drop_commands(all, &goes);
        // Without memory, hooks see commands that are disarmed.
        let _ = self.follow_commands(list);
        Ok(())
    }

    /// Drops commands. When it returns no hook is in them.
    fn drop_commands(&self, all: &mut FunctionCommands, goes: RowPredicate<'_>) {
        for of in &all.0 {
            let rows = of.rows.iter().filter(|row| goes(of.kind, row));
            rows.for_each(|row| row.command.disarm());
        }
        grace::writers_left();
        for of in all.0.iter_mut() {
            let kind = of.kind;
            of.rows.retain(|row| {
                let is_gone = goes(kind, row);
                if let Some(event) = row.event.filter(|_| is_gone) {
                    self.release(event);
                }
                !is_gone
            });
        }
        all.0.retain(|of| !of.rows.is_empty());
        let turns_on = |of: &KindCommands| of.kind.verb == CommandVerb::TraceOn;
        let may = all.0.iter().any(turns_on);
        if self.command_may_turn_on.load(Relaxed) != may {
            self.command_may_turn_on.store(may, Relaxed);
            enable::try_record_tasks();
        }
    }

    /// Has hooks see `list`, or no commands.
    fn follow_commands(&self, list: Option<Arc<Commands>>) -> Result {
        hooks::follow_commands(&self.sink, list)
    }

    /// Drops commands that `goes` names, for good.
    fn forget_some_commands(&self, goes: RowPredicate<'_>) {
        let mut all = self.commands.lock();
        if !all
            .0
            .iter()
            .any(|of| of.rows.iter().any(|row| goes(of.kind, row)))
        {
            return;
        }
        let list = all.list(&|kind, row| !goes(kind, row));
        self.drop_commands(&mut all, goes);
        if list.and_then(|list| self.follow_commands(list)).is_err() {
            pr_warn!("functions without commands still call the hook\n");
        }
    }

    /// Forgets the commands of functions that cannot be traced any more.
    pub(super) fn forget_commands_of_functions(&self, is_gone: &dyn Fn(u64) -> bool) {
        self.forget_some_commands(&|_, row| is_gone(row.address));
    }

    /// Forgets the commands that switch `event`: its module is being unloaded.
    pub(super) fn forget_commands_of(&self, event: &Event) {
        let switches = |of: &'static Event| of.id() == event.id();
        self.forget_some_commands(&|_, row| row.event.is_some_and(switches));
    }

    /// Forgets all commands, and returns when none of them is left to act.
    pub(super) fn forget_commands(&self) {
        self.forget_some_commands(&|_, _| true);
        self.settle();
    }
}

/// Returns the addresses of the functions in `selection` that have no command in `there`, in ascending order.
///
/// # Errors
///
/// `ENOMEM`, and those of the kernel's list of functions.
fn addresses_of(selection: &Selection<'_>, there: Option<&KindCommands>) -> Result<KVVec<u64>> {
    let functions = hooks::current()?;
    let mut addresses = KVVec::new();
    for (at, function) in functions.list().iter().enumerate() {
        let is_there = there.is_some_and(|of| of.has(function.address));
        if function.address != 0 && selection.takes(at, &function) && !is_there {
            addresses.push(function.address, GFP_KERNEL)?;
        }
    }
    sort::ascending(&mut addresses);
    let mut last = None;
    addresses.retain(|address| last.replace(*address) != Some(*address));
    Ok(addresses)
}
