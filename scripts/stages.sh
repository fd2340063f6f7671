# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A list of checks, each with counts of its own, and their sum. Sourced by `test`
# and `test-long` behind lib.sh.

passed=0 failed=0
# shellcheck disable=SC2154 # lib.sh knows top
logs=$top/build/${0##*/}
mkdir -p "$logs"
summary=()

# stage NAME CMD...: run CMD with its output shown, and add its counts: the last
# line that says `N passed, N failed`. A stage that ends without such a line did
# not run and counts as a failure.
stage() {
	local name=$1 rc=0 began=$SECONDS counts p f
	shift
	say "stage $name"
	"$@" 2>&1 | tee "$logs/$name.log" || rc=$?
	counts=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$logs/$name.log" | tail -n 1)
	read -r p f <<<"${counts:-0 1}"
	# A guest whose kernel complained fails even when its tests passed.
	if ((rc != 0 && f == 0)) || ((p + f == 0)); then
		f=$((f + 1))
	fi
	passed=$((passed + p))
	failed=$((failed + f))
	summary+=("$(printf '%-13s %5d passed %5d failed  status %d  %4ds' \
		"$name" "$p" "$f" "$rc" $((SECONDS - began)))")
}

# all_stages_done: the sum; status 1 when anything failed.
all_stages_done() {
	printf '%s\n' "${summary[@]}"
	say "all stages done"
	echo "$passed passed, $failed failed"
	((failed == 0))
}
