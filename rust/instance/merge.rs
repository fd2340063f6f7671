// SPDX-License-Identifier: GPL-2.0
//! Which CPU has the next event.
//!
//! Called by `trace` and `trace_pipe`, which show the events of several CPUs in the order of time. Pure.

/// The place of the smallest stamp among the next events of the CPUs, the first one of equals. A CPU
/// without a next event has no stamp.
///
/// The order is total and does not depend on earlier answers, so two readers of the same events see the
/// same order.
pub(crate) fn next(heads: impl Iterator<Item = Option<u64>>) -> Option<usize> {
    heads
        .enumerate()
        .filter_map(|(place, stamp)| Some((stamp?, place)))
        .min()
        .map(|(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        let rows: [(&[Option<u64>], Option<usize>); 6] = [
            (&[], None),
            (&[None, None], None),
            (&[None, Some(9)], Some(1)),
            (&[Some(5), Some(4), Some(6)], Some(1)),
            (&[Some(5), Some(4), None, Some(4)], Some(1)),
            (&[Some(u64::MAX), Some(0)], Some(1)),
        ];
        for (heads, expected) in rows {
            assert_eq!(next(heads.iter().copied()), expected, "{heads:?}");
        }
    }

    #[test]
    fn a_merge_is_a_stable_sort() {
        let streams: [&[u64]; 4] = [&[1, 4, 4, 9], &[], &[0, 4, 5, 5, 10], &[4]];
        let mut at = [0; 4];
        let mut merged = vec![];

        while let Some(cpu) = next((0..4).map(|cpu| streams[cpu].get(at[cpu]).copied())) {
            merged.push((streams[cpu][at[cpu]], cpu));
            at[cpu] += 1;
        }

        let mut sorted: Vec<(u64, usize)> = (0..4)
            .flat_map(|cpu| streams[cpu].iter().map(move |&stamp| (stamp, cpu)))
            .collect();
        sorted.sort_by_key(|&(stamp, _)| stamp);
        assert_eq!(merged, sorted);
    }
}
