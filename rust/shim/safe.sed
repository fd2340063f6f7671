# SPDX-License-Identifier: GPL-2.0
#
# Types in what bindgen has made of functions of C, so that Rust calls them without
# `unsafe`: those of kapi/foreign.rs, and references. Each function here keeps what its
# types say: what it is given is used as long as they allow and no longer, and what it
# returns is what they are. No other argument and no context can make it unsound.

# What the VFS calls gets a context that is its own during the call.
/^pub struct fs_context_operations \{/,/^\}/ s/fc: \*mut fs_context\b/fc: \&mut fs_context/

# One line for each function.
/^ *pub fn \w+\($/ {
	:join
	N
	/;$/! b join
	s/\n */ /g
	s/\( /(/
	s/, \)/)/
}

# What is given back.
/ fn (filp_close|kern_unmount|module_put|dput|iput|rt_fprobe_put|rt_kprobe_put|rt_load_forget|rt_printer_free|rt_sampler_free|rt_thread_stop|rt_cpu_threads_stop|rt_tick_free|rt_uprobe_put|rt_watch_put)\(/ {
	s/pub fn/pub safe fn/
	s/\((\w+): \*mut (\w+)/(\1: FinalRef<\2>/
}

# What is made, or found.
/ fn (rt_fprobe_get|rt_load_pid|rt_printer_new|rt_sampler_new|rt_tick_new|rt_uprobe_file|rt_watch_get)\(/ s/-> \*mut (\w+)/-> Option<Owned<\1>>/
/ fn rt_module_hold\(/ {
	s/: \*mut (\w+)\) -> \*mut (\w+)/: \&Object<\1>) -> Option<Owned<\2>>/
	s/pub fn/pub safe fn/
}
/ fn (rt_dentry_open|rt_lookup|rt_sysfs_mount|rt_tracefs_mount)\(/ s/-> \*mut (\w+)/-> OwnedOrError<\1>/
/ fn (rt_preemption_kind|rt_preemption_mode|rt_release|rt_syscall_name)\(/ s/-> \*const ::kernel::ffi::c_char/-> Option<CText<'static>>/
/ fn (rt_module_name|rt_tracepoint_name)\(/ {
	s/\((\w+): \*const (\w+)\) -> \*const ::kernel::ffi::c_char/<'a>(\1: \&'a Object<\2>) -> CText<'a>/
	s/pub fn/pub safe fn/
}
/ fn rt_module_tracepoint\(/ {
	s/\((\w+): \*mut module(.*)-> \*mut (\w+)/<'a>(\1: \&'a Object<module>\2-> Option<\&'a Object<\3>>/
	s/pub fn/pub safe fn/
}

# What is used.
/ fn (rt_dentry_open|rt_file_(read|size)|rt_fprobe_(missed|unregister)|rt_function_address|rt_hook_(forget|register|select|select_all|unregister)|rt_kprobe_(address|at_entry|at_hook|disable|is_gone|max_active|missed|register|returns)|rt_load_kill|rt_lookup|rt_module_event|rt_module_init_(size|text)|rt_mount_point_(make|remove)|rt_module_is_foreign|rt_program_(ask_for|bit|fault_in|is_gone|set_bit)|rt_return_address|rt_return_value|rt_returned_to|rt_seq_read|rt_symbol_address|rt_sysfs_mount|rt_task_(cpu|state|user)|rt_text_of_(gfp|hashed)|rt_tick_wait|rt_tick_wait_signal|rt_tracefs_mount|rt_tracepoint_entry|rt_unwind_with|rt_uprobe_(file|inode|is_regular|open|read)|rt_within_module|rt_within_module_init)\(/ {
	s/pub fn/pub safe fn/
	s/: \*mut \*mut (rt_\w+)/: \&mut Option<Owned<\1>>/
	s/: \*const ::kernel::ffi::c_char/: CText<'_>/
	s/: \*(const|mut) task_struct/: \&Task/
	s/: \*(const|mut) mm_struct/: \&Mm/
	s/: \*mut (loff_t|rt_module_event)/: \&mut \1/
	s/: \*(const|mut) (dentry|file|module|pid|rt_\w+|tracepoint|unwind_state|vfsmount)\b/: \&Object<\2>/g
	s/: rt_room/: Room<'_>/
	s/: rt_addresses/: AddressSpan<'_>/
}
/ fn (rt_cpu_threads_start|rt_thread_start)\(/ s/: \*mut \*mut (rt_\w+)/: \&mut Option<Owned<\1>>/
/ fn (register|unregister)_(module|tracepoint_module)_notifier\(/ {
	s/pub fn/pub safe fn/
	s/_tracepoint_module_notifier\((\w+): \*mut notifier_block/_tracepoint_module_notifier(\1: \&'static NotifierBlock<TracedModules>/
	s/_module_notifier\((\w+): \*mut notifier_block/_module_notifier(\1: \&'static NotifierBlock<AllModules>/
}
/ fn (drop_nlink|nonseekable_open|rt_forbid_pwrite|rt_inode_add_link|rt_inode_lock_nested|rt_tell_modified|simple_inode_init_ts|stream_open)\(/ {
	s/pub fn/pub safe fn/
	s/: \*mut inode/: AnyInode<'_>/
	s/: \*mut file/: \&LocalFile/
}
/ fn generic_file_llseek\(/ {
	s/pub fn/pub safe fn/
	s/: \*mut file/: \&LocalFile/
}
/ fn new_inode\(/ {
	s/pub fn/pub safe fn/
	s/: \*mut super_block/: AnySuperblock<'_>/
	s/-> \*mut (\w+)/-> Option<Owned<\1>>/
}
/ fn (d_add|d_make_persistent|d_make_root)\(/ s/: \*mut inode/: FinalRef<inode>/
/ fn d_make_root\(/ s/pub fn/pub safe fn/
/ fn (d_alloc_name|find_next_child)\(/ {
	s/\((\w+): \*mut dentry/(\1: AnyDentry<'_>/
	s/: \*mut dentry/: Option<FinalRef<dentry>>/
	s/: \*const (qstr|::kernel::ffi::c_char)/: CText<'_>/
	s/-> \*mut (\w+)/-> Option<Owned<\1>>/
}
/ fn d_alloc_name\(/ s/pub fn/pub safe fn/
/ fn (cancel_work_sync|flush_work)\(/ {
	s/pub fn/pub safe fn/
	s/: \*mut work_struct/: ReadyWork<'_>/
}
/ fn irq_work_sync\(/ {
	s/pub fn/pub safe fn/
	s/: \*mut irq_work/: ReadyIrqWork<'_>/
}
/ fn rt_kprobe_register\(/ s/CText<'_>/Option<CText<'_>>/
/ fn rt_printer_(format|user_stack)\(/ {
	s/\(printer: \*mut rt_printer/<'a>(printer: SoleRef<'a, rt_printer>/
	s/desc: \*const rt_event_desc/desc: \&rt_event_desc/
	s/: rt_addresses/: AddressSpan<'_>/
	s/-> rt_written/-> WrittenBytes<'a>/
}
/ fn rt_printer_user_stack<'a>/ s/pub fn/pub safe fn/
/ fn rt_tick_wait_signal\(/ s/: \&Object<rt_tick>/: SoleRef<'_, rt_tick>/
/ fn rt_(uprobe_unregister|watch_clear)\(/ {
	s/pub fn/pub safe fn/
	s/: \*mut (\w+)/: SoleRef<'_, \1>/
}
/ fn clocks_calc_mult_shift\(/ {
	s/pub fn/pub safe fn/
	s/: \*mut (::kernel::ffi::c_uint|u32_?)\b/: \&mut \1/g
}
/ fn rt_hook_\w+\(/ s/\(hook: ::kernel::ffi::c_uint/(hook: HookTurn<'_>/
/ fn rt_return_address\(/ s/: \*mut ftrace_regs/: EntryRegisters<'_>/
/ fn (rt_return_value|rt_returned_to)\(/ s/: \*mut ftrace_regs/: ExitRegisters<'_>/
