# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# What passed is remembered in the cache, with the checksum of each file of this tree that it
# read: while all are as they were it passes again without being run, for a day, for some
# tests make their inputs by chance. RTRACE_LONG=1, which test-long sets, has everything run.
# Sourced by `check` after lib.sh.
#
# A record is what sha256sum --check reads; its first line says what passed, and when.

# recall NAME KEY: prints what is remembered of NAME; status 1 when that is nothing, or not
# of these files. KEY changes with what is no file of this tree.
recall() {
	local record
	[[ ${RTRACE_LONG:-0} == 0 && -d $cache/passed ]] || return 1
	while read -r record; do
		if (cd "$top" && sha256sum --check --status "$record" 2>/dev/null); then
			sed -n '1s/^# //p' "$record"
			return 0
		fi
	done < <(find "$cache/passed" -name "$1-$2.*" -mtime -1)
	return 1
}

# remember NAME KEY BEGAN TEXT: TEXT of NAME, which read the files whose paths are on stdin,
# one a line, relative to the top; not if one has changed since the file BEGAN was made.
remember() {
	local record files=() file
	while read -r file; do
		[[ ! $top/$file -nt $3 ]] || return 0
		files+=("$file")
	done < <(sort -u)
	((${#files[@]} > 0)) || die "no files are known that $1 read"
	mkdir -p "$cache/passed"
	find "$cache/passed" -type f -mtime +0 -delete
	record=$(mktemp "$cache/passed/.new.XXXXXX")
	(cd "$top" && printf '# %s at %s, of the same files\n' "$4" "$(date '+%F %R')" && sha256sum "${files[@]}") >"$record"
	mv "$record" "$cache/passed/$1-$2.$(sha256sum <"$record" | cut -c1-12)"
}
