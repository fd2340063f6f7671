// SPDX-License-Identifier: GPL-2.0

//! A folder whose content is told by a list: a name costs an inode when somebody looks it up, and not
//! before.
//!
//! `fs::events_dir` implements the list. What was looked up once stays in the tree, as if it had been
//! made with its folder, until it is removed: so a changed owner or mode stays too, and removal knows
//! one kind of folder.
//!
//! Locks: the VFS holds the folder's inode lock during a lookup, shared with other lookups, and never
//! during a removal from it. Who takes the lock alone has all that was looked up before in the tree.

use super::{
    c,
    dir::{
        name_of,
        node_of,
        Dir,
        FolderTables, //
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

/// What a name stands for.
pub(crate) enum Listed<N> {
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
pub(crate) struct Name<'a> {
    /// Where in the list it is; grows from one to the next, below [`PLACES`].
    pub(crate) place: u16,
    /// The name.
    pub(crate) text: &'a str,
    /// Whether it is a folder.
    pub(crate) folder: bool,
}

/// Places of a list. One more fits into so many bits, for the folder itself.
pub(crate) const PLACES: u16 = (1 << PLACE_BITS) - 1;
const PLACE_BITS: u32 = 13;

/// The node of a folder with a list.
pub(crate) trait Listing: Send + Sync + Sized + 'static {
    /// What is called `name` in the folder with this node, and its place.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn look_up(&self, name: &[u8]) -> Result<Option<(u16, Listed<Self>)>>;

    /// Calls `say` for each name whose place is `from` or behind it, in their order, until it answers
    /// that it has no more room.
    fn list(&self, from: u16, say: &mut dyn FnMut(&Name<'_>) -> bool);
}

/// The number of the inode at `place` of the folder with the number `parent`. It is known before the
/// inode is made, so that `readdir` and `stat` say the same. The folders that are made with their
/// instance have numbers of 32 bits; there are two levels of folders with lists below these.
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
        owner: kernel::module::this_module::<crate::LocalModule>().as_ptr(),
        llseek: Some(bindings::generic_file_llseek),
        read: Some(bindings::generic_read_dir),
        iterate_shared: Some(iterate::<N>),
        fsync: Some(bindings::noop_fsync),
        ..pin_init::zeroed()
    };

    const BOTH: FolderTables = (Self::INODE, Self::FILE);
}

impl<N: Listing> Dir<'_, N> {
    /// Makes the folder `name` with the list of `node`.
    pub(crate) fn listed(&self, name: &CStr, mode: u16, node: KBox<N>) -> Result {
        self.folder_with(name, mode, Tables::<N>::BOTH, Some(node), |_| Ok(()))
    }

    /// Makes what was looked up as `dentry` in this folder.
    ///
    /// # Safety
    ///
    /// `dentry` is the negative dentry that the VFS passed to a `lookup` operation in this folder.
    unsafe fn enter_listed(
        &self,
        dentry: *mut bindings::dentry,
        place: u16,
        listed: Listed<N>,
    ) -> Result {
        let (inode, folder) = match listed {
            Listed::File {
                mode,
                operations,
                node,
            } => (self.new_file(mode, operations, node)?, false),
            Listed::Folder { mode, node } => {
                let inode = self.new_folder(mode, Tables::<N>::BOTH, Some(node))?;
                (inode, true)
            }
        };
        // SAFETY: The inode is new and ours; the folder's is valid. The dentry takes the reference to
        // the inode, and other lookups may add links to this folder at the same time.
        unsafe {
            (*inode).i_ino = number_of((*self.inode()).i_ino, place);
            bindings::d_add(dentry, inode);
            c::rt_dentry_keep(dentry);
            if folder {
                c::rt_inode_add_link(self.inode());
            }
        }
        Ok(())
    }
}

/// # Safety
///
/// Called by the VFS with a new dentry in a folder of ours whose node is an `N`; the lock of `parent`
/// is held.
unsafe extern "C" fn look_up<N: Listing>(
    parent: *mut bindings::inode,
    dentry: *mut bindings::dentry,
    flags: c_uint,
) -> *mut bindings::dentry {
    // SAFETY: By the contract: the parent keeps its node, and nobody renames.
    let (node, name) = unsafe { (node_of::<N>(parent), name_of(dentry)) };
    let found = match node.map(|node| node.look_up(name.to_bytes())) {
        Some(Ok(Some(found))) => found,
        Some(Err(error)) => return error.to_ptr(),
        // SAFETY: By the contract. Who wants to make something needs the dentry to be told that he
        // cannot.
        _ if c::rt_lookup_makes(flags) => unsafe {
            return bindings::simple_lookup(parent, dentry, flags);
        },
        // A name that is nothing leaves no dentry: who looks it up at the same moment, but after
        // somebody made it something, would get that one.
        _ => return ENOENT.to_ptr(),
    };
    let (place, listed) = found;
    // SAFETY: The parent of the dentry is positive and locked, and by the contract the dentry is one
    // that a lookup was given.
    let result = unsafe { Dir::new((*dentry).d_parent, None).enter_listed(dentry, place, listed) };
    match result {
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
        // SAFETY: By the contract.
        if !unsafe { c::rt_dir_emit_dots(file, context) } {
            return Ok(0);
        }
        // SAFETY: An open file has an inode, whose node stays as long as it is open; the context is
        // ours during the call.
        let (node, number, at) = unsafe {
            let inode = (*file).f_inode;
            (node_of::<N>(inode), (*inode).i_ino, (*context).pos)
        };
        let from = at.saturating_sub(FIRST);
        let (Some(node), Ok(from)) = (node, u16::try_from(from)) else {
            return Ok(0);
        };
        // Anybody can seek to anywhere.
        if from >= PLACES {
            return Ok(0);
        }
        node.list(from, &mut |name| {
            let bytes = name.text.as_bytes();
            // SAFETY: The context is ours; the name is copied. Its length is that of an event's name.
            unsafe {
                (*context).pos = FIRST.wrapping_add(i64::from(name.place));
                c::rt_dir_emit(
                    context,
                    bytes.as_ptr(),
                    bytes.len() as c_int,
                    number_of(number, name.place),
                    name.folder,
                ) && {
                    (*context).pos = (*context).pos.wrapping_add(1);
                    true
                }
            }
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
