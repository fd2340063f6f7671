// SPDX-License-Identifier: GPL-2.0

//! Makes the kernel safe to use: more `unsafe` code is here than in any other folder.
//!
//! Each file makes one part of the kernel's C interface safe for the other folders. It knows
//! nothing about files, instances or rings, except for the traits that they implement or call.

pub(crate) mod alarm;
pub(crate) mod c;
mod claim;
pub(crate) mod clock;
pub(crate) mod compat;
pub(crate) mod context;
pub(crate) mod cpu_counts;
pub(crate) mod cpu_watch;
pub(crate) mod cpus;
mod deferred;
pub(crate) mod dir;
pub(crate) mod each_cpu;
pub(crate) mod foreign;
pub(crate) mod fprobe;
pub(crate) mod fs;
mod fs_context;
pub(crate) mod function_hook;
pub(crate) mod global;
pub(crate) mod grace;
pub(crate) mod grace_either;
pub(crate) mod grace_places;
pub(crate) mod grace_ref;
pub(crate) mod graph_hook;
pub(crate) mod hook_registers;
pub(crate) mod inode;
pub(crate) mod irq_lock;
pub(crate) mod irqs;
pub(crate) mod kept;
pub(crate) mod kernel_btf;
pub(crate) mod kernel_stacks;
pub(crate) mod kernel_tracefs;
pub(crate) mod kprobe;
pub(crate) mod late;
pub(crate) mod lent_ref;
pub(crate) mod listing;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod mapping;
pub(crate) mod mkdir;
pub(crate) mod module_notifier;
mod mount;
pub(crate) mod nesting;
pub(crate) mod noise;
pub(crate) mod open_file;
mod own_word;
pub(crate) mod pages;
pub(crate) mod percpu;
pub(crate) mod pipe;
pub(crate) mod port;
pub(crate) mod program_memory;
pub(crate) mod publisher;
mod raw_cell;
pub(crate) mod recursion;
pub(crate) mod sampler;
pub(crate) mod scratch;
pub(crate) mod sort;
pub(crate) mod stack;
pub(crate) mod strings;
pub(crate) mod sums;
mod superblock;
pub(crate) mod symbol;
pub(crate) mod task;
#[cfg(CONFIG_KUNIT = "y")]
mod tests;
pub(crate) mod text_buffer;
pub(crate) mod threads;
pub(crate) mod tick;
pub(crate) mod uprobe;
pub(crate) mod user_memory;
pub(crate) mod wait;
mod wait_queue;
pub(crate) mod waker;
pub(crate) mod walk;
pub(crate) mod watchpoint;
pub(crate) mod whole_record;
pub(crate) mod words;
pub(crate) mod worker;
