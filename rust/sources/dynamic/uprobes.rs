// SPDX-License-Identifier: GPL-2.0

//! Definitions of events of probes in programs: `p` and `r` at a place in a file; one of the rows of
//! [`super::KINDS`].

use super::{
    common::event_names,
    define,
    define_all,
    AmbiguityTest,
    ControlledEvents,
    Definition,
    DefinitionContext,
    DynamicKind,
    RefusedLine, //
};
use crate::{
    fetch::{
        argument::{
            Compiler,
            ProbeSite, //
        },
        command::{
            DefiningLine,
            LineWord, //
        },
        elf::{
            function_offset,
            FileBytes, //
        },
        error::{
            ProbeError,
            ProbeRefusal, //
        },
        usdt::{
            for_each_site,
            UsdtSite, //
        },
        usdt_command::{
            NoLine,
            UsdtLine, //
        },
        user_command::{
            UserHead,
            GROUP, //
        }, //
    },
    kapi::{
        text_buffer::TextBuffer,
        uprobe::{
            ProbedFile,
            UserProbe,
            IS_THERE, //
        }, //
    },
    sources::{
        hit_probe::HitProbe,
        probe_layout::{
            FilePlace,
            ProbeLayout, //
        },
        uprobe::UserHook, //
    }, //
};
use kernel::{
    fmt::Write,
    prelude::*, //
};

/// The kind.
pub(super) struct Uprobes;

impl DynamicKind for Uprobes {
    fn author(&self) -> &'static str {
        "trace_uprobe"
    }

    fn is_in(&self, file: ControlledEvents) -> bool {
        matches!(file, ControlledEvents::Uprobes | ControlledEvents::All)
    }

    fn create(&self, line: DefiningLine<'_>, _: AmbiguityTest<'_>) -> Result<bool, RefusedLine> {
        match UserHead::parse(line.text).map_err(|refusal| self.refused(refusal))? {
            Some(head) if IS_THERE => {
                // Looking for a file may take other locks, and time.
                let probe = UserProbe::open(head.path.text);
                // Where no file has that name, a probe of another one may have it.
                if let (Err(_), Some(usdt)) = (&probe, UsdtLine::parse(line.text)) {
                    create_usdt(usdt, line.condition)?;
                    return Ok(true);
                }
                let begin = match (&probe, head.function()) {
                    (Ok(probe), Some(name)) => begin_of(probe, name),
                    _ => None,
                };
                define(|making| create(line, head, (making, probe, begin)))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl FileBytes for ProbedFile {
    fn read(&self, at: u64, room: &mut [u8]) -> bool {
        Self::read(self, at, room)
    }
}

/// Returns the offset of the function `name` in the file of `probe`; `None` if there is not exactly one.
fn begin_of(probe: &UserProbe, name: &str) -> Option<u64> {
    let file = probe.to_read().filter(|_| probe.is_regular())?;
    function_offset(&file, name).ok()
}

/// Returns what was opened, whose path is at `at` of the line, if it is of a regular file.
fn regular(opened: Result<UserProbe>, at: usize) -> Result<UserProbe, RefusedLine> {
    let refused = |error| Uprobes.refused(ProbeRefusal::new(error, at));
    let probe = opened.map_err(|error| match error {
        ENOMEM => error.into(),
        _ => RefusedLine {
            error,
            ..refused(ProbeError::FileMissing)
        },
    })?;
    match probe.is_regular() {
        true => Ok(probe),
        false => Err(refused(ProbeError::NotRegular)),
    }
}

/// Makes an event of a statically defined probe, which is hit at each place of that.
fn create_usdt(usdt: UsdtLine<'_>, condition: Option<LineWord<'_>>) -> Result<(), RefusedLine> {
    let refused = |error, at| Uprobes.refused(ProbeRefusal::new(error, at));
    let open = || regular(UserProbe::open(usdt.path.text), usdt.path.at);
    let probe = open()?;
    let mut lines = KVec::new();
    let mut add = |site: UsdtSite<'_>| {
        let mut line = TextBuffer::new();
        usdt.write_at(&site, &mut line).map_err(|why| match why {
            NoLine::Refused(refusal) => Uprobes.refused(refusal),
            NoLine::NoRoom => ENOMEM.into(),
        })?;
        lines
            .push((line, None), GFP_KERNEL)
            .map_err(|_| RefusedLine::from(ENOMEM))
    };
    if let Some(file) = probe.to_read() {
        for_each_site(&file, (usdt.provider, usdt.name.text), &mut add)?;
    }
    drop(probe);
    if lines.is_empty() {
        return Err(refused(ProbeError::FilePlace, usdt.name.at));
    }
    for (_, probe) in &mut lines {
        *probe = Some(open()?);
    }
    let count = lines.len();
    let mut rest = lines.iter_mut();
    define_all(count, |making| {
        let (line, probe) = rest.next().ok_or(EINVAL)?;
        let (line, probe) = (line.text(), probe.take().ok_or(EINVAL)?);
        let made = match UserHead::parse(line) {
            Ok(Some(head)) => {
                let text = line;
                let line = DefiningLine { text, condition };
                create(line, head, (making, Ok(probe), None))
            }
            Ok(None) => Err(EINVAL.into()),
            Err(refusal) => Err(Uprobes.refused(refusal)),
        };
        made.map_err(|refused| refused.with_places(|at| usdt.place_of(line, at)))
    })
}

/// Makes an event as `line` defines it, which begins with `head`.
fn create(
    line: DefiningLine<'_>,
    head: UserHead<'_>,
    (making, probe, begin): (&DefinitionContext<'_>, Result<UserProbe>, Option<u64>),
) -> Result<Definition, RefusedLine> {
    let refused = |refusal| Uprobes.refused(refusal);
    let probe = regular(probe, head.path.at)?;
    let place = head.place(begin).map_err(refused)?;
    let names = head.names().map_err(refused)?;
    let (group, name) = event_names(names, GROUP, |name| {
        head.write_default_name(place.offset, name)
    })?;
    let name = name.text();
    let site = ProbeSite::User {
        returns: place.returns,
    };
    let mut compiler = Compiler::new(site, &|_| None);
    let mut layout = ProbeLayout::compile((line.text, line.text), &mut compiler, &Uprobes)?;
    layout.set_condition(line.condition, &Uprobes)?;
    let file = FilePlace {
        file: probe.file(),
        place,
    };
    layout.file = Some(file);
    // One place has one counter.
    let is_other = |other: FilePlace| other.contradicts(&file);
    let mut known = making.known.iter();
    if known.any(|known| known.probe.layout().file.is_some_and(is_other)) {
        return Err(EINVAL.into());
    }
    let sibling = making.sibling(&Uprobes, (group, name), (line.text, &layout));
    let sibling = sibling.map_err(refused)?;
    let hook = UserHook::new(probe, place)?;
    let probe = HitProbe::new(layout, hook, place.offset)?;
    let definition = Definition::new(
        &Uprobes,
        (group, name, sibling),
        (probe, line.condition),
        None,
        |shown| {
            let letter = if place.returns { 'r' } else { 'p' };
            write!(shown, "{letter}:{group}/{name} {}:", head.path.text)?;
            place.write(shown)
        },
    )?;
    Ok(definition)
}
