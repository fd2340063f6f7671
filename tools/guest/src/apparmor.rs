// SPDX-License-Identifier: GPL-2.0

//! A profile of AppArmor, in the kernel's own form (security/apparmor/policy_unpack.c): a thread that obeys it may use
//! all files that have a path from its root folder, and no others.

use crate::check::Check;
use crate::errno::Op;
use crate::sys;
use std::path::Path;

const NAME: &str = "rtguest";
const SECURITYFS: &str = "/sys/kernel/security";

/// What the values of a profile begin with.
const NUMBER: u8 = 2;
const VALUE_NAME: u8 = 4;
const STRING: u8 = 5;
const BLOB: u8 = 6;
const STRUCTURE: u8 = 7;
const STRUCTURE_END: u8 = 8;

/// All that is done to files but running them, by their owners and by others.
const ANYTHING: u32 = 0x3e | 0x3e << 14;

/// Tables by which paths are matched.
const ACCEPT: u16 = 1;
const BASE: u16 = 2;
const CHECK: u16 = 3;
const DEFAULT: u16 = 4;
const ACCEPT_2: u16 = 7;
const NEXT: u16 = 8;

fn add_text(profile: &mut Vec<u8>, kind: u8, text: &str) {
    profile.push(kind);
    profile.extend((text.len() as u16 + 1).to_le_bytes());
    profile.extend(text.as_bytes());
    profile.push(0);
}

fn add_number(profile: &mut Vec<u8>, number: u32) {
    profile.push(NUMBER);
    profile.extend(number.to_le_bytes());
}

fn begin(profile: &mut Vec<u8>, name: &str) {
    add_text(profile, VALUE_NAME, name);
    profile.push(STRUCTURE);
}

/// Adds a table, of numbers of `size` bytes.
fn add_table(tables: &mut Vec<u8>, id: u16, size: usize, numbers: &[u32]) {
    tables.extend(id.to_be_bytes());
    tables.extend((size as u16).to_be_bytes());
    tables.extend(0u32.to_be_bytes());
    tables.extend((numbers.len() as u32).to_be_bytes());
    for number in numbers {
        tables.extend(&number.to_be_bytes()[4 - size..]);
    }
    tables.resize(tables.len().next_multiple_of(8), 0);
}

/// Returns tables that take every path: state 1, the first one, goes on to itself by each byte.
fn any_path() -> Vec<u8> {
    let mut tables = 0x1b5e_783d_u32.to_be_bytes().to_vec();
    tables.extend(16u32.to_be_bytes());
    tables.resize(16, 0);
    add_table(&mut tables, ACCEPT, 4, &[0, ANYTHING]);
    add_table(&mut tables, ACCEPT_2, 4, &[0, 0]);
    add_table(&mut tables, BASE, 4, &[0, 0]);
    add_table(&mut tables, DEFAULT, 2, &[0, 1]);
    add_table(&mut tables, NEXT, 2, &[0; 256]);
    add_table(&mut tables, CHECK, 2, &[0; 256]);
    let len = tables.len() as u32;
    tables[8..12].copy_from_slice(&len.to_be_bytes());
    tables
}

/// Returns the profile.
fn profile() -> Vec<u8> {
    let mut profile = Vec::new();
    add_text(&mut profile, VALUE_NAME, "version");
    add_number(&mut profile, 5);
    begin(&mut profile, "profile");
    add_text(&mut profile, STRING, NAME);
    // Neither special nor audited: what it does not allow is refused.
    begin(&mut profile, "flags");
    (0..3).for_each(|_| add_number(&mut profile, 0));
    profile.push(STRUCTURE_END);
    // Capabilities: allowed, audited, quiet, and one that is not used; then the upper halves.
    for number in [u32::MAX, 0, 0, 0] {
        add_number(&mut profile, number);
    }
    begin(&mut profile, "caps64");
    for number in [u32::MAX, 0, 0, 0] {
        add_number(&mut profile, number);
    }
    profile.push(STRUCTURE_END);
    let tables = any_path();
    add_text(&mut profile, VALUE_NAME, "aadfa");
    profile.push(BLOB);
    profile.extend((tables.len() as u32).to_le_bytes());
    profile.extend(tables);
    profile.push(STRUCTURE_END);
    profile
}

/// The profile while the kernel has it.
pub struct Profile(());

impl Profile {
    /// Loads it, if the kernel has AppArmor.
    pub fn load() -> Check<Option<Self>> {
        let enabled = std::fs::read_to_string("/sys/module/apparmor/parameters/enabled");
        if !enabled.is_ok_and(|text| text.trim() == "Y") {
            return Ok(None);
        }
        // It may be there already.
        let _ = sys::mount_fs("securityfs", Path::new(SECURITYFS), 0, "");
        std::fs::write(format!("{SECURITYFS}/apparmor/.load"), profile())
            .map_err(|e| format!("the profile: {e}"))?;
        Ok(Some(Self(())))
    }

    /// Has the calling thread, and only it, obey the profile for good.
    pub fn enter(&self) -> Op {
        let file = "/proc/thread-self/attr/apparmor/current";
        Ok(std::fs::write(file, format!("changeprofile {NAME}"))?)
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        let _ = std::fs::write(format!("{SECURITYFS}/apparmor/.remove"), NAME);
    }
}
