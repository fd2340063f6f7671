// SPDX-License-Identifier: GPL-2.0

//! What an argument is when it is compiled: the steps by which its value is fetched.

use super::types::ArgumentType;

/// Most dereferences inside each other.
pub(super) const MOST_NESTED: usize = 8;
/// Most steps: the dereferences, and what is inside.
const MOST_STEPS: usize = MOST_NESTED + 2;

/// A part of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineSpan {
    start: u16,
    len: u16,
}

impl LineSpan {
    /// Returns the part at `start` that `text` is.
    pub(super) fn new(start: usize, text: &str) -> Self {
        // A line has less than 4096 bytes.
        Self {
            start: start.min(usize::from(u16::MAX)) as u16,
            len: text.len().min(usize::from(u16::MAX)) as u16,
        }
    }

    /// Returns the part of `line`.
    pub(crate) fn of(self, line: &str) -> &str {
        let start = usize::from(self.start);
        line.get(start..start.saturating_add(self.len.into()))
            .unwrap_or_default()
    }

    /// Returns the same of a line of bytes.
    pub(crate) fn bytes_of(self, line: &[u8]) -> &[u8] {
        let start = usize::from(self.start);
        line.get(start..start.saturating_add(self.len.into()))
            .unwrap_or_default()
    }
}

/// One step: what it leaves is the value that the next one takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchStep {
    /// A word of the registers.
    Register(u8),
    /// A parameter of the function, by its place; 0 is the first.
    Parameter(u16),
    /// A word of the stack.
    Stack(u16),
    StackPointer,
    /// What the function returns.
    Returned,
    /// The address of the current task.
    Current,
    /// The name of the current task.
    Comm,
    Immediate(u64),
    /// A string of the line.
    Literal(LineSpan),
    /// What is in memory at the value plus `offset`.
    Load {
        offset: i64,
        user: bool,
    },
}

/// The steps of an argument, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepList {
    steps: [FetchStep; MOST_STEPS],
    len: u8,
}

impl StepList {
    /// Returns an empty one.
    pub(super) fn new() -> Self {
        Self {
            steps: [FetchStep::StackPointer; MOST_STEPS],
            len: 0,
        }
    }

    /// Adds one after the others. There is room for the dereferences that can be nested.
    pub(super) fn push(&mut self, step: FetchStep) {
        if let Some(place) = self.steps.get_mut(usize::from(self.len)) {
            *place = step;
            self.len = self.len.saturating_add(1);
        }
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> &[FetchStep] {
        self.steps.get(..self.len.into()).unwrap_or_default()
    }
}

/// A compiled argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    /// None for one that is called by its number.
    pub(crate) name: Option<LineSpan>,
    /// Fetch and type.
    pub(crate) body: LineSpan,
    pub(crate) ty: ArgumentType,
    steps: StepList,
}

impl Argument {
    /// Returns one that takes these steps.
    pub(super) fn new(
        name: Option<LineSpan>,
        body: LineSpan,
        ty: ArgumentType,
        steps: StepList,
    ) -> Self {
        Self {
            name,
            body,
            ty,
            steps,
        }
    }

    /// Returns its steps.
    pub(crate) fn steps(&self) -> &[FetchStep] {
        self.steps.all()
    }
}
