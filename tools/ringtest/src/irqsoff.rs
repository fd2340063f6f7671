// SPDX-License-Identifier: GPL-2.0

//! Sections of a CPU with interrupts off, as the tracer `irqsoff` sees them.

use crate::{
    latency::irqsoff::{BegunSection, SectionOfCpu},
    sim::Word,
};

fn section(since: u64) -> BegunSection {
    BegunSection {
        since,
        clock: 2,
        exchanges: 7,
        place: since + 1,
    }
}

#[test]
fn a_section_has_one_end() {
    let cpu = SectionOfCpu::<Word>::new();
    assert_eq!(cpu.end(), None, "it has not begun");
    cpu.begin(section(10));
    assert!(cpu.has_begun());
    assert_eq!(cpu.end(), Some(section(10)));
    assert!(!cpu.has_begun());
    assert_eq!(cpu.end(), None, "once");
    cpu.begin(section(10));
    cpu.begin(section(30));
    assert_eq!(
        cpu.end(),
        Some(section(30)),
        "the end of the first one is lost"
    );
}

#[test]
fn times_of_two_clocks_are_no_length() {
    assert_eq!(section(10).until(14, 2), Some(4));
    assert_eq!(section(10).until(14, 3), None);
    assert_eq!(section(10).until(9, 2), Some(0));
}
