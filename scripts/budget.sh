# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What checks with a budget share: a list of counts in the tree that changes only by
# reviewed lines. Sourced by scripts/check-unsafe and scripts/check-words.

# hold_to LIST COUNT [--list]: fails, and says what differs, when the function COUNT
# prints other lines than LIST has; with --list prints them.
hold_to() {
	local differences
	if [[ ${3-} == --list ]]; then
		"$2"
		return
	fi
	differences=$(diff <(grep -v '^#' "$1" | sort) <("$2" | sort)) || {
		sed -n 's/^</budget: /p; s/^>/found:  /p' <<<"$differences"
		return 1
	}
}
