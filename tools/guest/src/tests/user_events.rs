// SPDX-License-Identifier: GPL-2.0

//! User events: programs define and write them, are told by a bit whether they are enabled, and nothing is left of
//! programs, instances and modules that end.
//!
//! No kernel of the suite has user events of its own. `user_calls.golden` is what Linux 7.3.4 with
//! `CONFIG_USER_EVENTS` answers; a kernel that has them is asked itself.

use super::user_calls::{self, page, soon, unmap, word, Data, MULTI, PERSIST};
use super::{test, Test};
use crate::absent::Absent;
use crate::check::{Check, Report};
use crate::errno::EBUSY;
use crate::late::LateFile;
use crate::tree::{Instance, Tree};
use crate::{module, sys, using, Context};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("user_events.calls", 60, calls),
    test("user_events.example", 60, example),
    test("user_events.memory", 60, memory),
    test("user_events.absent", 60, absent),
    test("user_events.late_file", 90, late_file),
    test("user_events.waiting", 90, waiting),
    test("user_events.followed", 60, followed),
    test("user_events.instances", 60, instances),
    test("user_events.too_long", 60, too_long),
    test("user_events.ends", 120, ends),
    test("user_events.unload", 120, unload),
];

const GOLDEN: &str = include_str!("user_calls.golden");

fn data(context: &Context) -> Check<Data> {
    Data::open(&context.root).map_err(|e| format!("user_events_data: {e}"))
}

/// Whether no event of a program is left, soon.
fn all_gone(context: &Context) -> bool {
    soon(|| !context.root.join("events/user_events").exists())
}

fn calls(context: &Context) -> Check {
    let own = user_calls::transcript(&context.root);
    let has_reference = context.reference.join("user_events_data").exists();
    let reference = match has_reference {
        true => user_calls::transcript(&context.reference),
        false => GOLDEN.lines().map(String::from).collect(),
    };
    let mut report = Report::default();
    for (own, reference) in own.iter().zip(&reference) {
        report.expect(own == reference, || {
            format!("{own}\n  in the kernel: {reference}")
        });
    }
    report.expect(own.len() == reference.len(), || {
        format!("{} answers, in the kernel {}", own.len(), reference.len())
    });
    // What the kernel takes, and no folder or format can have.
    let tree = Tree::at(&context.root);
    for wrong in [
        "u:",
        "u:a/b",
        "u:..",
        "u:filter",
        "u:a\tb",
        "u:a u32 ",
        "u:a u32 b\tc",
    ] {
        let written = tree.write("dynamic_events", wrong.as_bytes());
        report.expect(written == Err(crate::errno::EINVAL), || {
            format!("{wrong}: {written:?}")
        });
    }
    // Nor has one a name that is longer, with the number of a format after it.
    let (data, words) = (data(context)?, page(true));
    for (len, flags, wanted) in [
        (255, 0, 0),
        (256, 0, -22),
        (255, MULTI, -22),
        (254, MULTI, -22),
    ] {
        let name = "n".repeat(len);
        let answer = data.register(&format!("{name} u32 a"), words, 0, flags);
        report.expect(answer == wanted, || {
            format!("{len} bytes, flags {flags}: {answer}")
        });
        if answer >= 0 {
            data.unregister(words, 0);
        }
    }
    // What is refused takes a number all the same.
    let number_of = |name: &str| {
        let names = tree.list("events/user_events_multi").ok()?;
        let mut numbers = names.iter().filter_map(|known| known.strip_prefix(name));
        u64::from_str_radix(numbers.next()?, 16).ok()
    };
    let answers = [("k1 u32 a", 1), ("k2 what a", 2), ("k3 u32 a", 3)]
        .map(|(text, bit)| data.register(text, words, bit, MULTI));
    report.expect(answers == [1, -22, 2], || format!("formats: {answers:?}"));
    let numbers = ["k1.", "k3."].map(number_of);
    report.expect(
        numbers[0].is_some() && numbers[0].map(|number| number + 2) == numbers[1],
        || format!("numbers of formats: {numbers:?}"),
    );
    for bit in [1, 3] {
        data.unregister(words, bit);
    }
    drop(data);
    report.expect(all_gone(context), || "the event is left".into());
    unmap(&[words]);
    report.finish()
}

extern "C" {
    fn madvise(at: usize, len: usize, advice: i32) -> i32;
    fn mprotect(at: usize, len: usize, prot: i32) -> i32;
}

/// Pages that are not there, or not to be written, when the event is enabled.
fn memory(context: &Context) -> Check {
    let tree = Tree::at(&context.root);
    let data = data(context)?;
    let (dropped, closed, constant, shared) = (page(true), page(true), page(true), page(true));
    for (at, words) in [dropped, closed, constant, shared].into_iter().enumerate() {
        ensure_eq!(data.register("m u64 a", words, at as u8, 0), 0, "register");
    }
    // SAFETY: Pages of this test, of which nothing is kept.
    unsafe {
        ensure_eq!(madvise(dropped, 4096, 4), 0, "madvise");
        // Not unmapped: other memory of the test could come there.
        ensure_eq!(mprotect(closed, 4096, 0), 0, "mprotect");
        ensure_eq!(mprotect(constant, 4096, 1), 0, "mprotect");
    }
    tree.set("events/user_events/m/enable", "1")?;
    ensure!(soon(|| word(dropped) == 1), "a page that was dropped");
    ensure_eq!(word(constant), 0, "a constant page");
    // SAFETY: As above.
    ensure_eq!(unsafe { mprotect(constant, 4096, 3) }, 0, "mprotect");
    // Each copy has pages of its own, which it shares until one is written.
    let mut copies = Vec::new();
    for _ in 0..8 {
        copies.push(user_calls::child(|| i32::from(soon(|| word(shared) == 0))));
    }
    tree.set("events/user_events/m/enable", "0")?;
    for copy in copies {
        ensure_eq!(user_calls::wait(copy), 1, "a copy");
    }
    tree.set("events/user_events/m/enable", "1")?;
    ensure!(
        soon(|| word(constant) == 4),
        "a page that can be written again"
    );
    ensure!(soon(|| word(shared) == 8), "a page that was shared");
    tree.set("events/user_events/m/enable", "0")?;
    ensure!(
        soon(|| word(dropped) | word(constant) | word(shared) == 0),
        "disabled"
    );
    for (at, words) in [dropped, constant, shared]
        .into_iter()
        .zip([0, 2, 3])
        .map(|(w, at)| (at, w))
    {
        ensure_eq!(data.unregister(words, at), 0, "unregister");
    }
    ensure_eq!(data.unregister(closed, 1), -14, "a page that is closed");
    ensure_eq!(data.unregister(closed, 1), -2, "it was unregistered");
    unmap(&[dropped, closed, constant, shared]);
    drop(data);
    ensure!(all_gone(context), "the event is left");
    Ok(())
}

/// A page that does not come keeps neither other bits from being set, nor the module.
fn absent(context: &Context) -> Check {
    let tree = Tree::at(&context.root);
    let late = Absent::new()?;
    late.bring("")?;
    let words = page(true);
    let data = data(context)?;
    for at in [late.address(), words] {
        ensure_eq!(data.register("late u64 a", at, 0, 0), 0, "register");
    }
    let drop_pages = || {
        for at in [late.address(), words] {
            // SAFETY: Pages of this test, of which nothing is kept.
            unsafe { madvise(at, 4096, 4) };
        }
    };
    let enable = "events/user_events/late/enable";
    drop_pages();
    tree.set(enable, "1")?;
    ensure!(soon(|| word(words) == 1), "the other page");
    let copy = user_calls::child(|| i32::from(soon(|| word(words) == 0)));
    drop_pages();
    tree.set(enable, "0")?;
    ensure_eq!(user_calls::wait(copy), 1, "a copy");
    tree.set(enable, "1")?;
    ensure!(soon(|| word(words) == 1), "the other page again");
    late.bring("")?;
    ensure!(soon(|| word(late.address()) == 1), "the page that is late");
    drop_pages();
    drop(data);
    module::umount(context)?;
    module::unload_when_free(module::NAME)?;
    module::restore(context)?;
    unmap(&[words]);
    Ok(())
}

/// A page for which a file system has the kernel wait keeps no bit of another program from being set.
fn late_file(context: &Context) -> Check {
    let pair = || -> std::io::Result<_> {
        let (a, b) = UnixStream::pair()?;
        for end in [&a, &b] {
            end.set_read_timeout(Some(Duration::from_secs(40)))?;
        }
        Ok((a, b))
    };
    let pair = || pair().map_err(|e| format!("socketpair: {e}"));
    let tree = Tree::at(&context.root);
    let words = page(true);
    let ((mut own, waits), (mut its, goes_on)) = (pair()?, pair()?);
    let mut file = LateFile::new()?;
    // They are other programs: this one must not wait for its own memory. Both tell when their bit is registered, and
    // end with 1 if it is set.
    let late = user_calls::child(|| {
        let Ok(data) = Data::open(&context.root) else {
            return 2;
        };
        if data.register("late u32 a", words, 0, 0) != 0 || LateFile::map(words).is_err() {
            return 3;
        }
        let has_told = (&waits).write_all(&[1]);
        // The memory is there when this program is told so.
        if has_told
            .and_then(|()| (&waits).read_exact(&mut [0]))
            .is_err()
        {
            return 4;
        }
        i32::from(soon(|| word(words) == 1))
    });
    let other = user_calls::child(|| {
        let Ok(data) = Data::open(&context.root) else {
            return 2;
        };
        if data.register("other u32 a", words, 0, 0) != 0 {
            return 3;
        }
        // SAFETY: A page of this test, of which nothing is kept.
        unsafe { madvise(words, 4096, 4) };
        if (&goes_on).write_all(&[1]).is_err() {
            return 4;
        }
        i32::from(soon(|| word(words) == 1))
    });
    drop((waits, goes_on));
    file.serve();
    let mut report = Report::default();
    for told in [&mut own, &mut its] {
        let is_told = told.read_exact(&mut [0]).is_ok();
        report.expect(is_told, || "a program ended".into());
    }
    tree.set("events/user_events/late/enable", "1")?;
    report.expect(soon(|| file.is_awaited()), || {
        "the page is not asked for".into()
    });
    tree.set("events/user_events/other/enable", "1")?;
    let other = user_calls::wait(other);
    report.expect(other == 1, || {
        format!("the other program ends with {other}")
    });
    file.bring();
    report.expect(own.write_all(&[1]).is_ok(), || "it ended".into());
    let late = user_calls::wait(late);
    report.expect(late == 1, || format!("the late program ends with {late}"));
    for event in ["late", "other"] {
        tree.set(&format!("events/user_events/{event}/enable"), "0")?;
    }
    report.expect(all_gone(context), || "events are left".into());
    drop(file);
    unmap(&[words]);
    report.finish()
}

/// Runs `wait` in a task that waits for `late`, and `go_on` in another one before the page is there. Returns whether the
/// latter did not wait, and what both return.
fn beside(
    late: &Absent,
    wait: impl FnOnce() -> i64 + Send,
    go_on: impl FnOnce() -> i64 + Send,
) -> Check<(bool, [i64; 2])> {
    std::thread::scope(|scope| {
        let waits = scope.spawn(wait);
        let is_waiting = late.wait();
        let goes_on = scope.spawn(go_on);
        let went_on = soon(|| goes_on.is_finished());
        let is_there = late.bring("");
        let answers = [waits.join(), goes_on.join()].map(|answer| answer.unwrap_or(-1));
        is_waiting.and(is_there)?;
        Ok((went_on, answers))
    })
}

/// A task whose bit is in a page that is not there waits for that alone: others register and unregister meanwhile.
fn waiting(context: &Context) -> Check {
    let late = Absent::new()?;
    let (own, other) = (data(context)?, data(context)?);
    let (at, words) = (late.address(), page(true));
    let registered = beside(
        &late,
        || own.register("waits u64 a", at, 0, 0),
        || other.register("goes_on u64 a", words, 0, 0),
    )?;
    ensure_eq!(registered, (true, [0, 0]), "register");
    // SAFETY: A page of this test, of which nothing is kept.
    unsafe { madvise(at, 4096, 4) };
    let unregistered = beside(
        &late,
        || own.unregister(at, 0),
        || other.unregister(words, 0),
    )?;
    ensure_eq!(unregistered, (true, [0, 0]), "unregister");
    drop((own, other));
    ensure!(all_gone(context), "events are left");
    unmap(&[words]);
    Ok(())
}

/// The example of using.md, and a program that writes what it says.
fn example(context: &Context) -> Check {
    let tree = Tree::at(&context.root);
    let data = data(context)?;
    let words = page(true);
    ensure_eq!(
        data.register("job u32 id; char[16] what", words, 0, 0),
        0,
        "register"
    );
    let status = using::run("user_events.example", &tree)?;
    ensure_eq!(status, "job\n\nActive: 1\nBusy: 0\n", "status");
    ensure_eq!(word(words), 1, "enabled");
    let job = [&7u32.to_le_bytes()[..], b"load\0\0\0\0\0\0\0\0\0\0\0\0"].concat();
    ensure_eq!(data.write(0, &job), 24, "write");
    let trace = tree.get("trace")?;
    ensure!(trace.ends_with(" job: id=0x7 (7) what=load\n"), "{trace}");
    let hist = tree.get("events/user_events/job/hist")?;
    ensure!(hist.contains("{ what: load "), "{hist}");
    tree.set("events/user_events/job/trigger", "!hist:keys=what")?;
    tree.set("events/user_events/job/enable", "0")?;
    ensure_eq!(data.unregister(words, 0), 0, "unregister");
    drop(data);
    ensure!(all_gone(context), "the event is left");
    unmap(&[words]);
    Ok(())
}

/// An event that an event probe follows stays, also one that does not persist; who may not remove it is told first
/// that it is in use.
fn followed(context: &Context) -> Check {
    let tree = Tree::at(&context.root);
    let data = data(context)?;
    let words = page(true);
    let lines = "u:ue u32 a\ne:follow/ep user_events.ue x=$a:u32\n";
    tree.set("dynamic_events", lines)?;
    let refused = || -> Check {
        for line in ["-:ue u32 a", "-:user_events/ue u32 a"] {
            let answer = tree.write("dynamic_events", line.as_bytes());
            ensure_eq!(answer, Err(EBUSY), "{line}");
        }
        let answer = tree.write_truncating("dynamic_events", b"");
        ensure_eq!(answer, Err(EBUSY), ">");
        ensure_eq!(data.delete("ue"), -16, "delete");
        let user = user_calls::in_child(|| {
            user_calls::become_user();
            -data.delete("ue") as i32
        });
        ensure_eq!(user, 16, "delete by a user");
        Ok(())
    };
    refused()?;
    ensure_eq!(data.register("ue u32 a", words, 0, 0), 0, "register");
    tree.set("events/follow/ep/enable", "1")?;
    ensure_eq!(word(words), 1, "followed");
    ensure_eq!(data.write(0, &[7, 0, 0, 0]), 8, "write");
    let trace = tree.get("trace")?;
    ensure!(trace.contains(" ep: (user_events.ue) x=7\n"), "{trace}");
    refused()?;
    tree.set("events/follow/ep/enable", "0")?;
    ensure_eq!(word(words), 0, "followed no more");
    ensure_eq!(data.unregister(words, 0), 0, "unregister");
    tree.set("dynamic_events", "-:follow/ep")?;
    // The file has an index of it.
    drop(data);
    let data = self::data(context)?;
    let user = user_calls::in_child(|| {
        user_calls::become_user();
        -data.delete("ue") as i32
    });
    ensure_eq!(user, 1, "delete by a user, not in use");
    tree.set("dynamic_events", "-:ue u32 a")?;

    ensure_eq!(data.register("ue u32 a", words, 0, 0), 0, "register");
    tree.set("dynamic_events", "e:follow/ep user_events/ue x=$a")?;
    ensure_eq!(data.unregister(words, 0), 0, "unregister");
    drop(data);
    std::thread::sleep(Duration::from_millis(50));
    ensure!(tree.exists("events/user_events/ue"), "it went");
    tree.set("events/follow/ep/enable", "1")?;
    tree.set("events/follow/ep/enable", "0")?;
    tree.set("dynamic_events", "-:follow/ep")?;
    ensure!(all_gone(context), "the event is left");
    unmap(&[words]);
    Ok(())
}

/// Several instances record the same event; the bit is set while one has it enabled.
fn instances(context: &Context) -> Check {
    let top = Tree::at(&context.root);
    let data = data(context)?;
    let words = page(true);
    ensure_eq!(data.register("i u32 a", words, 0, 0), 0, "register");
    let first = Instance::new(&context.root, "rtg-user-1")?;
    let second = Instance::new(&context.root, "rtg-user-2")?;
    let enable = "events/user_events/i/enable";
    first.set(enable, "1")?;
    second.set(enable, "1")?;
    ensure_eq!(word(words), 1, "both");
    ensure_eq!(data.write(0, &[1, 0, 0, 0]), 8, "write");
    for instance in [&first, &second] {
        let trace = instance.get("trace")?;
        ensure_eq!(trace.matches("i: a=0x1 (1)\n").count(), 1, "{trace}");
    }
    first.set(enable, "0")?;
    ensure_eq!(word(words), 1, "one");
    ensure_eq!(data.delete("i"), -16, "in use");
    second.remove()?;
    ensure!(soon(|| word(words) == 0), "an instance that was removed");
    ensure_eq!(data.write(0, &[1, 0, 0, 0]), -9, "not enabled");
    first.set(enable, "1")?;
    ensure_eq!(data.unregister(words, 0), 0, "unregister");
    drop(data);
    // An instance that has it enabled keeps it.
    std::thread::sleep(Duration::from_millis(50));
    ensure!(
        top.exists("events/user_events/i"),
        "it went while it was enabled"
    );
    let trace = first.get("trace")?;
    first.set(enable, "0")?;
    ensure!(all_gone(context), "the event is left");
    ensure_eq!(first.get("trace")?, trace, "its records are gone");
    first.remove()?;
    unmap(&[words]);
    Ok(())
}

/// A record is as long as the sub-buffer allows; a longer one is lost and counted.
fn too_long(context: &Context) -> Check {
    sys::pin_to(0);
    let data = data(context)?;
    let words = page(true);
    ensure_eq!(data.register("l u32 a", words, 0, 0), 0, "register");
    let text = "t u32 n; __data_loc char[] text";
    ensure_eq!(data.register(text, words, 1, 0), 1, "register");
    let instance = Instance::new(&context.root, "rtg-user-long")?;
    instance.set("options/event-counts", "1")?;
    instance.set("buffer_size_kb", "2048")?;
    let (folder, mut lost) = ("events/user_events/l", 0);
    let write = |len: usize| -> Check<usize> {
        instance.clear()?;
        let written = data.write(0, &vec![1; len]);
        ensure_eq!(written, len as i64 + 4, "{len} bytes");
        Ok(instance
            .get("trace")?
            .matches(" l: a=0x1010101 (16843009)")
            .count())
    };
    for kb in [4, 8, 64, 512] {
        instance.set("buffer_subbuf_size_kb", &kb.to_string())?;
        instance.set(&format!("{folder}/enable"), "1")?;
        // The heads of the sub-buffer and of the event, and the common fields.
        let most = kb * 1024 - 16 - 8 - 8;
        for (len, lines) in [
            (most, 1),
            (most + 1, 0),
            (4064, 1),
            (kb * 1024, 0),
            (600_000, 0),
        ] {
            ensure_eq!(write(len)?, lines, "{kb} KiB, {len} bytes");
            lost += 1 - lines;
        }
        let counted = instance.get(&format!("{folder}/lost"))?;
        ensure_eq!(counted, format!("{lost}\n"), "lost, {kb} KiB");
        // It is all there.
        write(most)?;
        let raw = instance.open_nonblock("per_cpu/cpu0/trace_pipe_raw");
        let mut raw = raw.map_err(|e| format!("open: {e}"))?;
        let mut image = vec![0; kb * 1024];
        let read = raw.read(&mut image).map_err(|e| format!("read: {e}"))?;
        let ones = image[..read]
            .rsplit(|byte| *byte != 1)
            .map(<[u8]>::len)
            .max();
        ensure_eq!(ones, Some(most), "{kb} KiB: bytes of the record");
        // Filters and triggers see it.
        for (file, text, lines) in [
            ("filter", "a == 1", 0),
            ("filter", "a == 16843009", 1),
            ("filter", "0", 1),
            ("trigger", "hist:keys=a", 1),
            ("trigger", "!hist:keys=a", 1),
        ] {
            instance.set(&format!("{folder}/{file}"), text)?;
            ensure_eq!(write(most)?, lines, "{kb} KiB, {text}");
            if text.starts_with("hist") {
                let hist = instance.get(&format!("{folder}/hist"))?;
                ensure!(hist.contains("Hits: 1\n"), "{kb} KiB: {hist}");
            }
        }
        instance.set(&format!("{folder}/enable"), "0")?;
    }
    // A long string is shown whole.
    instance.set("buffer_subbuf_size_kb", "64")?;
    instance.set("events/user_events/t/enable", "1")?;
    instance.clear()?;
    let long = "x".repeat(20_000);
    let place = 16 | (long.len() as u32 + 1) << 16;
    let mut bytes = [7u32.to_le_bytes(), place.to_le_bytes()].concat();
    bytes.extend(long.bytes().chain([0]));
    ensure_eq!(data.write(1, &bytes), bytes.len() as i64 + 4, "a string");
    let trace = instance.get("trace")?;
    ensure!(trace.contains(&long), "{} bytes of text", trace.len());
    let json = instance.open_nonblock("trace_pipe_json");
    let mut json = json.map_err(|e| format!("open: {e}"))?;
    let mut line = vec![0; 1 << 16];
    let read = json.read(&mut line).map_err(|e| format!("read: {e}"))?;
    let line = String::from_utf8_lossy(&line[..read]);
    ensure!(line.contains(&long), "{} bytes of JSON", line.len());
    drop(json);
    instance.set("events/user_events/t/enable", "0")?;
    for bit in [0, 1] {
        ensure_eq!(data.unregister(words, bit), 0, "unregister");
    }
    drop(data);
    instance.remove()?;
    ensure!(all_gone(context), "the event is left");
    unmap(&[words]);
    Ok(())
}

/// Programs register, are copied, run others and end, while events are enabled and disabled.
fn ends(context: &Context) -> Check {
    let tree = Tree::at(&context.root);
    let words = page(true);
    let root = context.root.clone();
    let mut children = Vec::new();
    for number in 0..12u8 {
        children.push(user_calls::child(|| {
            for round in 0..20u8 {
                let Ok(data) = Data::open(&root) else {
                    return 1;
                };
                let event = format!("e{} u32 a", (number + round) % 3);
                let bit = round % 32;
                if data.register(&event, words, bit, 0) != 0 {
                    return 2;
                }
                data.write(0, &[1, 0, 0, 0]);
                let status = match (number + round) % 4 {
                    0 => user_calls::in_child(user_calls::become_true),
                    1 => user_calls::in_child(|| i32::from(data.unregister(words, bit) != 0)),
                    _ => 0,
                };
                if status != 0 || data.unregister(words, bit) != 0 {
                    return 3;
                }
            }
            let Ok(data) = Data::open(&root) else {
                return 1;
            };
            data.register("last u32 a", words, 0, 0);
            match number % 3 {
                0 => user_calls::become_true(),
                _ => 0,
            }
        }));
    }
    let switch = user_calls::child(|| {
        for round in 0..150 {
            let on = if round % 2 == 0 { "1" } else { "0" };
            let _ = fs::write(root.join("events/user_events/enable"), on);
            let _ = fs::read_to_string(root.join("user_events_status"));
        }
        let _ = fs::write(root.join("events/user_events/enable"), "0");
        0
    });
    let mut report = Report::default();
    for child in children {
        let status = user_calls::wait(child);
        report.expect(status == 0, || format!("a program ends with {status}"));
    }
    report.expect(user_calls::wait(switch) == 0, || "the switch".into());
    let _ = fs::write(root.join("events/user_events/enable"), "0");
    report.expect(all_gone(context), || {
        format!("left: {:?}", tree.get("user_events_status"))
    });
    unmap(&[words]);
    report.finish()
}

/// The module goes while a program has bits registered and events persist.
fn unload(context: &Context) -> Check {
    let words = page(true);
    let data = data(context)?;
    ensure_eq!(data.register("u1 u32 a", words, 0, 0), 0, "register");
    ensure_eq!(data.register("u2 u32 a", words, 1, PERSIST), 1, "register");
    let tree = Tree::at(&context.root);
    tree.set("events/user_events/enable", "1")?;
    ensure_eq!(word(words), 3, "enabled");
    let busy = module::unload(module::NAME);
    ensure!(busy.is_err(), "the module went while a file was open");
    drop(data);
    let copy = user_calls::child(|| i32::from(soon(|| word(words) == 0)));
    module::umount(context)?;
    module::unload_when_free(module::NAME)?;
    ensure_eq!(word(words), 0, "the module is gone");
    ensure_eq!(user_calls::wait(copy), 1, "in a copy");
    unmap(&[words]);
    module::restore(context)?;
    ensure!(
        !context.root.join("events/user_events").exists(),
        "an event is left"
    );
    Ok(())
}
