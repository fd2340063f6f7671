// SPDX-License-Identifier: GPL-2.0

//! Shows whether the sanitizers see errors of Rust code.
//!
//! A kernel can be built with KASAN and still not check Rust code. This module makes one
//! mistake when it is loaded, the one that `what` names; `scripts/sanitizers` expects the report.

use core::hint::black_box;
use kernel::prelude::*;

module! {
    type: Bad,
    name: "rtbad",
    authors: ["The rtrace authors"],
    description: "Makes one mistake on purpose",
    license: "GPL",
    params: {
        what: i64 {
            default: 0,
            description: "1 reads past the end, 2 reads what was freed, 3 loses memory",
        },
    },
}

struct Bad;

/// How many pieces of memory are lost.
const LOST: usize = 16;

/// Not the size of a kmalloc cache: the bytes after it belong to no object.
const SIZE: usize = 40;

fn bytes() -> Result<KVec<u8>> {
    Ok(KVec::from_elem(7, SIZE, GFP_KERNEL)?)
}

impl kernel::Module for Bad {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        match module_parameters::what.value() {
            1 => {
                let bytes = bytes()?;
                // SAFETY: There is none, and that is the purpose: one byte after the last. It is
                // still inside the 64 bytes of the cache's object, so that nothing breaks.
                let beyond = unsafe { bytes.as_ptr().add(black_box(SIZE)).read() };
                pr_info!("behind the end: {beyond}\n");
            }
            2 => {
                let bytes = bytes()?;
                let place = bytes.as_ptr();
                drop(bytes);
                // SAFETY: There is none, and that is the purpose. The memory stays mapped.
                let freed = unsafe { black_box(place).read() };
                pr_info!("freed: {freed}\n");
            }
            3 => {
                // Of one alone the address may be left in some stack.
                for _ in 0..LOST {
                    core::mem::forget(bytes()?);
                }
                pr_info!("lost\n");
            }
            _ => return Err(EINVAL),
        }
        Ok(Self)
    }
}
