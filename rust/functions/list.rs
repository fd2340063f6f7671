// SPDX-License-Identifier: GPL-2.0
//! The functions that can be traced, as `available_filter_functions_addrs` of the kernel lists them.
//!
//! A line is `ADDRESS NAME` or `ADDRESS NAME [MODULE]`, the address in hexadecimal digits. The text is
//! kept as it is: it is the content of one control file, and that of another without the addresses. The
//! number of a line, counted from 1, is what users call its index.

use crate::expr::pattern::{
    self,
    PatternKind, //
};

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function<'a> {
    /// The address of the call at its beginning.
    pub(crate) address: u64,
    /// Its name, without the module.
    pub(crate) name: &'a [u8],
    /// The module that it belongs to.
    pub(crate) module: Option<&'a [u8]>,
    /// What the list shows after the address: the name and the module.
    pub(crate) shown: &'a [u8],
}

impl<'a> Function<'a> {
    /// Parses a line without its newline. A line that is none has the address 0.
    fn parse(line: &'a [u8]) -> Self {
        let (digits, shown) = split(line, b' ');
        let (name, module) = split(shown, b' ');
        Self {
            address: hexadecimal(digits).unwrap_or(0),
            name,
            module: module
                .strip_prefix(b"[")
                .and_then(|rest| rest.strip_suffix(b"]")),
            shown,
        }
    }
}

/// Returns what is before the first `byte` and what is after it.
fn split(text: &[u8], byte: u8) -> (&[u8], &[u8]) {
    let at = text.iter().position(|other| *other == byte);
    let at = at.unwrap_or(text.len());
    let rest = text.get(at..).unwrap_or_default();
    (
        text.get(..at).unwrap_or_default(),
        rest.get(1..).unwrap_or_default(),
    )
}

/// Returns the number that these digits mean; `None` when they are no number of 64 bits.
fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some((number << 4) | u64::from(digit))
    })
}

/// Returns the number of lines of `text`. One that does not end is none.
pub(crate) fn count_lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// A list, with an index of its lines.
///
/// # Invariants
///
/// `starts` has the offset of each line in `text`, in ascending order.
#[derive(Clone, Copy)]
pub(crate) struct FunctionList<'a> {
    text: &'a [u8],
    starts: &'a [u32],
}

impl<'a> FunctionList<'a> {
    /// Fills `starts`, of [`count_lines`] elements, with the offsets of the lines of `text`.
    pub(crate) fn index(text: &[u8], starts: &mut [u32]) {
        let mut start = 0u32;
        let mut rest = starts.iter_mut();
        for (at, byte) in (0u32..).zip(text) {
            if *byte == b'\n' {
                if let Some(place) = rest.next() {
                    *place = start;
                }
                start = at.wrapping_add(1);
            }
        }
    }

    /// Returns the list of `text`, whose lines [`Self::index`] has put into `starts`.
    pub(crate) fn indexed(text: &'a [u8], starts: &'a [u32]) -> Self {
        // INVARIANT: The caller says that `index` made them.
        Self { text, starts }
    }

    /// Returns the functions whose names match a glob, in their order.
    pub(crate) fn matching<'p>(
        self,
        glob: &'p [u8],
    ) -> impl Iterator<Item = Function<'a>> + use<'a, 'p> {
        let all = self.iter();
        all.filter(move |function| pattern::matches(PatternKind::Glob, glob, function.name))
    }

    /// Returns the number of functions.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the function in line `at`, counted from 0.
    pub(crate) fn get(&self, at: usize) -> Option<Function<'a>> {
        let start = *self.starts.get(at)? as usize;
        let rest = self.text.get(start..)?;
        Some(Function::parse(split(rest, b'\n').0))
    }

    /// Returns the functions, in the order of the list.
    pub(crate) fn iter(self) -> impl Iterator<Item = Function<'a>> {
        (0..self.len()).filter_map(move |at| self.get(at))
    }

    /// Returns whether `name`, which may have a module and a colon before it, means several functions. As in ftrace, those
    /// of modules do not count where the kernel itself has one.
    pub(crate) fn is_ambiguous(self, name: &[u8]) -> bool {
        let (module, name) = match name.contains(&b':') {
            true => {
                let (module, name) = split(name, b':');
                (Some(module), name)
            }
            false => (None, name),
        };
        let has_several = |is_meant: &dyn Fn(&Function<'a>) -> bool| {
            let same = self.iter().filter(|function| function.name == name);
            same.filter(is_meant).nth(1).is_some()
        };
        let is_own = |function: &Function<'a>| function.module.is_none();
        let is_there = |function: Function<'a>| function.name == name && is_own(&function);
        match module {
            Some(_) => has_several(&|function| function.module == module),
            None if self.iter().any(is_there) => has_several(&is_own),
            None => has_several(&|_| true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"ffffffff81000004 first\n\
        ffffffff81000014 second.isra.0\n\
        ffffffffc0200004 third [ext4]\n";

    fn with<R>(text: &[u8], f: impl FnOnce(FunctionList<'_>) -> R) -> R {
        let mut starts = vec![0; count_lines(text)];
        FunctionList::index(text, &mut starts);
        f(FunctionList::indexed(text, &starts))
    }

    #[test]
    fn names_that_mean_several() {
        const NAMES: &[u8] = b"1 own\n2 both\n3 twice\n4 twice\n5 both [a]\n6 both [b]\n\
            7 there [a]\n8 there [b]\n9 local [a]\na local [a]\nb once [b]\n";
        for (name, several) in [
            ("own", false),
            ("both", false),
            ("twice", true),
            ("there", true),
            ("local", true),
            ("once", false),
            ("none", false),
            ("a:both", false),
            ("a:there", false),
            ("a:local", true),
            ("b:local", false),
            ("a:twice", false),
            (":twice", false),
        ] {
            let found = with(NAMES, |list| list.is_ambiguous(name.as_bytes()));
            assert_eq!(found, several, "{name}");
        }
    }

    #[test]
    fn lines_are_functions() {
        with(TEXT, |list| {
            assert_eq!(list.len(), 3);
            assert_eq!(
                list.get(1),
                Some(Function {
                    address: 0xffff_ffff_8100_0014,
                    name: b"second.isra.0",
                    module: None,
                    shown: b"second.isra.0",
                })
            );
            let third = list.get(2).unwrap();
            assert_eq!(third.module, Some(b"ext4".as_slice()));
            assert_eq!(
                (third.name, third.shown),
                (&b"third"[..], &b"third [ext4]"[..])
            );
            let names = |glob: &[u8]| list.matching(glob).count();
            assert_eq!((names(b"*ir*"), names(b"third"), names(b"ir")), (2, 1, 0));
            assert_eq!(list.get(3), None);
            assert_eq!(list.iter().count(), 3);
        });
    }

    #[test]
    fn a_text_that_is_cut_off_has_whole_lines_only() {
        for cut in 0..TEXT.len() {
            with(&TEXT[..cut], |list| {
                assert_eq!(list.len(), count_lines(&TEXT[..cut]));
                assert!(list.iter().all(|function| function.address != 0));
            });
        }
    }

    #[test]
    fn lines_that_are_none_have_no_address() {
        for text in [
            "\n",
            " \n",
            "x y\n",
            "11111111111111111 y\n",
            "-1 y\n",
            "\0 y [\n",
        ] {
            with(text.as_bytes(), |list| {
                assert_eq!(list.get(0).unwrap().address, 0, "{text:?}");
            });
        }
    }
}
