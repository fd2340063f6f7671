// SPDX-License-Identifier: GPL-2.0

//! A word that each CPU has under a name, as an operand of `asm!`.

/// The operand for this CPU's word of eight bytes whose symbol is `own`.
#[cfg(CONFIG_SMP)]
macro_rules! own_word {
    () => {
        "qword ptr gs:[rip + {own}]"
    };
}

/// As above, in a kernel for one CPU.
#[cfg(not(CONFIG_SMP))]
macro_rules! own_word {
    () => {
        "qword ptr [rip + {own}]"
    };
}

pub(super) use own_word;
