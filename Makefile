# SPDX-License-Identifier: GPL-2.0
#
# What there is to do with this tree; `make help` lists it. The module itself is
# built by the kernel's build system, which reads Kbuild.

# The running kernel's build folder, unless KDIR says another.
KDIR ?= $(wildcard /lib/modules/$(shell uname -r)/build)
MO ?= $(CURDIR)/build/module
export SECS EVENTS

# The kernels, of which scripts/kdir tells.
kernels := stock test debug

.PHONY: all modules modules_install command clean help $(kernels:%=module-%) \
	env run shell deb docs clients format check kernels quick mutants kunit samples sanitizers \
	suspend bench bench-native bench-peers breakdown guest test test-long

all: modules

modules: | kdir-is-usable
	@mkdir -p $(MO)
	$(MAKE) -C $(KDIR) M=$(CURDIR) MO=$(MO) modules

modules_install: | kdir-is-usable
	$(MAKE) -C $(KDIR) M=$(CURDIR) MO=$(MO) modules_install

.PHONY: kdir-is-usable
kdir-is-usable:
	@test -n "$(KDIR)" || { \
		echo "No build folder of the running kernel: give KDIR=/path, or try 'make module-stock'." >&2; exit 2; }
	@test -e "$(KDIR)/rust/libkernel.rmeta" || { \
		echo "$(KDIR) has no Rust metadata (rust/libkernel.rmeta): see Documentation/building.md." >&2; exit 2; }

$(kernels:%=module-%): module-%:
	@scripts/module $*

env:
	@for kernel in $(kernels); do scripts/kdir $$kernel || exit; done
	@scripts/guest-modules

run:
	@scripts/run

shell:
	@scripts/module stock >/dev/null
	@scripts/vm

deb docs clients format check kernels quick mutants kunit sanitizers suspend bench bench-native breakdown test test-long:
	@scripts/$@

bench-peers:
	@scripts/bench peers

samples:
	@scripts/samples stock

command:
	@scripts/rtrace-command

guest:
	@rc=0; for kernel in $(kernels); do scripts/guest-suite $$kernel || rc=1; done; exit $$rc

clean:
	rm -rf build

help:
	@echo 'On your own kernel:'
	@echo '  modules          build the module for KDIR (default: the running kernel)'
	@echo '  modules_install  install it there'
	@echo 'In a Debian 13 root and QEMU, all made on first use in ~/.cache/rtrace:'
	@echo '  run              boot the stock kernel and watch it  [SECS=10 EVENTS="sched irq"]'
	@echo '  shell            boot the stock kernel with a shell'
	@echo '  deb              Debian packages in build/deb/, of the module (DKMS) and the tools'
	@echo '  docs             the pages, the manual pages and rustdoc as HTML in build/docs/'
	@echo '  clients          programs of others on rtracefs, for the tables of Documentation/clients.md'
	@echo '  test             everything below; the last line is N passed, N failed'
	@echo '  quick            of all below what the change since HEAD can break, before a commit'
	@echo '  test-long        what takes hours instead of minutes'
	@echo '  check            formatting, lints, rules, host tests of the core'
	@echo '  mutants          seeded bugs of the core, each of which a host test must find'
	@echo '  kunit            the KUnit tests in the test kernel (scripts/kunit debug: in that one)'
	@echo '  samples          the sample modules in the stock kernel'
	@echo '  sanitizers       mistakes on purpose, which the kernels with checks must report'
	@echo '  suspend          the clock before and after a suspend to RAM'
	@echo '  guest            the guest suite on all kernels'
	@echo '  kernels          every Debian kernel with Rust: build, boot, trace, a short guest suite'
	@echo '  bench            what events cost beside ftrace, in instructions'
	@echo '  bench-native     the same in nanoseconds, on this CPU; makes a kernel of its own'
	@echo '  bench-peers      what the same event costs in perf and BPF, in instructions'
	@echo '  breakdown        where the instructions of one event are, by function'
	@echo '  format           rustfmt, by the kernel'\''s rules'
	@echo '  command          build/command/rtrace, its manual pages and completions'
	@echo '  module-KERNEL    build/KERNEL/rtrace.ko; KERNEL is stock, test or debug'
	@echo '  env              only prepare the root and the kernels'
	@echo '  clean            remove build/ (the cache stays)'
