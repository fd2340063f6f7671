// SPDX-License-Identifier: GPL-2.0

//! Finds one tracer's sequence inside the other's.
//!
//! Two tracers cannot be switched on at the same instant. The reference is on
//! before and off after, so what the tree under test recorded must be one
//! unbroken stretch of what the reference recorded.

/// Where `inner` starts in `outer`, or the first place where the best try fails:
/// (start of the try, length of the common part).
pub fn find<T>(
    inner: &[T],
    outer: &[T],
    same: impl Fn(&T, &T) -> bool,
) -> Result<usize, (usize, usize)> {
    let mut best = (0, 0);
    for start in 0..=outer.len() {
        let common = inner
            .iter()
            .zip(&outer[start..])
            .take_while(|(inner, outer)| same(inner, outer))
            .count();
        if common == inner.len() {
            return Ok(start);
        }
        if common > best.1 {
            best = (start, common);
        }
    }
    Err(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_found_and_a_hole_is_not() {
        let outer = [1, 2, 3, 4, 5, 6];
        let find = |inner: &[i32]| find(inner, &outer, |a, b| a == b);
        assert_eq!(find(&[3, 4, 5]), Ok(2));
        assert_eq!(find(&[1, 2, 3, 4, 5, 6]), Ok(0));
        assert_eq!(find(&[]), Ok(0));
        assert_eq!(find(&[2, 3, 5]), Err((1, 2)));
        assert_eq!(find(&[5, 6, 7]), Err((4, 2)));
        assert_eq!(find(&[9]), Err((0, 0)));
    }
}
