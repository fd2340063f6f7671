// SPDX-License-Identifier: GPL-2.0

//! Events that users define by kprobes: the same lines written to both tracers get the same answers, errors
//! and formats, and the same calls make the same records.

use super::dynamic::{recorded, takes_types, Tops};
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::kernel_modules::{Loaded, Modules};
use crate::module;
use crate::sys;
use crate::tree::Instance;
use crate::vsock;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("kprobe.right_texts", 120, right_texts),
    test("kprobe.wrong_texts", 60, wrong_texts),
    test("kprobe.records", 60, records),
    test("kprobe.life", 60, life),
    test("kprobe.long_strings", 60, long_strings),
    test("modev.awaited", 120, modules),
];

const GETPPID: usize = 110;
const OPENAT: usize = 257;
const FALLOCATE: usize = 285;

/// In this order; some remove what is there.
const RIGHT: &[&str] = &[
    "p vfs_read",
    "p:one vfs_write\n",
    "p:grp-x/one vfs_read+0 a=%di",
    "p.more:my.two   vfs_read  b=%si:u8\tc=%r10:s16",
    "r vfs_read ret=%ax",
    "r5:r_one vfs_write a=%ax:s32 b=$comm",
    "p:exit vfs_read%return x=%ax:x8",
    "p:types vfs_write a=%di:u8 b=%di:u16 c=%di:u32 d=%di:u64 e=%di:s8 f=%di:s16 g=%di:s32 h=%di:s64 \
     i=%di:x8 j=%di:x16 k=%di:x32 l=%di:x64 m=%di:char n=%di:symbol o=+0(%di):string p=+0(%di):ustring",
    "p:vars vfs_write a=$stack b=$stack0 c=$stack5:u16 d=$comm:string e=$current f=$arg1:u64 g=$arg7:u32",
    "p:memory vfs_write a=+8(%di) b=-8(+0x10(%si)):u32 c=+u4(%si):x16 d=@jiffies:u64 e=@init_task+8:u8",
    "p:imm vfs_write a=\\1 b=\\-1:s8 c=\\0xffffffffffffffff d=\\\"text\" e=\\077:u32",
    "p:arrays vfs_write a=+0(%di):u8[3] b=+0(%di):x64[64] c=+0(%si):string[2] d=+0(%si):ustring[0x3] \
     e=+8(%di):s16[1] f=+0(%di):char[4] g=+0(%di):symbol[2] h=+u0(%si):ustring[2]",
    "p:bits vfs_write a=%di:b4@4/8 b=%di:b1@63/64 c=+0(%di):b3@2/32 d=+0(%di):b8@8/16[2] e=$stack0:b0x10@020/32",
    "p:names vfs_write a=%di:symstr b=$stack0:symstr c=+0(%di):symstr d=$arg1:symstr",
    "p:full vfs_write +0(%di):x64[64] +8(%di):u64[64] +0(%di):s64[64] +0(%di):x64[64] +0(%di):x64[64] +0(%di):x64[64]",
    "r:kept vfs_write a=$arg1 b=$arg3:u32 c=+0($arg1) d=$arg9 ret=$retval:s32 e=%ax",
    "p:unnamed vfs_write %di %si:u8 $stack1 $comm +0(%di)",
    "p:regs vfs_read %r15 %r14 %r13 %r12 %bp %bx %r11 %r10 %r9 %r8 %ax %cx %dx %si %di %orig_ax %ip %cs \
     %flags %sp %ss",
    "p:signs vfs_write a=++8(%di) b=+-8(%si):u8 c=-0x8000000000000000(%di) d=\\+-5:s32 e=\\++5 f=\\+5 g=$arg+1 \
     h=+u+8(%di) i=+u-8(%di) j=-u8(%di)",
    "# a comment",
    "",
    "p:behind vfs_read # a comment",
    "p:l1 vfs_read\np:l2 vfs_write\n\np:l3 vfs_open",
    "-:l1\n-:kprobes/l2",
    "-:l3 vfs_open",
    "-:grp-x/",
    "-:my/two",
    "-:unnamed vfs_write arg1=%di",
];

/// With names that BTF knows, in this order.
const TYPED: &[&str] = &[
    "p:named vfs_write file buf count pos",
    "p:all vfs_write $arg* a=%di",
    "p:numbers vfs_write $arg1 $arg3:x32 b=$arg2",
    "p:fields vfs_write file->f_mode name=file->f_path.dentry->d_name.name:string text=buf:ustring",
    "r:returned vfs_write $retval",
    "r:both vfs_write%return count ret=$retval $arg1 name=+u0($arg2):ustring",
    "p:dput dput dentry name=dentry->d_name.name:string",
    "p:casts vfs_write a=(file)$arg1->f_flags b=(task_struct)$current->pid c=$current->comm:string d=$current->pid \
     e=(file)(%di)->f_path.dentry->d_name.name:string f=+0((file)%di->f_path.dentry):x16",
    "p:casts2 vfs_write a=(dentry,d_name)%di->d_flags b=(task_struct)+0(%di)->pid:u8 \
     c=(task_struct)this_cpu_read(@current_task)->pid d=(file)file->f_path.dentry->d_flags e=$current->mm->mmap_base",
    "p:cpus vfs_write a=this_cpu_read(@cpu_number):u32 b=this_cpu_ptr(@runqueues) c=this_cpu_read(%si):x32 \
     d=this_cpu_ptr(+8(%di)) e=this_cpu_read(@cpu_number) f=+8(this_cpu_ptr(@runqueues)):u8[2]",
    "r:castback vfs_write a=(file)$arg1->f_flags v=$retval b=$current->tgid c=(task_struct)(+0($arg2))->pid",
    "p:names2 dput name=dentry:%pd $arg1:%pd b=%di:%pd",
    "p:names3 vfs_write name=%di:%pD file:%pD",
    "p:here vfs_write+0 $current->pid",
];

/// With BTF; each is refused.
const WRONG_TYPED: &[&str] = &[
    "p:e vfs_read a=(file)$arg1",
    "p:e vfs_read (file)(%di)",
    "p:e vfs_read (file)+8(%di)",
    "p:e vfs_read (file)+8(%di)x",
    "p:e vfs_read (nosuch)%di->pid",
    "p:e vfs_read (file",
    "p:e vfs_read (file)",
    "p:e vfs_read (file)(%di->x",
    "p:e vfs_read (file)+8(%di->x",
    "p:e vfs_read (file)+8->x",
    "p:e vfs_read (file)@jiffies+8->x",
    "p:e vfs_read (file)%di->nosuch",
    "p:e vfs_read (file)%di->",
    "p:e vfs_read (file)%di->f_path->x",
    "p:e vfs_read (file)%di->f_flags.x",
    "p:e vfs_read (file)%zz->f_flags",
    "p:e vfs_read (file,nosuch)%di->f_flags",
    "p:e vfs_read (file,)%di->f_flags",
    "p:e vfs_read (file,f_path->dentry)%di->f_flags",
    "p:e vfs_read (task_struct,sched_contributes_to_load)%di->pid",
    "p:e vfs_read (file)%di-x",
    "p:e vfs_read (file)%di->f_flags:string",
    "p:e vfs_read (file)\\x->f_flags",
    "p:e vfs_read (file)(file)%di->f_flags",
    "p:e vfs_read (file)((file)%di)->f_flags",
    "p:e vfs_read+5 (file)%di->f_flags",
    "p:e vfs_read $current->nosuch",
    "p:e vfs_read $current.pid",
    "p:e vfs_read $current-pid",
    "p:e vfs_read $current->pid:string",
    "p:e vfs_read $currents->pid",
    "p:e vfs_read this_cpu_ptr(%di",
    "p:e vfs_read this_cpu_read($comm)",
    "p:e vfs_read this_cpu_read()",
    "p:e vfs_read this_cpu_reads(%di)",
    "p:e vfs_read this_cpu_ptr(%di):string",
    "p:e vfs_read this_cpu_ptr(%di):symstr",
    "p:e vfs_read a=this_cpu_ptr(%di):u8[2]",
    "p:e vfs_read +0(+0(+0(+0(this_cpu_read((file)(+0(+0(+0(%di))))->f_flags)))))",
    "p:e vfs_read a=%di:%pd[2]",
    "p:e vfs_read a=%di:%px",
    "p:e vfs_read %di:%pD %di:%pD %di:%pD %di:%pD %di:%pD %di:%pD %di:%pD %di:%pD %di:%pD %di:%pD",
];

fn right_texts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let mut report = Report::default();
    let groups = ["kprobes", "grp-x", "my"];
    tops.take(&mut report, "kprobe_events", RIGHT, &groups)?;
    if takes_types(&tops.reference)? {
        tops.take(&mut report, "kprobe_events", TYPED, &["kprobes"])?;
    }
    let lines = ["p:dyn vfs_read", "-:dyn", "p:dyn vfs_read", "!:dyn"];
    tops.take(&mut report, "dynamic_events", &lines, &[])?;
    tops.end(&mut report, "kprobe_events", "kprobes")?;
    report.finish()
}

const WRONG: &[&str] = &[
    "p",
    "x vfs_read",
    "p10 vfs_read",
    "r0 vfs_read",
    "r0x vfs_read",
    "r4097 vfs_read",
    "r99999999999 vfs_read",
    "p nosuchfunction",
    "p:e nosuchfunction a=%di",
    "p vfs_read%retur",
    "p vfs_read%",
    "p vfs_read+x",
    "p vfs_read-1",
    "p vfs_read+99999999999",
    "r vfs_read+5",
    "p vfs_read+1",
    "p: vfs_read",
    "p:/x vfs_read",
    "p:1/x vfs_read",
    "p:a/1x vfs_read",
    "p:a-b vfs_read",
    "p:x0123456789012345678901234567890123456789012345678901234567890123456789 vfs_read",
    "p:x0123456789012345678901234567890123456789012345678901234567890123456789/x vfs_read",
    "p:there vfs_read",
    "p:kprobes/there vfs_read",
    "p:there vfs_read a=%di",
    "r:there vfs_read",
    "p:sched/sched_switch vfs_read",
    "p:e vfs_read $foo",
    "p:e vfs_read a=$foo",
    "p:e vfs_read =$foo",
    "p:e vfs_read 1=$foo",
    "p:e vfs_read a=",
    "p:e vfs_read a=%ax a=%bx",
    "p:e vfs_read common_pid=%ax",
    "p:e vfs_read __probe_ip=%ax",
    "p:e vfs_read a0123456789012345678901234567890123456789=%ax",
    "p:e vfs_read %rax",
    "p:e vfs_read %",
    "p:e vfs_read %ax:u5",
    "p:e vfs_read %ax:",
    "p:e vfs_read %ax:string",
    "p:e vfs_read $stack:string",
    "p:e vfs_read a=%ax:u8[2",
    "p:e vfs_read a=%ax:u8[2]x",
    "p:e vfs_read a=%ax:u8[0]",
    "p:e vfs_read a=%ax:u8[x]",
    "p:e vfs_read a=%ax:u8[]",
    "p:e vfs_read a=%ax:u8[65]",
    "p:e vfs_read a=%ax:u8[99999999999]",
    "p:e vfs_read a=%ax:u8[2]",
    "p:e vfs_read a=+u0(%ax):u8[2]",
    "p:e vfs_read a=+0(+u0(%ax)):foo[2]",
    "p:e vfs_read a=\\1:u8[2]",
    "p:e vfs_read $comm:string[2]",
    "p:e vfs_read a=%ax:b1@8/8",
    "p:e vfs_read a=+0(%ax):b0@0/8",
    "p:e vfs_read a=+u8(+0(%ax)):b0@0/8",
    "p:e vfs_read a=%ax:b1@0/7",
    "p:e vfs_read a=%ax:b1",
    "p:e vfs_read a=%ax:b",
    "p:e vfs_read a=%ax:b1x0/8",
    "p:e vfs_read a=%ax:b1@/8",
    "p:e vfs_read a=$comm:symstr",
    "p:e vfs_read a=$current:symstr",
    "p:e vfs_read a=\\1:symstr",
    "p:e vfs_read a=+u0(%ax):symstr",
    "p:e vfs_read a=-u8(+0(%ax)):symstr",
    "p:e vfs_read a=+0(%ax):symstr[2]",
    "p:e vfs_read a=+u0($foo)",
    "p:e vfs_read +0(%di):x64[64] +8(%di):u64[64] +0(%di):s64[64] +0(%di):x64[64] +0(%di):x64[64] +0(%di):x64[64] \
     a=+8(%di):u8",
    "p:e vfs_read $comm:u8",
    "p:e vfs_read a=\\\"x\":u8",
    "p:e vfs_read $retval",
    "p:e vfs_read+4 %di $arg0",
    "p:e vfs_read $arg0",
    "p:e vfs_read a=$arg99999",
    "p:e vfs_read $stack2049",
    "p:e vfs_read $stackx",
    "p:e vfs_read +0",
    "p:e vfs_read a=+0",
    "p:e vfs_read +x(%ax)",
    "p:e vfs_read --8(%ax)",
    "p:e vfs_read -+8(%ax)",
    "p:e vfs_read +++8(%ax)",
    "p:e vfs_read -0x8000000000000001(%ax)",
    "p:e vfs_read ++8($foo)",
    "p:e vfs_read +-8($foo)",
    "p:e vfs_read +u-8($foo)",
    "p:e vfs_read +u8($foo)",
    "p:e vfs_read -8($foo)",
    "p:e vfs_read a=+8(+-8($foo))",
    "p:e vfs_read $arg+1",
    "p:e vfs_read a=$arg++1",
    "p:e vfs_read a=$arg-1",
    "p:e vfs_read a=$stack+1",
    "p:e vfs_read \\+",
    "p:e vfs_read \\-+5",
    "p:e vfs_read \\+++5",
    "p:e vfs_read \\+0xffffffffffffffff",
    "p:e vfs_read +99999999999999999999(%ax)",
    "p:e vfs_read +0(%ax",
    "p:e vfs_read +0($comm)",
    "p:e vfs_read +0($foo)",
    "p:e vfs_read \\x",
    "p:e vfs_read \\99999999999999999999",
    "p:e vfs_read \\\"x",
    "p:e vfs_read @+8",
    "p:e vfs_read @1x",
    "p:e vfs_read @nosuchsymbol",
    "p:e vfs_read !x",
    "p name_show",
    "-:nosuch",
    "-:my.two",
    "-:1/2/3",
    "-:",
    "-x",
    "-",
    "!:there",
    "-:there vfs_write",
    "-:there vfs_read a=%di",
];

const WRONG_AT_ADDRESS: &[&str] = &[
    "r:e ADDRESS $retval",
    "r:e ADDRESS a=$retval:s32",
    "r:e ADDRESS $arg1",
    "r:e ADDRESS a=$arg1",
    "r:e ADDRESS $arg*",
    "r:e ADDRESS file",
    "p:e ADDRESS $retval",
    "p:e ADDRESS $arg1",
    "p:e ADDRESS a=%di b=$arg2:u8",
    "p:e ADDRESS a=+0($arg1)",
    "p:e ADDRESS $arg*",
    "p:e ADDRESS file",
];

const RIGHT_AT_ADDRESS: &[&str] = &[
    "p:at ADDRESS a=%di b=+0(%si) c=$stack0 d=$comm",
    "r:of ADDRESS a=%ax:s32 c=$comm",
    "-:at",
    "-:of",
];

/// The address of a function of the kernel, as a definition has it.
fn address_of(name: &str) -> Check<String> {
    let text = std::fs::read_to_string("/proc/kallsyms").map_err(|e| e.to_string())?;
    let mut rows = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    match rows.find(|row| row.get(2) == Some(&name)) {
        Some(row) if row[0].contains(|c: char| c != '0') => Ok(format!("0x{}", row[0])),
        _ => skip!("the addresses of functions are not shown"),
    }
}

fn wrong_texts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let mut report = Report::default();
    let file = "kprobe_events";
    tops.compare(&mut report, file, "p:there vfs_read")?;
    tops.refuse(&mut report, file, WRONG)?;
    tops.refuse(
        &mut report,
        "dynamic_events",
        &["nonsense", "q vfs_read", "p"],
    )?;
    if takes_types(&tops.reference)? {
        tops.refuse(&mut report, file, WRONG_TYPED)?;
    }
    // Of a place that is given by its address nothing is known.
    let address = address_of("vfs_read")?;
    let at_address = |line: &&str| line.replace("ADDRESS", &address);
    let wrong: Vec<_> = WRONG_AT_ADDRESS.iter().map(at_address).collect();
    let wrong: Vec<_> = wrong.iter().map(String::as_str).collect();
    tops.refuse(&mut report, file, &wrong)?;
    let right: Vec<_> = RIGHT_AT_ADDRESS.iter().map(at_address).collect();
    let right: Vec<_> = right.iter().map(String::as_str).collect();
    // Their lists differ: that of tracefs has hashes of addresses.
    for line in right {
        tops.set(file, line)?;
    }
    // A definition is a text, which a string in one need not be for tracefs.
    let line = b"p:e vfs_read  a=\\\"\xff\"";
    ensure_eq!(tops.own.write(file, line), Err(EINVAL), "not UTF-8");
    let log = tops.own.get("error_log")?;
    let caret = format!(
        "\n{}^\n",
        " ".repeat("  Command: p:e vfs_read a=\\\"".len())
    );
    report.expect(
        log.contains("dynevent: error: Not UTF-8\n") && log.ends_with(&caret),
        || log.clone(),
    );
    tops.own.empty("error_log")?;
    // Lines before the first wrong one stay.
    tops.compare(&mut report, file, "p:first vfs_read\nx\np:third vfs_read")?;
    let long = format!("p:e vfs_read {}", "x".repeat(4090));
    let many = format!("p:e vfs_read{}", " a=%di".repeat(129));
    tops.refuse(&mut report, file, &[&long, &many])?;
    report.finish()
}

/// The same probes at both, and calls that hit them.
fn records(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let function = sys::getppid_function();
    let lines = format!(
        "p:k_plain {function}\n\
         p:k_args {function} a=%orig_ax:u32 b=+0x70(%di):u32 c=$comm d=\\-5:s8 e=\\65:char f=\\\"text\" \
         g=$stack0:symbol h=@vfs_read:x64 i=@vfs_read-8:x64\n\
         p:k_types {function} b=%di:b8@0/64 c=+0x70(%di):b4@4/8 d=+0x70(%di):u16[2] \
         e=+u0(+0x70(%di)):ustring[2] f=+0(%di):x64[3] g=+u0(+u0(+0x70(%di))):u8 h=$stack0:symstr\n\
         p:k_fault {function} a=+0(\\8):u64 b=+0(\\8):string c=+u0(\\8):u16 d=\\7:u8 e=@jiffies:u8\n\
         r:k_ret {function} v=$retval:s32 w=%ax:x32 c=$comm\n\
         p:k_open do_sys_openat2 dfd=$arg1:s32 name=+u0($arg2):ustring again=+0($arg2):ustring\n\
         r:k_opened do_sys_openat2 fd=$retval:s64 dfd=$arg1:s32 name=+u0($arg2):ustring\n"
    );
    let typed = format!(
        "p:k_task {function} i=$current\n\
         p:k_cast {function} pid=$current->pid comm=$current->comm:string cpu=this_cpu_read(@cpu_number):u32 \
         tgid=(task_struct)$current->tgid nr=(pt_regs)%di->orig_ax this=(task_struct)(this_cpu_read(@current_task))->pid\n\
         p:k_path vfs_fallocate name=%di:%pD f=(file)%di->f_path.dentry->d_name.name:string\n"
    );
    let typed_too = takes_types(&tops.reference)?;
    let lines = match typed_too {
        true => lines + &typed,
        false => lines,
    };
    let mut report = Report::default();
    tops.set("kprobe_events", &lines)?;
    {
        let (own, reference) = pair(context)?;
        let instances = [&own, &reference];
        for tree in instances {
            tree.set("events/kprobes/enable", "1")?;
            tree.set("set_event_pid", &sys::thread_id().to_string())?;
            tree.clear()?;
        }
        let strings = ["one\0", "another\0"].map(|text| text.as_ptr() as usize);
        for _ in 0..3 {
            sys::call(GETPPID, [strings.as_ptr() as usize, 0, 0, 0, 0, 0]);
        }
        let long = format!("/{}\0", "x".repeat(300));
        for path in ["/nosuchfile\0", &long, "\0"] {
            let args = [usize::MAX, path.as_ptr() as usize, 0, 0, 0, 0];
            sys::call(OPENAT, args);
        }
        sys::call(OPENAT, [usize::MAX, 8, 0, 0, 0, 0]);
        let file = std::fs::File::create("/tmp/rtg-kprobe-path").map_err(|e| e.to_string())?;
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file) as usize;
        sys::call(FALLOCATE, [fd, 0, 0, 4096, 0, 0]);
        let _ = std::fs::remove_file("/tmp/rtg-kprobe-path");
        for tree in instances {
            tree.set("events/kprobes/enable", "0")?;
        }
        let keep = |lines: Vec<String>| -> Vec<String> {
            // A fault is a zero here; in tracefs it is what the ring had there before. The other value
            // differs by the time.
            let fault = |line: &str| line.contains("k_fault");
            let (faults, mut rest): (Vec<_>, Vec<_>) =
                lines.into_iter().partition(|line| fault(line));
            // The test itself opens files of both trees.
            rest.retain(|line| !line.contains("tracing/instances/"));
            rest.retain(|line| !line.contains("rtg-kprobe-path") || line.contains("k_path"));
            rest.retain(|line| !line.contains(" k_opened") || line.contains(" fd=42949"));
            rest.push(format!("{} faults", faults.len()));
            rest
        };
        let lines = (recorded(&own)?, recorded(&reference)?);
        for line in lines.0.iter().filter(|line| line.contains("k_fault")) {
            report.expect(line.contains(") a=0 b=(fault) c=0 d=7 e="), || line.clone());
        }
        let (own_lines, wanted) = (keep(lines.0), keep(lines.1));
        let count = if typed_too { 28 } else { 21 };
        report.expect(wanted.len() == count, || {
            format!("tracefs recorded {wanted:#?}")
        });
        report.expect(own_lines == wanted, || {
            format!("records {own_lines:#?}, tracefs {wanted:#?}")
        });
        own.set("options/sym-addr", "1")?;
        reference.set("options/sym-addr", "1")?;
        let lines = (keep(recorded(&own)?), keep(recorded(&reference)?));
        report.expect(lines.0 == lines.1, || {
            format!("with addresses {:#?}, tracefs {:#?}", lines.0, lines.1)
        });
    }
    // Hits and misses of what is defined. Other tasks open files.
    let mine = |text: String| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains("open"));
        lines.map(str::to_string).collect()
    };
    let profiles = (
        mine(tops.own.get("kprobe_profile")?),
        mine(tops.reference.get("kprobe_profile")?),
    );
    report.expect(profiles.0 == profiles.1, || {
        format!("profiles {profiles:#?}")
    });
    report.finish()
}

/// Strings are as long as the sub-buffers allow, as in tracefs; where they are too long, the last is cut,
/// and tracefs records nothing.
fn long_strings(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let line = "p:k_long do_sys_openat2 a=+0($arg2):ustring b=+0($arg2):ustring\n";
    tops.set("kprobe_events", line)?;
    let (own, reference) = pair(context)?;
    let text = "y".repeat(3000);
    let path = format!("/{text}\0");
    let mut report = Report::default();
    for (kb, whole) in [("4", 1), ("16", 2)] {
        for tree in [&own, &reference] {
            tree.set("buffer_subbuf_size_kb", kb)?;
            tree.set("set_event_pid", &sys::thread_id().to_string())?;
            tree.set("events/kprobes/k_long/enable", "1")?;
            tree.clear()?;
        }
        sys::call(OPENAT, [usize::MAX, path.as_ptr() as usize, 0, 0, 0, 0]);
        let of_path = |tree: &Instance| -> Check<Vec<String>> {
            tree.set("events/kprobes/k_long/enable", "0")?;
            let mut lines = recorded(tree)?;
            lines.retain(|line| line.contains("/yyy"));
            Ok(lines)
        };
        let (found, wanted) = (of_path(&own)?, of_path(&reference)?);
        let times = found.concat().matches(&text).count();
        report.expect(found.len() == 1 && times == whole, || {
            format!("{kb} KiB: {} lines, {times} whole strings", found.len())
        });
        let same = match whole {
            2 => found == wanted,
            _ => wanted.is_empty(),
        };
        report.expect(same, || {
            let lengths = |lines: &[String]| lines.iter().map(String::len).collect::<Vec<_>>();
            let (found, wanted) = (lengths(&found), lengths(&wanted));
            format!("{kb} KiB: lines of {found:?}, in tracefs {wanted:?}")
        });
    }
    drop((own, reference));
    tops.clear();
    report.finish()
}

/// Definitions that are in use stay; what is removed is gone in every instance, but its records are not; a
/// new event of the same name has another id.
fn life(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let function = sys::getppid_function();
    let before = Instance::new(&context.root, "kprobe-before")?;
    own.set("kprobe_events", &format!("p:life {function} a=\\1:u8"))?;
    let after = Instance::new(&context.root, "kprobe-after")?;
    let id = own.get("events/kprobes/life/id")?;
    for tree in [&*before, &*after] {
        ensure_eq!(tree.get("events/kprobes/life/id")?, id, "id");
        ensure_eq!(tree.get("events/kprobes/life/enable")?, "0\n", "enable");
    }
    ensure!(
        own.get("available_events")?.contains("kprobes:life\n"),
        "not in available_events"
    );

    // In use: enabled, or attached for a trigger.
    before.set("set_event", "kprobes:life")?;
    ensure_eq!(before.get("set_event")?, "kprobes:life\n", "set_event");
    ensure_eq!(own.write("kprobe_events", b"-:life"), Err(EBUSY), "in use");
    ensure_eq!(
        own.write_truncating("kprobe_events", b""),
        Err(EBUSY),
        "in use"
    );
    ensure_eq!(
        own.write_truncating("dynamic_events", b""),
        Err(EBUSY),
        "in use"
    );
    sys::call(GETPPID, [0; 6]);
    before.set("events/kprobes/life/enable", "0")?;
    after.set("events/kprobes/life/trigger", "traceoff:1 if a == 1")?;
    ensure_eq!(own.write("kprobe_events", b"-:life"), Err(EBUSY), "in use");
    sys::call(GETPPID, [0; 6]);
    ensure_eq!(after.get("tracing_on")?, "0\n", "tracing_on");
    after.set("events/kprobes/life/trigger", "!traceoff")?;

    // A filter asks about what was recorded.
    before.set("events/kprobes/life/filter", "a == 2")?;
    before.set("events/kprobes/life/enable", "1")?;
    sys::call(GETPPID, [0; 6]);
    before.set("events/kprobes/life/enable", "0")?;
    let count = |text: &str| text.lines().filter(|line| line.ends_with(") a=1")).count();
    let text = before.get("trace")?;
    ensure!(count(&text) >= 1, "not recorded: {text}");

    let open = own.open("events/kprobes/life/format");
    own.set("kprobe_events", "-:life")?;
    drop(open);
    for tree in [own, &*before, &*after] {
        ensure!(!tree.exists("events/kprobes"), "the folder is left");
    }
    ensure_eq!(
        before.write("set_event", b"kprobes:life"),
        Err(EINVAL),
        "gone"
    );
    ensure_eq!(before.get("trace")?, text, "records of a removed event");

    own.set(
        "kprobe_events",
        &format!("p:life {function} b=\\2:u32 c=$comm"),
    )?;
    ensure!(
        own.get("events/kprobes/life/id")? != id,
        "the same id for another layout"
    );
    before.set("events/kprobes/life/enable", "1")?;
    sys::call(GETPPID, [0; 6]);
    before.set("events/kprobes/life/enable", "0")?;
    let both = before.get("trace")?;
    ensure_eq!(count(&both), count(&text), "{both}");
    ensure!(
        both.contains(") b=2 c=\""),
        "the new event was not recorded: {both}"
    );
    own.set("kprobe_events", "-:life")?;
    before.remove()?;
    after.remove()
}

/// Probes in a module that is not loaded yet: they are hit when it comes, each time.
fn modules(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let modules = Modules::new()?;
    let file = "kprobe_events";
    let mut report = Report::default();
    let function = "vsock:vsock_connectible_sendmsg";
    let lines = [
        format!("p:late/sent {function} a=%si:x8 c=$comm"),
        format!("r:late/back {function} v=$retval a=$arg3"),
        "r10:late/back vsock:nosuchfunction v=$retval a=$arg3".to_string(),
        format!("p:late/inside {function}+4"),
        format!("p {function}"),
        "r nosuch_module:nosuch%return".to_string(),
    ];
    let lines = lines.each_ref().map(String::as_str);
    tops.take(&mut report, file, &lines, &["late", "kprobes"])?;
    let wrong = [
        format!("p:late/wrong {function} a=$arg1"),
        format!("p:late/wrong {function} sock"),
        format!("p:late/wrong {function} $arg*"),
        format!("p:late/wrong {function}+x"),
        format!("p:late/wrong {function} a=$retval"),
        format!("p:late/sent {function} a=%si:x8 c=$comm"),
    ];
    let wrong = wrong.each_ref().map(String::as_str);
    tops.refuse(&mut report, file, &wrong)?;
    for line in ["-:late/inside", "-:kprobes/"] {
        tops.set(file, line)?;
    }
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.set("events/late/sent/enable", "1")?;
    }
    for round in 0..2 {
        let mut loaded = Loaded::new(&modules);
        loaded.add("vsock-loopback")?;
        for tree in instances {
            tree.set("events/late/back/enable", "1")?;
        }
        vsock::talk(20)?;
        for tree in instances {
            tree.set("events/late/back/enable", "0")?;
        }
        loaded.remove()?;
        let counts = instances.map(|tree| -> Check<[usize; 2]> {
            let text = tree.get("trace")?;
            Ok([" sent: (", " back: ("].map(|what| text.matches(what).count()))
        });
        let [own_counts, wanted] = counts;
        let (own_counts, wanted) = (own_counts?, wanted?);
        report.expect(own_counts == wanted && wanted[0] >= 20, || {
            format!("round {round}: {own_counts:?} records, tracefs {wanted:?}")
        });
        for tree in instances {
            ensure_eq!(tree.get("events/late/sent/enable")?, "1\n", "enable");
            // While the module is away.
            tree.set("events/late/sent/enable", "0")?;
            tree.set("events/late/sent/enable", "1")?;
            tree.clear()?;
        }
    }
    // That of tracefs is listed with a number by now.
    tops.set(file, "-:late/back")?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    let typed = [
        format!("p:late/here {function} a=$arg1"),
        format!("p:late/here {function} sock"),
    ];
    let typed = typed.each_ref().map(String::as_str);
    for line in typed {
        tops.compare(&mut report, file, line)?;
    }
    tops.refuse(&mut report, file, &["p:late/x vsock:nosuchfunction"])?;
    // What does not name the module is not waited for.
    let (_, plain) = function.split_once(':').unwrap_or_default();
    for place in [plain, "vfs_read"] {
        tops.compare(&mut report, file, &format!("p:late/plain {place}"))?;
    }
    report.finish()?;
    drop(own);
    tops.own.set("events/late/enable", "1")?;
    loaded.remove()?;
    // Its event can be enabled, and the other probe of that is hit.
    let event = "events/late/plain/enable";
    for tree in tops.trees() {
        tree.set(event, "0")?;
        tree.clear()?;
        tree.set(event, "1")?;
        tree.get(event)?;
        tree.set(event, "0")?;
        let trace = tree.get("trace")?;
        ensure!(trace.contains(" plain: ("), "no record after {plain}");
    }
    module::reload(context)?;
    ensure_eq!(tops.own.get(file)?, "", "left");
    Ok(())
}
