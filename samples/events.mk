# SPDX-License-Identifier: GPL-2.0
# Included by the samples' Kbuild: events.o expands the tracepoints' header with
# rtrace's stages instead of the kernel's, between the two bounds of its tables.

rtrace-shim := $(src)/../../rust/shim
# <rtrace.h>, for what has an instance of its own.
rtrace-include := $(src)/../../rust/exports/include
sample-events := first.o events.o last.o

# TRACE_INCLUDE_PATH of the samples' headers is their own folder.
ccflags-y += -I$(src) -I$(rtrace-shim) -I$(rtrace-include)
$(obj)/events.o: NOSTDINC_FLAGS += -I$(rtrace-shim)/events/include
