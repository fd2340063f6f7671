// SPDX-License-Identifier: GPL-2.0

//! A line that names a statically defined probe, `p[:[GROUP/][EVENT]] PATH@PROVIDER:NAME [ARGUMENT]...`, as the line
//! of a probe at one of its places: `$argN` is where that place has the argument.

use super::{
    command::{
        is_name,
        words,
        LineWord, //
    },
    error::{
        ProbeError,
        ProbeRefusal, //
    },
    shape,
    usdt::UsdtSite, //
};
use core::fmt::{
    self,
    Write, //
};

/// The registers by their names of 64 bits, and those for parts of each.
const REGISTERS: &[(&str, &[&str])] = &[
    ("ax", &["rax", "eax", "ax", "al"]),
    ("bx", &["rbx", "ebx", "bx", "bl"]),
    ("cx", &["rcx", "ecx", "cx", "cl"]),
    ("dx", &["rdx", "edx", "dx", "dl"]),
    ("si", &["rsi", "esi", "si", "sil"]),
    ("di", &["rdi", "edi", "di", "dil"]),
    ("bp", &["rbp", "ebp", "bp", "bpl"]),
    ("sp", &["rsp", "esp", "sp", "spl"]),
    ("r8", &["r8", "r8d", "r8w", "r8b"]),
    ("r9", &["r9", "r9d", "r9w", "r9b"]),
    ("r10", &["r10", "r10d", "r10w", "r10b"]),
    ("r11", &["r11", "r11d", "r11w", "r11b"]),
    ("r12", &["r12", "r12d", "r12w", "r12b"]),
    ("r13", &["r13", "r13d", "r13w", "r13b"]),
    ("r14", &["r14", "r14d", "r14w", "r14b"]),
    ("r15", &["r15", "r15d", "r15w", "r15b"]),
];

/// What begins an argument of a probe.
const ARGUMENT: &str = "$arg";

/// Such a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsdtLine<'a> {
    line: &'a str,
    names: Option<&'a str>,
    /// The file.
    pub(crate) path: LineWord<'a>,
    pub(crate) provider: &'a str,
    /// The name of the probe.
    pub(crate) name: LineWord<'a>,
}

/// Why there is no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    Refused(ProbeRefusal),
    /// The text has no room for it.
    NoRoom,
}

impl From<fmt::Error> for NoLine {
    fn from(_: fmt::Error) -> Self {
        Self::NoRoom
    }
}

/// Returns whether providers and probes may be called so.
fn is_usdt_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.chars().all(is_part)
}

/// Where a place has an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UsdtOperand<'a> {
    Register(&'static str),
    Immediate(&'a str),
    /// In memory, at a register plus this.
    Memory(&'a str, &'static str),
}

/// Returns the register of that name.
fn register(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix('%')?;
    let row = REGISTERS.iter().find(|(_, names)| names.contains(&name));
    row.map(|(register, _)| *register)
}

/// Returns whether `text` is a number, with a sign perhaps.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (digits, is_digit): (_, fn(char) -> bool) = match digits.strip_prefix("0x") {
        Some(digits) => (digits, |c| c.is_ascii_hexdigit()),
        None => (digits, |c| c.is_ascii_digit()),
    };
    !digits.is_empty() && digits.chars().all(is_digit)
}

impl<'a> UsdtOperand<'a> {
    /// Parses what follows the size. `None` for what a probe cannot fetch.
    fn parse(text: &'a str) -> Option<Self> {
        if let Some(number) = text.strip_prefix('$') {
            return is_number(number).then_some(Self::Immediate(number));
        }
        if let Some(register) = register(text) {
            return Some(Self::Register(register));
        }
        let (offset, base) = text.strip_suffix(')')?.split_once('(')?;
        let base = register(base)?;
        match offset {
            "" => Some(Self::Memory("0", base)),
            _ => is_number(offset).then_some(Self::Memory(offset, base)),
        }
    }

    fn write(self, out: &mut dyn Write) -> fmt::Result {
        match self {
            Self::Register(register) => write!(out, "%{register}"),
            Self::Immediate(number) => write!(out, "\\{number}"),
            Self::Memory(offset, base) => {
                let sign = if offset.starts_with('-') { "" } else { "+" };
                write!(out, "{sign}{offset}(%{base})")
            }
        }
    }
}

/// Returns the argument of that number, counted from 1, and its type.
fn operand<'s>(
    site: &UsdtSite<'s>,
    number: usize,
) -> Result<(UsdtOperand<'s>, &'static str), ProbeError> {
    let mut all = site.arguments.split(' ').filter(|word| !word.is_empty());
    let at = number.checked_sub(1).ok_or(ProbeError::ArgumentNumber)?;
    let text = all.nth(at).ok_or(ProbeError::ArgumentNumber)?;
    let (size, rest) = text.split_once('@').unwrap_or(("8", text));
    let ty = match size {
        "1" => "u8",
        "-1" => "s8",
        "2" => "u16",
        "-2" => "s16",
        "4" => "u32",
        "-4" => "s32",
        "8" => "u64",
        "-8" => "s64",
        // Of floating point, for one.
        _ => return Err(ProbeError::Fetch),
    };
    let operand = UsdtOperand::parse(rest).ok_or(ProbeError::Fetch)?;
    Ok((operand, ty))
}

impl<'a> UsdtLine<'a> {
    /// Parses the first two words of a line. `None` when it names no such probe.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let mut all = words(line);
        let (first, second) = (all.next()?, all.next()?);
        let names = match first.text.strip_prefix('p')? {
            "" => None,
            rest => Some(rest.strip_prefix(':')?),
        };
        let (path, probe) = second.text.rsplit_once('@')?;
        let (provider, name) = probe.split_once(':')?;
        let is_one = path.starts_with('/') && is_usdt_name(provider) && is_usdt_name(name);
        let name_at = second.text.len().saturating_sub(name.len());
        is_one.then_some(Self {
            line,
            names,
            path: LineWord {
                at: second.at,
                text: path,
            },
            provider,
            name: LineWord {
                at: second.at.saturating_add(name_at),
                text: name,
            },
        })
    }

    /// Writes the line of a probe at one of the places.
    ///
    /// # Errors
    ///
    /// [`NoLine::Refused`] when the place does not have an argument that is named, or where no probe can fetch it;
    /// [`NoLine::NoRoom`] when `out` fails.
    pub(crate) fn write_at(&self, site: &UsdtSite<'_>, out: &mut dyn Write) -> Result<(), NoLine> {
        out.write_str("p:")?;
        match self.names {
            Some(names) => out.write_str(names)?,
            None => {
                out.write_str("sdt_")?;
                write_name(self.provider, out)?;
                out.write_char('/')?;
                write_name(self.name.text, out)?;
            }
        }
        write!(out, " {}:{:#x}", self.path.text, site.offset)?;
        if site.counter != 0 {
            write!(out, "({:#x})", site.counter)?;
        }
        for word in words(self.line).skip(2) {
            out.write_char(' ')?;
            write_argument(word, site, out)?;
        }
        Ok(())
    }

    /// Returns the place in this line of what is at `at` of `written`, which [`Self::write_at`] has written.
    pub(crate) fn place_of(&self, written: &str, at: usize) -> usize {
        let pairs = words(written).zip(words(self.line));
        let pair = pairs.filter(|(word, _)| word.at <= at).last();
        pair.map_or(0, |(word, own)| {
            let within = at.saturating_sub(word.at).min(own.text.len());
            own.at.saturating_add(within)
        })
    }
}

/// Writes a name of a provider or a probe as that of a group or an event.
fn write_name(name: &str, out: &mut dyn Write) -> fmt::Result {
    for c in name.chars() {
        out.write_char(if c == '-' { '_' } else { c })?;
    }
    Ok(())
}

/// Writes an argument with the arguments of the probe in it as they are at `site`.
fn write_argument(
    word: LineWord<'_>,
    site: &UsdtSite<'_>,
    out: &mut dyn Write,
) -> Result<(), NoLine> {
    let body = match word.text.split_once('=') {
        Some((name, body)) if is_name(name) => {
            write!(out, "{name}=")?;
            body
        }
        _ => word.text,
    };
    let body_at = word
        .at
        .saturating_add(word.text.len().saturating_sub(body.len()));
    let (fetch, given) = match shape::split_type(body) {
        Some((fetch, ty)) => (fetch, Some(ty)),
        None => (body, None),
    };
    let mut own_type = None;
    let mut rest = fetch;
    while let Some((before, after)) = rest.split_once(ARGUMENT) {
        let len = after.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, behind) = after.split_at_checked(len).unwrap_or_default();
        let at = body_at
            .saturating_add(fetch.len().saturating_sub(rest.len()))
            .saturating_add(before.len());
        let refuse = |error| NoLine::Refused(ProbeRefusal::new(error, at));
        let number = digits.parse().map_err(|_| refuse(ProbeError::Variable))?;
        let (operand, ty) = operand(site, number).map_err(refuse)?;
        let is_all = before.is_empty() && behind.is_empty() && rest.len() == fetch.len();
        // What is not all of a word is no address.
        if !is_all && ty != "u64" && ty != "s64" && matches!(operand, UsdtOperand::Memory(..)) {
            return Err(refuse(ProbeError::Fetch));
        }
        out.write_str(before)?;
        operand.write(out)?;
        own_type = is_all.then_some(ty);
        rest = behind;
    }
    out.write_str(rest)?;
    if let Some(ty) = given.or(own_type) {
        write!(out, ":{ty}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: UsdtSite<'_> = UsdtSite {
        offset: 0x410,
        counter: 0,
        arguments: "8@%rdi -4@%esi  4@-20(%rbp) 8@16(%rsp) -1@$-5 8f@%xmm0 8@(%rax,%rbx,8) %r9 1@%r15b 2@(%rcx)",
    };

    fn written(line: &str) -> Result<String, NoLine> {
        let mut out = String::new();
        let line = UsdtLine::parse(line).expect("a line");
        line.write_at(&SITE, &mut out).map(|()| out)
    }

    #[test]
    fn lines() {
        let at = "/usr/lib/libc.so.6:0x410";
        let rows: &[(&str, &str, &str)] = &[
            ("p", "", "p:sdt_libc/set_jmp AT"),
            ("p:my", "", "p:my AT"),
            ("p:my/", " $arg1", "p:my/ AT %di:u64"),
            (
                "p:a/b",
                " x=$arg2 y=$arg1:x64",
                "p:a/b AT x=%si:s32 y=%di:x64",
            ),
            (
                "p",
                " $arg3 $arg4 $arg5",
                "p:sdt_libc/set_jmp AT -20(%bp):u32 +16(%sp):u64 \\-5:s8",
            ),
            (
                "p",
                " +0($arg1):ustring +8(+0($arg4)):u8",
                "p:sdt_libc/set_jmp AT +0(%di):ustring +8(+0(+16(%sp))):u8",
            ),
            (
                "p",
                " $arg8 $arg9 v=$arg10",
                "p:sdt_libc/set_jmp AT %r9:u64 %r15:u8 v=+0(%cx):u16",
            ),
            (
                "p",
                " $comm %ax $stack2",
                "p:sdt_libc/set_jmp AT $comm %ax $stack2",
            ),
        ];
        for (first, rest, wanted) in rows {
            let line = format!("{first} /usr/lib/libc.so.6@libc:set-jmp{rest}");
            assert_eq!(written(&line), Ok(wanted.replace("AT", at)), "{line}");
        }
        let counted = UsdtSite {
            counter: 0x8a0,
            ..SITE
        };
        let line = UsdtLine::parse("p /x@y:z").unwrap();
        let mut out = String::new();
        line.write_at(&counted, &mut out).unwrap();
        assert_eq!(out, "p:sdt_y/z /x:0x410(0x8a0)");
    }

    #[test]
    fn refusals() {
        let rows = [
            ("$arg0", ProbeError::ArgumentNumber),
            ("$arg11", ProbeError::ArgumentNumber),
            ("$arg", ProbeError::Variable),
            ("$argx", ProbeError::Variable),
            ("$arg99999999999999999999", ProbeError::Variable),
            ("$arg6", ProbeError::Fetch),
            ("$arg7", ProbeError::Fetch),
            ("+0($arg3)", ProbeError::Fetch),
        ];
        for (fetch, error) in rows {
            let line = format!("p /x@y:z a=%ax b={fetch}");
            let at = line.find("$arg").unwrap();
            let wanted = Err(NoLine::Refused(ProbeRefusal::new(error, at)));
            assert_eq!(written(&line), wanted, "{line}");
        }
    }

    #[test]
    fn other_lines() {
        for line in [
            "p",
            "p /x@y",
            "r /x@y:z",
            "px /x@y:z",
            "p x@y:z",
            "p /x@:z",
            "p /x@y:",
            "p /x@y:z+4",
            "p /x@y:z%return",
            "p /x:0x10",
        ] {
            assert!(UsdtLine::parse(line).is_none(), "{line}");
        }
    }

    /// Carets are in the word that was written.
    #[test]
    fn places() {
        let line = UsdtLine::parse("p /x@y:z a=$arg1 b=%xx").unwrap();
        let mut out = String::new();
        line.write_at(&SITE, &mut out).unwrap();
        assert_eq!(out, "p:sdt_y/z /x:0x410 a=%di:u64 b=%xx");
        for (written, own) in [("%xx", "%xx"), ("a=", "a="), ("/x", "/x")] {
            let at = line.place_of(&out, out.find(written).unwrap());
            assert_eq!(at, line.line.find(own).unwrap(), "{written}");
        }
        assert_eq!(line.place_of(&out, 1000), line.line.len());
        assert_eq!(line.place_of("", 0), 0);
    }
}
