// SPDX-License-Identifier: GPL-2.0

//! Which records of an event does a filter let through?
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
//! A text is checked and compiled once ([`program::Source::compile`]) into memory that the caller
//! gives, and evaluated ([`program::Program::matches`]) without a loop over anything but its own
//! predicates: any context, nothing is allocated, nothing sleeps.

pub(crate) mod error;
pub(crate) mod gate;
mod pattern;
pub(crate) mod predicate;
pub(crate) mod program;
pub(crate) mod range;
pub(crate) mod structure;
#[cfg(test)]
mod tests;
mod value;

use crate::text::number;

/// What the `filter` file of a system shows.
pub(crate) const SYSTEM_TEXT: &str = concat!(
    "### global filter ###\n",
    "# Use this to set filters for multiple events.\n",
    "# Only events with the given fields will be affected.\n",
    "# If no events are modified, an error message will be displayed here\n",
);

/// First address of a function, and the one behind it, from `NAME+0xOFFSET/0xSIZE` as the kernel
/// prints `address`.
pub(crate) fn function_of_symbol(symbol: &str, address: u64) -> Option<(u64, u64)> {
    let symbol = symbol.split_once(' ').map_or(symbol, |(symbol, _)| symbol);
    let (_, place) = symbol.rsplit_once('+')?;
    let (offset, size) = place.split_once('/')?;
    let from = address.checked_sub(number::c_integer(offset.as_bytes(), false)?)?;
    Some((
        from,
        from.checked_add(number::c_integer(size.as_bytes(), false)?)?,
    ))
}
