# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# A list of checks, each with counts of its own, that run side by side, and their sum.
# Sourced by `test`, `test-long` and `quick` after lib.sh.
#
# A script plans its stages in the order in which they shall begin and then calls
# run_stages. A stage is a command whose last line of the form `N passed, N failed`
# counts; it may also print
#
#	ok NAME (1.2s)	        a check and its time
#	not ok NAME: reason (1.2s)
#	unsteady NAME: reason	one that failed once and then passed (scripts/guest-suite)
#	stale translation: ...	the emulator's fault (Documentation/building.md)
#	dead guest: ...	        one that died before anything of rtrace was in it, or with the emulator
#
# build/stages/SCRIPT/NAME.log keeps what it printed, build/SCRIPT.json what came out.

# More unsteady tests than this in one run are a failure.
readonly unsteady_allowed=2

script=${0##*/}
# Not build/SCRIPT: build/test is the module for the test kernel, which a stage may unpack.
logs=$top/build/stages/$script
mkdir -p "$logs"
rm -rf "${logs:?}"/*

# All stages in order, and for each: its command, quoted; what it waits for.
stages=()
declare -A command_of=() waits_for=()
# The processes that run them.
lanes=()

# plan NAME CMD...: a stage.
plan() {
	local name=$1
	shift
	stages+=("$name")
	command_of[$name]=$(printf '%q ' "$@")
}

# plan_after WHAT NAME CMD...: a stage that begins when the stage or preparation WHAT
# is done.
plan_after() {
	local what=$1 name=$2
	shift
	plan "$@"
	waits_for[$name]=$what
}

# prepare NAME CMD...: the same as a stage, but it tests nothing and has no counts. The
# stages that wait for it fail when it does.
prepare() {
	plan "$@"
	: >"$logs/$1.prepares"
}

# run_stage NAME: its command, with what it prints in the log and, in one piece when it
# ended, on stdout.
run_stage() {
	local name=$1 rc=0 began=$SECONDS p f log=$logs/$1.log
	say "stage $name ..."
	if has_what_it_needs "$name"; then
		# In the background, so that errexit holds inside the command when it is a function;
		# in a shell of its own, for eval ends one with 1, whatever the command's status.
		(eval "${command_of[$name]}") >"$log" 2>&1 9>&- &
		wait $! || rc=$?
	else
		echo "not run, for ${waits_for[$name]} failed" >"$log"
		rc=1
	fi
	if [[ -f $logs/$name.prepares ]]; then
		p=0 f=$((rc != 0))
	else
		# One that ends without such a line did not run, and counts as a failure as one does
		# that ran nothing. A guest whose kernel complained fails even when its tests passed.
		read -r p f < <(counts_in "$log")
		if ((f == 0)) && ((rc != 0 || p == 0)); then
			f=1
		fi
	fi
	printf '%d %d %d %d\n' "$p" "$f" "$rc" $((SECONDS - began)) >"$logs/$name.result"
	flock 9
	say "stage $name: what it printed (also in build/stages/$script/$name.log)"
	cat "$log"
	say "stage $name: $p passed, $f failed, $((SECONDS - began)) s"
	flock -u 9
}

# may_begin NAME: whether what it waits for is done.
may_begin() {
	local what=${waits_for[$1]:-}
	[[ -z $what || -f $logs/$what.result ]]
}

# has_what_it_needs NAME: whether the preparation that it waited for did not fail.
has_what_it_needs() {
	local what=${waits_for[$1]:-} rc
	[[ -n $what && -f $logs/$what.prepares ]] || return 0
	read -r _ _ rc _ <"$logs/$what.result"
	((rc == 0))
}

# run_lane: runs stages until all have begun.
run_lane() {
	local name more=1
	while ((more)); do
		more=0
		for name in "${stages[@]}"; do
			[[ ! -d $logs/$name.begun ]] || continue
			more=1
			may_begin "$name" || continue
			mkdir "$logs/$name.begun" 2>/dev/null || continue
			run_stage "$name"
			# From the first again: one that had to wait may begin now.
			continue 2
		done
		((!more)) || sleep 0.5
	done
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

# shellcheck disable=SC2317 # called by the trap
end_lanes() {
	local lane
	for lane in "${lanes[@]}"; do
		end_with_children "$lane"
	done
}

# run_stages LANES: run all that is planned, so many at a time, and print the sum; status 1
# when anything failed.
run_stages() {
	local i lane
	exec 9>"$logs/.output"
	trap end_lanes EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	for ((i = 0; i < $1; i++)); do
		run_lane &
		lanes+=($!)
	done
	for lane in "${lanes[@]}"; do
		wait "$lane" || say "a lane ended with status $?"
	done
	trap - EXIT
	sum_up
}

# slowest NAME: the ten checks of a stage that took longest.
slowest() {
	sed -nE 's/^(not )?ok +([^ :]+).*\(([0-9]+(\.[0-9]+)?)s\)$/\3 \2/p' "$logs/$1.log" |
		sort -rn | awk 'NR <= 10'
}

# unsteady: those of all stages, `STAGE NAME: reason` each.
unsteady() {
	local name
	for name in "${stages[@]}"; do
		[[ ! -f $logs/$name.log ]] || sed -nE "s/^unsteady /$name /p" "$logs/$name.log"
	done
}

# lines_of PATTERN: how many lines of all stages' logs match it.
lines_of() {
	{ grep -hac "$1" "$logs"/*.log || true; } | awk '{ n += $1 } END { print n + 0 }'
}

# reasons: for each stage that failed the lines that say why, three at most and short ones: of what
# a run printed its last lines are kept longest.
reasons() {
	local name f
	for name in "${stages[@]}"; do
		read -r _ f _ _ 2>/dev/null <"$logs/$name.result" || f=1
		((f == 0)) || { grep -aE '^(not ok|vm:) ' "$logs/$name.log" 2>/dev/null ||
			tail -n 1 "$logs/$name.log" 2>/dev/null || echo 'no log'; } |
			awk -v name="$name" 'NR <= 3 { print "failed: " name ": " substr($0, 1, 240) }'
	done
}

# sum_up: the tables, build/SCRIPT.json, and the last line.
sum_up() {
	local name p f rc seconds passed=0 failed=0 stale dead list rows=()
	for name in "${stages[@]}"; do
		list=$(slowest "$name" 2>/dev/null | awk '{ printf "%s%s %ss", (NR > 1 ? ", " : ""), $2, $1 }')
		[[ -z $list ]] || printf '%s: the slowest: %s\n' "$name" "$list"
	done
	for name in "${stages[@]}"; do
		# Who ended the lane that ran it was not the stage.
		read -r p f rc seconds 2>/dev/null <"$logs/$name.result" || p=0 f=1 rc=-1 seconds=0
		printf '%-18s %5d passed %5d failed  status %d  %4ds\n' "$name" "$p" "$f" "$rc" "$seconds"
		rows+=("$name $p $f $rc $seconds")
		passed=$((passed + p))
		failed=$((failed + f))
	done
	unsteady >"$logs/unsteady"
	if [[ -s $logs/unsteady ]]; then
		echo "unsteady, each failed once and passed twice when run again by itself:"
		sed 's/^/  /' "$logs/unsteady"
	fi
	if (($(wc -l <"$logs/unsteady") > unsteady_allowed)); then
		echo "more than $unsteady_allowed unsteady tests are a failure"
		failed=$((failed + 1))
	fi
	stale=$(lines_of '^stale translation: ')
	((stale == 0)) || echo "guests that died of a stale translation: $stale"
	dead=$(lines_of '^dead guest: ')
	((dead == 0)) || echo "guests that died with the emulator, or before the module: $dead"
	"$scripts/test-record" "$script" "$passed" "$failed" "$SECONDS" "$stale" "$logs/unsteady" "${rows[@]}"
	reasons
	say "all stages done in $((SECONDS / 60)) min $((SECONDS % 60)) s"
	echo "$(wc -l <"$logs/unsteady") unsteady"
	echo "$passed passed, $failed failed"
	((failed == 0))
}
