// SPDX-License-Identifier: GPL-2.0

//! A folder whose content is told by a list: a name costs an inode once it is looked up, and not
//! before.
//!
//! `fs::events_dir` implements the list. What was looked up once stays in the tree, as if it had
//! been made with its folder, until it is removed: so a changed owner or mode stays too, and
//! removal knows one kind of folder.
//!
//! Locks: the VFS holds the folder's inode lock during a lookup, shared with other lookups, and
//! never during a removal from it. A task that holds the lock alone has all that was looked up
//! before in the tree.

use super::{
    c,
    compat, //
    dir::{
        Dir,
        Folder,
        FolderTables, //
    },
    inode::{
        Inode,
        LookupDentry, //
    },
};
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    bindings,
    error::from_result,
    ffi::c_int,
    prelude::*, //
};

/// The file or folder that a name stands for.
pub(crate) enum ListedNode<N> {
    /// A file.
    File {
        /// Its permissions.
        mode: u16,
        /// How it is used.
        operations: &'static bindings::file_operations,
        /// What its inode owns.
        node: KBox<N>,
    },
    /// A folder with a list of its own.
    Folder {
        /// Its permissions.
        mode: u16,
        /// What its inode owns.
        node: KBox<N>,
    },
}

/// One name of a list, as `readdir` gets it.
pub(crate) struct ListedName<'a> {
    /// Where in the list it is; grows from one to the next, below [`PLACES`].
    pub(crate) place: u16,
    /// The name.
    pub(crate) text: &'a str,
    /// Whether it is a folder.
    pub(crate) folder: bool,
}

/// The number of places of a list. One more, for the folder itself, fits into `PLACE_BITS`.
pub(crate) const PLACES: u16 = (1 << PLACE_BITS) - 1;
const PLACE_BITS: u32 = 13;

/// The node of a folder with a list.
pub(crate) trait Listing: Send + Sync + Sized + 'static {
    /// Returns what is called `name` in the folder with this node, and its place.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn look_up(&self, name: &[u8]) -> Result<Option<(u16, ListedNode<Self>)>>;

    /// Calls `say` for each name whose place is `from` or a later one, in their order, until it
    /// returns false: it has no more room.
    fn list(&self, from: u16, say: &mut dyn FnMut(&ListedName<'_>) -> bool);
}

/// Returns the number of the inode at `place` of the folder with the number `parent`. It is known
/// before the inode is made, so that `readdir` and `stat` say the same. The folders that are made
/// with their instance have numbers of 32 bits; there are two levels of folders with lists below
/// these.
fn number_of(parent: u64, place: u16) -> u64 {
    const LISTED: u64 = 1 << 63;
    // Of the lower level: 4 bits are left for the files of its folders.
    const LOW: u32 = 4;
    const HIGH: u32 = LOW + PLACE_BITS;
    // No place is 0, which is the folder's own.
    let place = u64::from(place).wrapping_add(1);
    let below = |shift: u32| parent & ((1 << shift) - 1) == 0;
    if parent & LISTED == 0 {
        LISTED | (parent & u64::from(u32::MAX)) << (HIGH + PLACE_BITS) | place << HIGH
    } else if below(HIGH) {
        parent | place << LOW
    } else {
        parent | place
    }
}

/// The operation tables of folders with nodes of type `N`.
struct Tables<N>(PhantomData<N>);

impl<N: Listing> Tables<N> {
    const INODE: &'static bindings::inode_operations = &bindings::inode_operations {
        lookup: Some(look_up::<N>),
        ..pin_init::zeroed()
    };

    const FILE: &'static bindings::file_operations = &bindings::file_operations {
        owner: compat::this_module(),
        llseek: Some(bindings::generic_file_llseek),
        read: Some(bindings::generic_read_dir),
        iterate_shared: Some(iterate::<N>),
        ..pin_init::zeroed()
    };

    const BOTH: FolderTables = (Self::INODE, Self::FILE);
}

impl<N: Listing> Dir<'_, N> {
    /// Makes the folder `name` with the list of `node`. Fails with `ENOMEM`.
    pub(crate) fn listed(&self, name: &CStr, mode: u16, node: KBox<N>) -> Result {
        self.folder_with(name, mode, Tables::<N>::BOTH, Some(node), |_| Ok(()))
    }
}

impl<N: Listing> Folder<'_, N> {
    /// Makes what was looked up in this folder. Fails with `ENOMEM`.
    fn enter_listed(
        &self,
        looked_up: LookupDentry<'_, N>,
        place: u16,
        listed: ListedNode<N>,
    ) -> Result {
        let (inode, folder) = match listed {
            ListedNode::File {
                mode,
                operations,
                node,
            } => (self.new_file(mode, operations, node)?, false),
            ListedNode::Folder { mode, node } => {
                let inode = self.new_folder(mode, Tables::<N>::BOTH, Some(node))?;
                (inode, true)
            }
        };
        inode
            .get()
            .set_number(number_of(self.inode().number(), place));
        looked_up.enter(inode);
        if folder {
            self.inode().add_link();
        }
        Ok(())
    }
}

/// # Safety
///
/// Called by the VFS with a new dentry in a folder of ours whose node is an `N`; the lock of
/// `parent` is held.
unsafe extern "C" fn look_up<N: Listing>(
    parent: *mut bindings::inode,
    dentry: *mut bindings::dentry,
    flags: c_uint,
) -> *mut bindings::dentry {
    // SAFETY: The VFS passed the dentry to this `lookup`, in a folder with nodes of this type.
    let looked_up = unsafe { LookupDentry::<N>::from_raw(dentry) };
    let folder = match Folder::new(looked_up.parent()) {
        Ok(folder) => folder,
        Err(error) => return error.to_ptr(),
    };
    let name = looked_up.name().to_bytes();
    let (place, listed) = match folder.inode().node().map(|node| node.look_up(name)) {
        Some(Ok(Some(found))) => found,
        Some(Err(error)) => return error.to_ptr(),
        // A caller that wants to make something needs the dentry to be told that it cannot.
        _ if c::rt_lookup_makes(flags) => {
            // SAFETY: These are the arguments that the VFS passed to a `lookup` operation.
            return unsafe { bindings::simple_lookup(parent, dentry, flags) };
        }
        // A name that is nothing leaves no dentry: a lookup at the same moment, but after it was
        // made something, would get that one.
        _ => return ENOENT.to_ptr(),
    };
    match folder.enter_listed(looked_up, place, listed) {
        Ok(()) => ptr::null_mut(),
        Err(error) => error.to_ptr(),
    }
}

/// The position of the first place: before it come `.` and `..`.
const FIRST: i64 = 2;

/// # Safety
///
/// Called by the VFS for an open folder of ours whose node is an `N`; its lock is held.
unsafe extern "C" fn iterate<N: Listing>(
    file: *mut bindings::file,
    context: *mut bindings::dir_context,
) -> c_int {
    from_result(|| {
        // SAFETY: The VFS passes an open folder and the context of the call.
        if !unsafe { c::rt_dir_emit_dots(file, context) } {
            return Ok(0);
        }
        // SAFETY: The VFS keeps the file, whose inode never changes, open during the call.
        let inode = unsafe { (*file).f_inode };
        // SAFETY: An open file keeps its inode, which is a folder of ours.
        let folder = unsafe { Inode::<N>::from_raw(inode) };
        // SAFETY: The VFS keeps the context, and no other code uses it, during the call.
        let context = unsafe { &mut *context };
        let number = folder.number();
        let from = context.pos.saturating_sub(FIRST);
        let (Some(node), Ok(from)) = (folder.node(), u16::try_from(from)) else {
            return Ok(0);
        };
        // A user can seek to anywhere.
        if from >= PLACES {
            return Ok(0);
        }
        node.list(from, &mut |name| {
            let bytes = name.text.as_bytes();
            let pos = FIRST.wrapping_add(i64::from(name.place));
            context.pos = pos;
            // SAFETY: The context is valid, and `bytes.len()` bytes of the name are copied.
            let room = unsafe {
                c::rt_dir_emit(
                    context,
                    bytes.as_ptr(),
                    bytes.len() as c_int,
                    number_of(number, name.place),
                    name.folder,
                )
            };
            if room {
                context.pos = pos.wrapping_add(1);
            }
            room
        });
        Ok(0)
    })
}

#[kunit_tests(rtrace_listing)]
mod tests {
    use super::*;

    /// All below one folder differ, and the largest do not run into each other.
    #[test]
    fn numbers_differ() {
        let last = PLACES - 1;
        for events in [1, 2, u64::from(u32::MAX)] {
            for system in [0, 1, last] {
                let system_number = number_of(events, system);
                assert!(system_number > u64::from(u32::MAX));
                assert!(system == 0 || number_of(events, system - 1) < system_number);
                for event in [0, 1, last] {
                    let event_number = number_of(system_number, event);
                    assert!(event_number > system_number);
                    assert!(system == last || event_number < number_of(events, system + 1));
                    for file in [0, 1, 14] {
                        let file_number = number_of(event_number, file);
                        assert!(file_number > event_number);
                        assert!(event == last || file_number < number_of(system_number, event + 1));
                    }
                }
            }
        }
    }
}
