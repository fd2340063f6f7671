// SPDX-License-Identifier: GPL-2.0

//! `rtrace doctor`: whether tracing works here, what stands against it, and what to type next.

mod files;

use crate::fault::Status;
use crate::output::{Colour, Output};
use crate::parse::mounts;
use crate::tree::USUAL;
use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::Path;

/// How well something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Good,
    /// Worth knowing.
    Note,
    /// Tracing works, and something will surprise.
    Warning,
    /// Tracing does not work.
    Bad,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

/// What was looked at.
struct Finding {
    what: &'static str,
    state: State,
    text: String,
    /// What to type next.
    next: Option<String>,
}

fn found(what: &'static str, state: State, text: impl Into<String>) -> Finding {
    Finding {
        what,
        state,
        text: text.into(),
        next: None,
    }
}

impl Finding {
    fn next(mut self, command: impl Into<String>) -> Self {
        self.next = Some(command.into());
        self
    }
}

/// Returns the text of a file without the newline, if it can be read.
fn text_of(path: impl AsRef<Path>) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_end().to_string())
}

/// Returns what the kernel is.
fn kernel(release: &str) -> Finding {
    let machine = rustix::system::uname();
    let machine = machine.machine().to_string_lossy().into_owned();
    let text = format!("Linux {release} on {machine}");
    if machine != "x86_64" {
        return found(
            "kernel",
            State::Bad,
            format!("{text}: rtrace is for x86_64"),
        );
    }
    found("kernel", State::Good, text)
}

fn is_module_loaded() -> bool {
    Path::new("/sys/module/rtrace").is_dir()
}

/// Returns whether the module is loaded, and if not whether it could be.
fn module(release: &str) -> Finding {
    if is_module_loaded() {
        let version = text_of("/sys/module/rtrace/version");
        let version = version.map_or(String::new(), |version| format!(", version {version}"));
        return found("module", State::Good, format!("rtrace is loaded{version}"));
    }
    let order = text_of(format!("/lib/modules/{release}/modules.dep")).unwrap_or_default();
    let is_installed = order.lines().any(|line| {
        let path = line.split(':').next().unwrap_or(line);
        Path::new(path)
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("rtrace.ko"))
    });
    match is_installed {
        true => found("module", State::Note, "installed; the first use loads it"),
        false => {
            let text = format!("not loaded, and not installed for {release}");
            found("module", State::Bad, text)
                .next("sudo apt install ./rtrace-dkms_*.deb, or sudo insmod build/module/rtrace.ko")
        }
    }
}

/// Returns whether rtracefs is mounted.
fn mounted() -> Finding {
    let mounts = text_of("/proc/self/mounts").unwrap_or_default();
    let paths = mounts::of_type(&mounts, "rtracefs");
    match paths.is_empty() {
        false => found(
            "rtracefs",
            State::Good,
            format!("mounted on {}", paths.join(" and ")),
        ),
        true => found(
            "rtracefs",
            State::Note,
            "not mounted: rtrace mounts it for itself alone",
        )
        .next(format!("sudo mount -t rtracefs rtracefs {USUAL}")),
    }
}

/// Returns what Secure Boot and lockdown allow.
fn locks(is_loaded: bool) -> Vec<Finding> {
    let mut all = Vec::new();
    let variable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    let enforced =
        text_of("/sys/module/module/parameters/sig_enforce").is_some_and(|text| text == "Y");
    // Four bytes of attributes precede the value.
    let is_secure = fs::read(variable)
        .ok()
        .map(|bytes| bytes.get(4) == Some(&1));
    all.push(match is_secure {
        Some(true) if !is_loaded => found(
            "Secure Boot",
            State::Warning,
            "on: the kernel takes signed modules only",
        )
        .next("sudo mokutil --import /var/lib/dkms/mok.pub, then restart and enrol it"),
        Some(true) => found("Secure Boot", State::Good, "on, and the module was taken"),
        Some(false) => found("Secure Boot", State::Good, "off"),
        None => found(
            "Secure Boot",
            State::Good,
            "this machine did not start by UEFI, or its variables are not mounted",
        ),
    });
    if enforced && !is_loaded {
        all.push(found(
            "signatures",
            State::Warning,
            "unsigned modules are refused (module.sig_enforce)",
        ));
    }
    let lockdown = text_of("/sys/kernel/security/lockdown");
    let lockdown = lockdown
        .as_deref()
        .and_then(|text| text.split('[').nth(1)?.split(']').next());
    all.push(match lockdown {
        Some("confidentiality") => found(
            "lockdown",
            State::Bad,
            "confidentiality: the kernel lets nobody trace",
        )
        .next("start without lockdown=confidentiality on the kernel's command line"),
        Some(level) => found("lockdown", State::Good, level),
        None => found(
            "lockdown",
            State::Note,
            "unknown: /sys/kernel/security is not mounted",
        ),
    });
    all
}

/// Returns whether the headers are there with which DKMS builds the module.
fn building(release: &str, is_loaded: bool) -> Finding {
    let build = format!("/lib/modules/{release}/build");
    if Path::new(&build).exists() {
        return found("headers", State::Good, build);
    }
    // The module that is loaded needs them no more.
    let state = match is_loaded {
        true => State::Note,
        false => State::Warning,
    };
    found("headers", state, format!("those of {release} are missing"))
        .next(format!("sudo apt install linux-headers-{release}"))
}

/// Returns what the kernel's own tracer does, which rtrace does not disturb.
fn others() -> Vec<Finding> {
    let mut all = Vec::new();
    let tracefs = "/sys/kernel/tracing";
    let mounts = text_of("/proc/self/mounts").unwrap_or_default();
    let is_mounted = mounts::of_type(&mounts, "tracefs")
        .iter()
        .any(|path| path == tracefs);
    if let (true, Some(tracer)) = (is_mounted, text_of(format!("{tracefs}/current_tracer"))) {
        let events = text_of(format!("{tracefs}/set_event")).map_or(0, |text| text.lines().count());
        let text = match (events, &tracer[..]) {
            (0, "nop") => "ftrace is idle".to_string(),
            _ => format!("ftrace has {events} events on, and the tracer {tracer}; both work beside each other"),
        };
        all.push(found("others", State::Good, text));
    }
    if text_of("/proc/sys/kernel/ftrace_enabled").is_some_and(|text| text == "0") {
        all.push(
            found("functions", State::Warning, "hooks on functions are off")
                .next("sudo sysctl kernel.ftrace_enabled=1"),
        );
    }
    all
}

/// Looks at everything. Returns the exit status.
pub fn run(out: Output, verbose: bool) -> Result<u8> {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let mut all = vec![kernel(&release), module(&release)];
    let is_there = all[1].state != State::Bad;
    // The trial is the first use, which loads a module that is installed: what could forbid that has not
    // when it is loaded by then.
    let tried = is_there.then(|| (mounted(), files::findings(verbose)));
    let is_loaded = is_module_loaded();
    all.extend(locks(is_loaded));
    all.push(building(&release, is_there));
    if let Some((mounted, findings)) = tried {
        all.push(mounted);
        match findings {
            Ok(more) => all.extend(more),
            Err(_) if !is_loaded => all.push(
                found("module", State::Bad, "the kernel does not load it")
                    .next("sudo modprobe rtrace; sudo dmesg | tail"),
            ),
            Err(error) => all.push(found("trial", State::Bad, format!("{error:#}"))),
        }
    }
    all.extend(others());
    let works = all.iter().all(|finding| finding.state != State::Bad);
    show(out, &all, works)?;
    Ok(if works { 0 } else { Status::NoTracing as u8 })
}

fn show(out: Output, all: &[Finding], works: bool) -> Result<()> {
    if out.json {
        let findings: Vec<_> = all
            .iter()
            .map(|f| json!({"what": f.what, "state": f.state.word(), "text": f.text, "next": f.next}))
            .collect();
        return out.object(&json!({"works": works, "findings": findings}));
    }
    for finding in all {
        let colour = match finding.state {
            State::Good => Colour::Green,
            State::Note => Colour::Dim,
            State::Warning => Colour::Yellow,
            State::Bad => Colour::Red,
        };
        let word = out.paint(colour, &format!("{:>7}", finding.state.word()));
        out.line(&format!("{word}  {:<11}  {}", finding.what, finding.text))?;
        if let (Some(next), true) = (&finding.next, finding.state != State::Good) {
            out.line(&format!(
                "         {:<11}  -> {}",
                "",
                out.paint(Colour::Bold, next)
            ))?;
        }
    }
    out.line(match works {
        true => "\nTracing works. Next: rtrace top",
        false => "\nTracing does not work yet: see what is bad.",
    })
}
