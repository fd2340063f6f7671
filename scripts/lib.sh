# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Where things are, and the few functions that every script here needs.
# Sourced by the scripts of this folder, never run.

# The repository that these scripts belong to.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
scripts=$top/scripts
# shellcheck disable=SC2034 # used by the scripts that source this file
readonly top scripts

# Everything that takes long to make and does not depend on this source.
cache=${RTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rtrace}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd -P)
readonly cache

# The clock of the progress lines starts with the outermost script.
: "${RTRACE_T0:=$(date +%s)}"
export RTRACE_T0

# say TEXT...: one progress line with the seconds since the start.
say() {
	printf '[%4ds] %s\n' $(($(date +%s) - RTRACE_T0)) "$*" >&2
}

# die TEXT...: the reason on stderr, then exit status 2.
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 2
}

install_package() {
	apt-get -qq update &&
		DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y \
			--no-install-recommends "$1"
}

# need TOOL...: what the host lacks is installed where that is possible (root on
# a Debian); else stop with one clear line.
need() {
	local tool package
	for tool in "$@"; do
		! command -v "$tool" >/dev/null || continue
		package=$tool
		case $tool in
		flock | unshare) package=util-linux ;;
		newuidmap) package=uidmap ;;
		esac
		if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
			die "'$tool' is missing on this machine (Debian: package $package)"
		fi
		# One at a time, for apt does not wait for itself; the second finds it there.
		(
			locked apt
			command -v "$tool" >/dev/null || {
				say "installing $package"
				install_package "$package" >&2
			}
		) || die "'$tool' is missing and cannot be installed"
		hash -r
	done
}

# debian_mirror: where a Debian is fetched from: $RTRACE_MIRROR, else what a Debian host
# uses, else nothing, for the tool's default.
debian_mirror() {
	if [[ -n ${RTRACE_MIRROR:-} ]]; then
		printf '%s\n' "$RTRACE_MIRROR"
	elif command -v apt-get >/dev/null; then
		# shellcheck disable=SC2016 # apt expands these
		apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' 2>/dev/null |
			awk '$2 == "Debian" && !seen++ { print $1 }'
	fi
}

# What gives a command mounts of its own, and root's rights over the cache's
# folders to a user without any: their own id becomes 0, the ids that
# /etc/subuid lends them become the others.
namespace=(unshare --mount --propagation private)
((EUID == 0)) || namespace+=(--user --map-root-user --map-auto)
# shellcheck disable=SC2034 # used by the scripts that source this file
readonly namespace

# in_root_at ROOT CMD...: run CMD in that Debian instead of the usual root; see in-root.
in_root_at() {
	RTRACE_NS=$1 "${namespace[@]}" "$scripts/in-root" "${@:2}"
}

# tree_turn AFTER OF: a number below OF, by the hash of the tree that HEAD names: two runs of a commit do the same, and
# the next commits have the other turns. Those with other AFTERs, the product of the OFs that are in use below it, do not
# depend on it.
tree_turn() {
	local tree
	tree=$(git -C "$top" rev-parse 'HEAD^{tree}' 2>/dev/null || echo 0)
	echo $((0x${tree:0:8} / $1 % $2))
}

# cargo_folder KIND PACKAGE: where cargo builds tools/PACKAGE for a KIND of programs.
cargo_folder() {
	printf '%s\n' "$top/build/$1/$2"
}

# account LEDGER VALUE...: adds a line to a ledger: the values, the date, the commit.
account() {
	printf '%s %s %s\n' "${*:2}" "$(date -u +%FT%TZ)" \
		"$(git -C "$top" rev-parse --short HEAD 2>/dev/null || echo -)" >>"$1"
}

# hash_of FILE|TEXT...: 12 hex digits that change when an input does. A file's
# comments are not an input.
hash_of() {
	local input
	for input in "$@"; do
		if [[ -f $input ]]; then
			grep -vE '^[[:space:]]*(#|$)' "$input"
		else
			printf '%s\n' "$input"
		fi
	done | sha256sum | cut -c1-12
}

# sums_of PATH...: the checksum of each file there, always in the same order.
sums_of() {
	# find(1) would take the current folder.
	(($# > 0)) || die "sums_of without a path"
	find "$@" -type f -print0 | sort -z | xargs -0 sha256sum
}

# key_of_build SCRIPT PATH...: 64 hex digits that change with any letter of what goes into a
# program that SCRIPT builds of these sources.
key_of_build() {
	{
		"$scripts/root"
		cat "$scripts/$1" "$scripts/in-root"
		sums_of "${@:2}" | sed "s,$top/,,"
	} | sha256sum | cut -c1-64
}

# own_files PROGRAM: the files that went into a program of cargo's, relative to the top, from
# the package's folder.
own_files() {
	local file
	sed -n 's/^[^#:]*: //p' "$1.d" | tr ' ' '\n' | while IFS= read -r file; do
		[[ $file == /* || -e $file ]] || continue
		realpath --relative-to="$top" "$file"
	done | sort -u
}

# strangers PROGRAM PATTERN: those that do not match, which is what its key has.
strangers() {
	own_files "$1" | grep -vE "$2" || true
}

# keep_build MADE KEPT: a file or folder in the cache, whole or not at all. Those of the last
# changes are enough.
keep_build() {
	find "${2%/*}" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} +
	cp -r "$1" "$2.$$"
	# Another clone may have been faster.
	mv -T "$2.$$" "$2" 2>/dev/null || rm -rf "$2.$$"
}

# count_of_tests LOG: how many tests passed and failed by what cargo's test programs print.
count_of_tests() {
	awk '/^test result:/ { p += $4; f += $6 } END { print p + 0, f + 0 }' "$1"
}

# locked NAME: hold the cache's lock NAME until this process ends, so that two
# runs at once make a thing only once. Asked again, it has it.
declare -A held_locks=()
locked() {
	local fd
	[[ -z ${held_locks[$1]:-} ]] || return 0
	exec {fd}>"$cache/.lock-$1"
	if ! flock -n "$fd"; then
		say "waiting for another run that makes $1"
		flock "$fd"
	fi
	held_locks[$1]=$fd
}

# fill FOLDER CMD...: run CMD in that folder.
fill() {
	cd "$1" && "${@:2}"
}

# kept FOLDER TITLE CMD...: a folder in the cache, whose name has the key of what is in it. Unless it is there, CMD fills
# it, run in a folder that is empty and gets the name when CMD ends with 0. What CMD prints is in FOLDER.log. Callers of
# this may be where errexit does not hold, so that CMD, where it is a function, has to see to its status itself.
kept() {
	local folder=$1 title=$2
	shift 2
	[[ ! -d $folder ]] || return 0
	locked "${folder##*/}"
	# Another run has made it, perhaps.
	[[ ! -d $folder ]] || return 0
	"${namespace[@]}" rm -rf --one-file-system "$folder.tmp"
	mkdir "$folder.tmp"
	with_log "$folder.log" "$title" fill "$folder.tmp" "$@" || return
	mv "$folder.tmp" "$folder"
}

# with_log FILE TITLE CMD...: run CMD with its output in FILE, a progress line
# every 15 seconds, and the tail of FILE on failure.
with_log() {
	local log=$1 title=$2 began next pid rc=0
	shift 2
	began=$(date +%s)
	next=$((SECONDS + 15))
	say "$title ..."
	# In the background, so that errexit holds inside CMD when it is a function.
	"$@" >"$log" 2>&1 &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		if ((SECONDS >= next)); then
			next=$((SECONDS + 15))
			say "  $title: $(($(date +%s) - began))s, $(wc -l <"$log") lines of output"
		fi
	done
	wait "$pid" || rc=$?
	if ((rc != 0)); then
		tail -n 40 "$log" >&2
		say "$title: failed with status $rc after $(($(date +%s) - began))s, log: $log"
		return "$rc"
	fi
	say "$title: done in $(($(date +%s) - began))s"
}

# noted_files DIR: the files of this tree that Kbuild notes for what it made in DIR, one path a line,
# relative to the top: the lines after `deps_` and `source_`.
noted_files() {
	find "$1" -name '.*.cmd' -print0 |
		xargs -0r sed -nE "s,^(  |source_.* := )$top/(\./)*([^ ]+).*,\3,p" | sort -u | { grep -v '^build/' || true; }
}

# counts_in LOG: the numbers of its last line `N passed, N failed`; zeros without one.
counts_in() {
	awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed = $1; failed = $3 } END { print passed + 0, failed + 0 }' "$1"
}
