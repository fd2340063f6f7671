// SPDX-License-Identifier: GPL-2.0

//! Histograms: counts and sums of events by what they carry, made while they happen.
//!
//! The language, its errors and their places, and the texts are those of ftrace's `hist` triggers:
//!
//! ```text
//! command   hist:ITEM[:ITEM...][ if FILTER]
//! item      keys=KEY[,KEY]  vals=VALUE[,VALUE]  sort=FIELD[.descending][,...]  size=N  clock=NAME
//!           nohitcount  pause  cont  clear  NAME=EXPRESSION[,NAME=EXPRESSION]
//!           HANDLER.DEED                                      what happens when an event was counted
//! key       an expression of fields and numbers, or common_stacktrace
//! value     an expression of fields, numbers and variables: [SYSTEM.EVENT.]$NAME
//!           FIELD.min  FIELD.max  FIELD.avg  FIELD.quantiles    what ftrace does not have
//! ```
//!
//! A command is checked and becomes a [`plan::Plan`] once. A writer makes the key of its event by it, and
//! the [`map::Map`] counts: any context, nothing is allocated, no lock, no wait. A reader copies what is
//! there, sorts and prints it, and keeps no writer waiting.
//!
//! | file | what it has |
//! |---|---|
//! | `command` | a command, divided into its items |
//! | `expr` | expressions: from text to nodes |
//! | `variable` | variables of entries, and references to them |
//! | `action` | actions, from their text |
//! | `track` | what `onmax` and `onchange` follow, and what entries keep for them |
//! | `tracked` | these records, for writers in any context |
//! | `plan` | keys, values and sort keys, resolved |
//! | `keys` | keys, from their text |
//! | `order` | what entries are sorted by, from its text |
//! | `matched` | the events whose variables are found first |
//! | `parameter` | what actions give to synthetic events, from its text |
//! | `same` | whether two plans make the same histogram |
//! | `key` | what a record gives for them |
//! | `tally` | the least, the greatest, the average and quantiles of values |
//! | `value` | the values that entries keep |
//! | `map` | entries by key, for writers in any context |
//! | `sort` | the order of entries, that of ftrace also where keys are equal |
//! | `print` | the line of the trigger, and the text of the histogram |
//! | `print_kept` | what entries keep |
//! | `json` | the histogram as JSON |
//! | `error` | errors with ftrace's texts and places |

pub(crate) mod action;
pub(crate) mod command;
pub(crate) mod error;
pub(crate) mod expr;
pub(crate) mod json;
pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod load;
pub(crate) mod map;
pub(crate) mod matched;
mod order;
pub(crate) mod parameter;
pub(crate) mod plan;
pub(crate) mod print;
mod print_kept;
mod same;
pub(crate) mod sort;
pub(crate) mod tally;
pub(crate) mod track;
pub(crate) mod tracked;
pub(crate) mod value;
pub(crate) mod variable;

#[cfg(test)]
pub(crate) mod test_event;
#[cfg(test)]
mod tests;
