// SPDX-License-Identifier: GPL-2.0

//! Finds one tracer's sequence inside the other's.
//!
//! Two tracers cannot be switched on at the same instant. The reference is on
//! before and off after, so what the tree under test recorded must be one
//! unbroken stretch of what the reference recorded.

/// Every place of `outer` where `inner` starts (a repetitive sequence has several), or
/// how far the best try got: (start of the try, length of the common part).
pub fn find<T>(
    inner: &[T],
    outer: &[T],
    same: impl Fn(&T, &T) -> bool,
) -> Result<Vec<usize>, (usize, usize)> {
    let mut best = (0, 0);
    let mut starts = Vec::new();
    for start in 0..=outer.len() {
        let common = inner
            .iter()
            .zip(&outer[start..])
            .take_while(|(inner, outer)| same(inner, outer))
            .count();
        if common == inner.len() {
            starts.push(start);
        }
        if common > best.1 {
            best = (start, common);
        }
    }
    if starts.is_empty() {
        Err(best)
    } else {
        Ok(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_found_and_a_hole_is_not() {
        let outer = [1, 2, 3, 4, 5, 6];
        let find = |inner: &[i32]| find(inner, &outer, |a, b| a == b);
        assert_eq!(find(&[3, 4, 5]), Ok(vec![2]));
        assert_eq!(find(&[1, 2, 3, 4, 5, 6]), Ok(vec![0]));
        assert_eq!(find(&[]), Ok((0..=6).collect()));
        assert_eq!(find(&[2, 3, 5]), Err((1, 2)));
        assert_eq!(find(&[5, 6, 7]), Err((4, 2)));
        assert_eq!(find(&[9]), Err((0, 0)));
    }

    #[test]
    fn a_repetition_is_found_more_than_once() {
        assert_eq!(find(&[1, 2], &[1, 2, 1, 2], |a, b| a == b), Ok(vec![0, 2]));
    }
}
