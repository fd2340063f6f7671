# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What counts as a complaint of the kernel, and which one is the emulator's fault.
# Sourced by scripts/vm and by scripts that have guests.

# How such a message begins, after the time stamp and the caller's mark.
splat_starts='WARNING: |BUG: |Oops: |UBSAN: |INFO: rcu_|INFO: task .* blocked for more|'
splat_starts+='rcu: INFO: .*detected .*stall|rcu: .*kthread.* starved|'
splat_starts+='watchdog: |general protection fault|invalid opcode|double fault|divide error|'
splat_starts+='stack segment|int3: |kernel BUG at |Kernel panic|refcount_t: |'
splat_starts+='(list|slab).* corruption|unchecked MSR access|INFO: trying to register non-static key|'
splat_starts+='BUG [^ ]+ \(.*\): |SLUB.* counted but |pagealloc: |'
splat_starts+='kmemleak: .*(new suspected|unreferenced object|detector disabled)|'
splat_starts+='ODEBUG: |INFO: lockdep is turned off|turning off the locking correctness|'
# The module's own, but for the rings that its KUnit tests break.
splat_starts+='rtrace: the ring of CPU .* is broken|'
# A KUnit test, which runs whenever a module is loaded.
splat_starts+=' *not ok [0-9]+ |'
splat_starts+='unregister_netdevice: waiting|rust_kernel: panicked|Bad rss|VFS: Busy inodes'

# What looks so and is none: settings of the lockup detector, the rings that KUnit tests break, and
# what the kernel says of an allocation of its own that a test made fail, and of calls that the
# fgraph user with index 0 did not see, of its own return_to_handler(), and of its destroy_hist_data()
# (tools/guest/src/kmsg.rs).
no_splats='watchdog: (Enabled|Delayed)|of instance .kunit-| at fprobe_(module_callback|return)[+]|'
no_splats+='stack going in the wrong direction[?] at return_to_handler[+]|'
no_splats+='KFENCE: use-after-free read in destroy_hist_data[+]'

# print_splats FILE: print every complaint in the kernel log FILE with what
# belongs to it; fail when there is one.
print_splats() {
	awk -v none="$no_splats" -v starts="^(\\[ *[0-9]+\\.[0-9]+\\](\\[[^]]*\\])? )?[-=]*\\[? ?($splat_starts)" '
		{ sub(/\r$/, "") }
		$0 ~ starts && $0 !~ none { found = 1; left = 60 }
		left > 0 { print; left-- }
		/---\[ end trace/ { left = 0 }
		END { exit found }
	' "$1"
}

# stale_translation FILE: did the guest die because the emulator ran an int3 that is
# not in memory? Its first complaint is then that exception, and the dump shows
# another byte where it was. Documentation/building.md says how that comes.
stale_translation() {
	{ print_splats "$1" || true; } | awk '
		NR == 1 && !/Oops: int3: / { exit }
		/ Code: / {
			sub(/ <.*/, "")
			found = $NF ~ /^[0-9a-f][0-9a-f]$/ && $NF != "cc"
			exit
		}
		END { exit !found }
	'
}

# fault_of_emulator STATUS CONSOLE: prints how a guest, whose console is in the file CONSOLE and
# with which vm ended with STATUS, died of the emulator. Fails if it did not.
fault_of_emulator() {
	if (($1 == 96)); then
		echo "dead guest: the emulator crashed"
	elif (($1 != 0)) && stale_translation "$2"; then
		echo "stale translation: the emulator ran bytes that were not in memory any more (Documentation/building.md)"
	else
		return 1
	fi
}
