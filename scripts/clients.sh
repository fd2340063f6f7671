# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# Debian's programs, unmodified, run on rtracefs in a guest with the stock kernel.
# Sourced by scripts/*-clients after lib.sh.

# In the root: unpack the packages that are there, have $1 put programs below ./tree, and add all that these need.
# shellcheck disable=SC2016 # expanded by the inner shell
inside='
set -euo pipefail
for deb in *.deb; do
	dpkg-deb -x "$deb" unpacked
	dpkg-deb -W "$deb"
done | tr "\t" " " >versions
export LD_LIBRARY_PATH=$PWD/unpacked/usr/lib/x86_64-linux-gnu
mkdir -p tree/bin tree/usr/bin tree/usr/local/bin tree/usr/lib/x86_64-linux-gnu tree/var/tmp
cp /bin/bash tree/bin/
eval "$1"
find tree -type f | while read -r program; do
	ldd "$program" 2>/dev/null | grep -o "/[^ ]*" || true
done | sort -u | while read -r library; do
	case $library in
	*/ld-linux-*) mkdir -p tree/lib64 && cp -L "$library" tree/lib64/ ;;
	*) cp -L "$library" tree/usr/lib/x86_64-linux-gnu/ ;;
	esac
done
tar -C tree -cf clients.tar .
rm -rf unpacked tree partial ./*.deb
'

# fetch_clients COMMANDS PACKAGE...
fetch_clients() {
	local commands=$1
	shift
	mkdir partial &&
		"$scripts/in-root" apt-get -o APT::Sandbox::User=root -o Debug::NoLocking=1 \
			-o Dir::Cache::archives="$PWD/" --no-install-recommends -qq -y --download-only \
			install "$@" &&
		"$scripts/in-root" bash -c "$inside" bash "$commands" &&
		printf '%s\n' "${@%%/*}" >asked
}

# client_archive NAME COMMANDS PACKAGE...: the folder with an archive of programs, clients.tar, made on first use. COMMANDS
# puts them from ./unpacked, which has the packages, and from the root below ./tree. `asked` has the packages, without
# those that came because these need them, and `versions` which all are.
client_archive() {
	local folder
	folder=$cache/$1-$(hash_of "$("$scripts/root")" "$inside" "${*:2}")
	kept "$folder" "fetching ${*:3}" fetch_clients "${@:2}" || return
	printf '%s\n' "$folder"
}

# version_of_root SUITE PACKAGE: says, for the tables of scripts/clients, which version of it is in the guest from the root.
version_of_root() {
	# shellcheck disable=SC2016 # dpkg-query expands these
	echo "version $1%$("$scripts/in-root" dpkg-query -W -f '${Package} ${Version}' "$2")"
}

# What runs in the guest. /root/rows has, separated by `%`, a name, what the output has to have, if anything, and a
# command, as a shell reads it; /root/calls is what happens meanwhile, and may set another `limit` of seconds for each;
# /root/left says what is left at the end. How the name of a row begins says more:
#
#	beside-   it runs on tracefs, too: it has to succeed there, and the output has to have the same, or if that is
#	          `=`, to be the same
#	fails-    on both it must fail, with one status; the output as with `beside-`
#	beyond-   on tracefs it must fail
#	plain-    it runs as it is, without rtrace-run
#	refused-  rtrace-run must refuse it
#
# For each row it prints `ran SUITE%TRACEFS%RTRACE%OK%PATTERN%COMMAND`, for the tables of scripts/clients: the exit
# statuses on both, `-` where it did not run, and whether all was as it has to be.
# shellcheck disable=SC2016,SC2034 # expanded in the guest; used by the scripts that source this file
runner='
[ ! -e /root/clients.tar ] || tar -C / -xf /root/clients.tar
export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu TERM=dumb
cd /tmp
# What does not end fills no memory.
ulimit -f 400000
passed=0 failed=0
said() {
	if [ "$3" = 0 ]; then
		echo "ok $1.$2"
		passed=$((passed + 1))
	else
		echo "not ok $1.$2: $4"
		sed "s/^/# /;30q" /tmp/out
		failed=$((failed + 1))
	fi
}
limit=300
. /root/calls
# has FILE: whether the output is as it has to be.
has() {
	[ -z "$pattern" ] || [ "$pattern" = = ] || grep -qE "$pattern" "$1"
}
# run_on TREE OUT COMMAND...: runs it there, or with rtrace-run alone, which has to refuse it.
run_on() {
	tree=$1 out=$2
	shift 2
	case $tree in
	tracefs) set -- timeout $limit "$@" ;;
	rtrace) set -- /root/rtrace-run timeout $limit "$@" ;;
	refused) set -- /root/rtrace-run "$@" ;;
	esac
	"$@" >$out 2>&1 </dev/null
}
while IFS=% read -r name pattern command; do
	# Patterns in the words are the programs own.
	set -f
	eval "set -- $command"
	set +f
	bad=0 wanted=0 tracefs=- on=rtrace kind=
	case $name in beside-* | beyond-* | fails-* | plain-* | refused-*) kind=${name%%-*} ;; esac
	case $kind in
	beside | fails | beyond)
		run_on tracefs /tmp/beside "$@"
		tracefs=$?
		;;
	plain) on=tracefs ;;
	refused) on=refused wanted=125 ;;
	esac
	case $kind in
	beside) [ $tracefs = 0 ] && has /tmp/beside || bad=1 ;;
	fails)
		[ $tracefs != 0 ] && has /tmp/beside || bad=1
		wanted=$tracefs
		;;
	beyond) [ $tracefs != 0 ] || bad=1 ;;
	esac
	run_on $on /tmp/out "$@"
	rc=$?
	[ $rc = $wanted ] || bad=1
	has /tmp/out || bad=1
	if [ "$pattern" = = ] && ! cmp -s /tmp/out /tmp/beside; then
		bad=1
		diff /tmp/beside /tmp/out >/tmp/other
		mv /tmp/other /tmp/out
	fi
	said "$suite" "${name#"$kind${kind:+-}"}" $bad "status $rc, not $wanted, or not \"$pattern\"; on tracefs $tracefs"
	[ $bad = 0 ] || [ $tracefs = - ] || sed "s/^/# on tracefs: /;10q" /tmp/beside
	echo "ran $suite%$tracefs%$rc%$bad%$pattern%$command"
done </root/rows
[ -z "$calls" ] || kill $calls
cd /sys/kernel/rtracing
left=$(ls instances)$(grep -v nop current_tracer)$(. /root/left)
bad=0
[ -z "$left" ] || bad=1
said "$suite" leaves_nothing $bad "$left"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
'

# run_clients NAME ARCHIVE FOLDER [OPTION...]: runs the programs of client_archive, or if that is empty those that the guest
# has, as the files `rows`, `calls` and `left` of the folder say, with all that is in the folder, in a guest with these
# options of vm. Last line: `N passed, N failed`.
run_clients() {
	local suite=$1 archive=$2 work=$3 file copies=()
	shift 3
	printf 'suite=%s\n%s' "$suite" "$runner" >"$work/clients.sh"
	if [[ -n $archive ]]; then
		ln "$archive/clients.tar" "$work/" 2>/dev/null || cp "$archive/clients.tar" "$work/"
		awk -v suite="$suite" 'NR == FNR { asked[$1]; next } $1 in asked { print "version " suite "%" $0 }' \
			"$archive"/{asked,versions}
	fi
	for file in "$work"/*; do
		copies+=(--copy "$file")
	done
	"$scripts/module" stock >/dev/null
	"$scripts/vm" --kernel stock --anew --timeout 1200 --copy "$top/tools/rtrace-run" "${copies[@]}" "$@" -- \
		'sh /root/clients.sh'
}
