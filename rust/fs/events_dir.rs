// SPDX-License-Identifier: GPL-2.0

//! The content of `events/`: the systems, their events, and the files of each.
//!
//! An instance has thousands of these files, of which few are ever opened: they are made when they
//! are looked up (`kapi::listing`), and this is the list. It is computed from the events that can
//! be enabled at that moment, so that a module's events appear by themselves.

use super::{
    events,
    features,
    file::{
        Arg,
        FileKind,
        FileNode, //
        Handler::{
            self,
            Knob,
            Line,
            List,
            Own,
            Show, //
        },
    },
    hist,
    tree::TreeDir, //
};
use crate::{
    event::format::{
        self,
        Internal,
        INTERNAL_SYSTEM, //
    },
    events::{
        Event,
        IdRef,
        CAPACITY,
        FIRST_ID,
        RECORDS, //
    },
    instance::Instance,
    kapi::{
        fs::FOLDER_MODE,
        listing::{
            ListedName,
            ListedNode,
            Listing,
            PLACES, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

type Files = &'static [(&'static CStr, Handler)];

/// `events/`, beside the folders of the systems.
static EVENTS: Files = &[
    (c"enable", Knob(events::show_enable, events::store_enable)),
    (c"header_event", Show(events::show_header_event)),
    (c"header_page", Show(events::show_header_page)),
];

/// The folder of a system, beside those of its events.
static SYSTEM: Files = &[
    (c"enable", Knob(events::show_enable, events::store_enable)),
    (
        c"filter",
        Line(events::show_system_filter, events::store_system_filter),
    ),
];

/// The folder of an event.
static EVENT: Files = &[
    (c"enable", Knob(events::show_enable, events::store_enable)),
    (c"filter", Line(events::show_filter, events::store_filter)),
    (c"format", List(events::show_format)),
    (c"hist", Own(0o440, FileKind::Watched, hist::open)),
    (c"hist_json", List(hist::show_json)),
    (c"hist_take", Own(0o440, FileKind::Text, hist::open_take)),
    (c"hits", Show(features::show_hits)),
    (c"id", Show(events::show_id)),
    (c"lost", Show(features::show_lost)),
    (
        c"trigger",
        Own(0o640, FileKind::LinesRead, events::open_triggers),
    ),
];

/// The folder of the record of `trace_marker`.
static MARKER: Files = &[
    (c"format", List(events::show_format)),
    (c"hist", Own(0o440, FileKind::Watched, hist::open)),
    (c"hist_json", List(hist::show_json)),
    (c"hist_take", Own(0o440, FileKind::Text, hist::open_take)),
    (c"id", Show(events::show_id)),
    (
        c"trigger",
        Own(0o640, FileKind::LinesRead, events::open_triggers),
    ),
];

/// The folder of the record of the tracer `function`.
static FUNCTION: Files = &[
    (c"format", List(events::show_format)),
    (c"hist", Own(0o440, FileKind::Watched, hist::open)),
    (c"id", Show(events::show_id)),
];

/// The folder of another record of that system: ftrace gives these no `id`.
static RECORD: Files = &[
    (c"format", List(events::show_format)),
    (c"hist", Own(0o440, FileKind::Watched, hist::open)),
];

/// Stands for the system of the records that no tracepoint makes. Their ids are below [`FIRST_ID`].
const INTERNAL_ID: u16 = 0;

/// The number of places before the folders, for the files: the most that a folder may have.
const FILES: u16 = 14;
// The places of all folders are in the list.
const _: () = assert!(FILES as usize + RECORDS as usize + CAPACITY < PLACES as usize);

/// Returns the place of the folder that is about an id, or about a system with that as its first
/// id.
fn place_of(id: u16) -> u16 {
    let at = match id.checked_sub(FIRST_ID) {
        Some(event) => RECORDS.saturating_add(event),
        None => id,
    };
    FILES.saturating_add(at)
}

/// Returns the least id whose folder is at `place` or a later one.
fn id_from(place: u16) -> u16 {
    let at = place.saturating_sub(FILES);
    match at.checked_sub(RECORDS) {
        Some(event) => FIRST_ID.saturating_add(event),
        None => at,
    }
}

/// Calls `f` with the folder, of one system and event for all, and the name of each file.
pub(super) fn for_each_file(mut f: impl FnMut(&str, &CStr)) {
    for (folder, files) in [
        ("events/", EVENTS),
        ("events/SYSTEM/", SYSTEM),
        ("events/SYSTEM/EVENT/", EVENT),
    ] {
        for (name, _) in files {
            f(folder, name);
        }
    }
}

/// Makes `events/` of `inst`.
pub(super) fn make(dir: &TreeDir<'_>, name: &CStr, inst: &Arc<Instance>) -> Result {
    dir.listed(name, FOLDER_MODE, node(inst, Arg::Whole, None)?)
}

fn node(
    inst: &Arc<Instance>,
    arg: Arg,
    handler: Option<&'static Handler>,
) -> Result<KBox<FileNode>> {
    let node = FileNode {
        inst: inst.clone(),
        arg,
        handler,
        _id: match arg {
            Arg::System(id) | Arg::Event(id) => IdRef::new(id),
            _ => None,
        },
    };
    Ok(KBox::new(node, GFP_KERNEL)?)
}

/// Returns the files of a folder.
fn files(arg: Arg) -> Files {
    match arg {
        Arg::Whole => EVENTS,
        Arg::System(INTERNAL_ID) => &[],
        Arg::System(_) => SYSTEM,
        Arg::Event(id) if id == format::PRINT.id => MARKER,
        Arg::Event(id) if id == format::FUNCTION.id => FUNCTION,
        Arg::Event(id) if id < FIRST_ID => RECORD,
        Arg::Event(_) => EVENT,
        Arg::Cpu(_) | Arg::Option(_) => &[],
    }
}

/// Returns the records in the folder of a system that no tracepoint makes. Their table is in the order of names.
fn records(system: u16) -> &'static [&'static Internal] {
    match system {
        INTERNAL_ID => &format::INTERNAL,
        _ => &[],
    }
}

/// Returns the events in the folder of a system; users may define some in that of the records, too.
fn events_of(system: u16) -> Option<impl Iterator<Item = &'static Event>> {
    let system = match system {
        INTERNAL_ID => INTERNAL_SYSTEM,
        first => crate::events::by_id(first)?.system(),
    };
    Some(crate::events::all().filter(move |event| event.system() == system))
}

/// Returns what the folder called `name` in that of `arg` is about.
fn folder(arg: Arg, name: &[u8]) -> Option<Arg> {
    match arg {
        Arg::Whole if name == INTERNAL_SYSTEM.as_bytes() => Some(Arg::System(INTERNAL_ID)),
        Arg::Whole => crate::events::system_by_name(name).map(|first| Arg::System(first.id())),
        Arg::System(system) => {
            let mut records = records(system).iter();
            if let Some(record) = records.find(|record| record.name.as_bytes() == name) {
                return Some(Arg::Event(record.id));
            }
            let mut events = events_of(system)?;
            let found = events.find(|event| event.name().as_bytes() == name);
            found.map(|event| Arg::Event(event.id()))
        }
        _ => None,
    }
}

/// Calls `say` with the id and the name of each folder in that of `arg`, from the id `from` on, in
/// the order of the ids, until it answers false.
fn for_each_folder(arg: Arg, from: u16, mut say: impl FnMut(u16, &str) -> bool) {
    match arg {
        Arg::Whole => {
            if from == INTERNAL_ID && !say(INTERNAL_ID, INTERNAL_SYSTEM) {
                return;
            }
            // That one is in the list already.
            let mut others =
                crate::events::systems(from).filter(|first| first.system() != INTERNAL_SYSTEM);
            let _ = others.all(|first| say(first.id(), first.system()));
        }
        Arg::System(system) => {
            let mut rest = from;
            while let Some(record) = records(system)
                .iter()
                .filter(|record| record.id >= rest)
                .min_by_key(|record| record.id)
            {
                if !say(record.id, record.name) {
                    return;
                }
                rest = record.id.wrapping_add(1);
            }
            let events = events_of(system).into_iter().flatten();
            let mut rest = events.filter(|event| event.id() >= from);
            let _ = rest.all(|event| say(event.id(), event.name()));
        }
        _ => {}
    }
}

impl Listing for FileNode {
    fn look_up(&self, name: &[u8]) -> Result<Option<(u16, ListedNode<Self>)>> {
        // First, as in ftrace: users may call an event or a group like a file.
        if let Some(arg @ (Arg::System(id) | Arg::Event(id))) = folder(self.arg, name) {
            let listed = ListedNode::Folder {
                mode: FOLDER_MODE,
                node: node(&self.inst, arg, None)?,
            };
            return Ok(Some((place_of(id), listed)));
        }
        let mut files = (0..).zip(files(self.arg));
        let Some((place, (_, handler))) = files.find(|(_, (file, _))| file.to_bytes() == name)
        else {
            return Ok(None);
        };
        let listed = ListedNode::File {
            mode: handler.mode(),
            operations: handler.operations(),
            node: node(&self.inst, self.arg, Some(handler))?,
        };
        Ok(Some((place, listed)))
    }

    fn list(&self, from: u16, say: &mut dyn FnMut(&ListedName<'_>) -> bool) {
        for (place, (name, _)) in (0..).zip(files(self.arg)) {
            let name = ListedName {
                place,
                text: name.to_str().unwrap_or_default(),
                folder: false,
            };
            if place >= from && !say(&name) {
                return;
            }
        }
        for_each_folder(self.arg, id_from(from), |id, text| {
            say(&ListedName {
                place: place_of(id),
                text,
                folder: true,
            })
        });
    }
}

#[kunit_tests(rtrace_fs_events_dir)]
mod tests {
    use super::*;

    /// Each name that is listed is found, at its own place, and not before the place that was asked
    /// for.
    #[test]
    fn listed_is_found() {
        for arg in [
            Arg::Whole,
            Arg::System(INTERNAL_ID),
            Arg::System(FIRST_ID),
            Arg::Event(format::PRINT.id),
            Arg::Event(FIRST_ID),
        ] {
            assert!(files(arg).len() <= usize::from(FILES));
            let mut next = 0;
            for_each_folder(arg, 0, |id, name| {
                assert!(id >= next);
                next = id + 1;
                let found = folder(arg, name.as_bytes());
                assert!(matches!(found, Some(Arg::System(at) | Arg::Event(at)) if at == id));
                let mut first = None;
                for_each_folder(arg, id, |id, _| {
                    first = Some(id);
                    false
                });
                assert_eq!(first, Some(id));
                true
            });
            assert!(folder(arg, b"no such name").is_none());
        }
    }
}
