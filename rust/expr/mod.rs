// SPDX-License-Identifier: GPL-2.0

//! Expressions over the fields of a record. Today they are filters: which records of an event a
//! user wants, as a checked and compiled expression.
//!
//! The grammar, its errors and their places are those of ftrace's `filter` files:
//!
//! ```text
//! expression   or ("||" or)*          or  "&&" binds tighter than "||"
//! operand      "!"* predicate         or  "!"* "(" expression ")"
//! predicate    FIELD[.function|.ustring] OPERATOR VALUE
//! operator     ==  !=  <  <=  >  >=  &  ~
//! value        number, quoted string, CPUS{list}, or a function's name
//! ```
//!
//! A text is checked and compiled once ([`program::PredicateText::compile`]) into memory that the caller
//! gives, and evaluated ([`program::Program::matches`]) without a loop over anything but its own
//! predicates: any context, nothing is allocated, nothing sleeps.
//!
//! | file | what it has |
//! |---|---|
//! | `fetch` | the value that a name stands for |
//! | `op`, `range` | operators, and comparisons of numbers as intervals |
//! | `pattern`, `value` | patterns of strings, sets of CPUs |
//! | `needle` | patterns compared with strings by words |
//! | `predicate` | one comparison: from text to [`predicate::Test`] |
//! | `structure` | parentheses, `!`, `&&` and `\|\|` as jumps |
//! | `program` | all of it, compiled and evaluated |
//! | `gate` | the number or the string that a writer tests first |
//! | `error` | errors with ftrace's texts and places |

pub(crate) mod error;
pub(crate) mod fetch;
pub(crate) mod gate;
pub(crate) mod needle;
mod op;
pub(crate) mod pattern;
pub(crate) mod predicate;
pub(crate) mod program;
pub(crate) mod range;
pub(crate) mod structure;
#[cfg(test)]
mod tests;
mod value;

/// Text of the `filter` file of a system.
pub(crate) const SYSTEM_TEXT: &str = concat!(
    "### global filter ###\n",
    "# Use this to set filters for multiple events.\n",
    "# Only events with the given fields will be affected.\n",
    "# If no events are modified, an error message will be displayed here\n",
);
