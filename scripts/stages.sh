# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A list of checks, each with counts of its own, and their sum. Sourced by `test`
# and `test-long` behind lib.sh.

# shellcheck disable=SC2154 # lib.sh knows top
logs=$top/build/${0##*/}
mkdir -p "$logs"
rm -rf "$logs"/*.result "$logs"/*.begun
# The stages in the order of the summary, and the process of those that run beside.
stages=() beside=0

# stage NAME CMD...: run CMD with its output shown, and keep its counts: the last
# line that says `N passed, N failed`. A stage that ends without such a line did
# not run and counts as a failure.
stage() {
	local name=$1 rc=0 began=$SECONDS counts p f
	shift
	[[ " ${stages[*]} " == *" $name "* ]] || stages+=("$name")
	say "stage $name"
	"$@" 2>&1 | tee "$logs/$name.log" || rc=$?
	counts=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$logs/$name.log" | tail -n 1)
	read -r p f <<<"${counts:-0 1}"
	# A guest whose kernel complained fails even when its tests passed.
	if ((rc != 0 && f == 0)) || ((p + f == 0)); then
		f=$((f + 1))
	fi
	say "stage $name: $p passed, $f failed"
	printf '%d %d %d %d\n' "$p" "$f" "$rc" $((SECONDS - began)) >"$logs/$name.result"
}

# stages_beside FUNCTION NAME...: run FUNCTION, which has these stages, at the same time
# as what follows. Its output comes when all is done.
stages_beside() {
	local run=$1
	shift
	"$run" >"$logs/beside.log" &
	beside=$!
	stages+=("$@")
	trap 'end_with_children "$beside"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

# stages_of_either FUNCTION NAME...: both sides say this when they have done their own
# stages; who comes first runs FUNCTION, which has these.
stages_of_either() {
	local run=$1
	shift
	stages+=("$@")
	! mkdir "$logs/$1.begun" 2>/dev/null || "$run"
}

# end_with_children PID: also what the shell PID waits for.
end_with_children() {
	local child children=()
	read -ra children 2>/dev/null <"/proc/$1/task/$1/children" || true
	for child in "${children[@]}"; do
		end_with_children "$child"
	done
	kill "$1" 2>/dev/null || true
}

# all_stages_done: the sum; status 1 when anything failed.
all_stages_done() {
	local name p f rc seconds passed=0 failed=0
	if ((beside != 0)); then
		say "waiting for the stages that run beside"
		wait "$beside" || say "the stages beside ended with status $?"
		trap - EXIT
		cat "$logs/beside.log"
	fi
	for name in "${stages[@]}"; do
		# Who ended the shell that ran it was not the stage.
		read -r p f rc seconds <"$logs/$name.result" 2>/dev/null || p=0 f=1 rc=-1 seconds=0
		printf '%-13s %5d passed %5d failed  status %d  %4ds\n' "$name" "$p" "$f" "$rc" "$seconds"
		passed=$((passed + p))
		failed=$((failed + f))
	done
	say "all stages done"
	echo "$passed passed, $failed failed"
	((failed == 0))
}
