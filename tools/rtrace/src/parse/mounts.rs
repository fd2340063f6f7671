// SPDX-License-Identifier: GPL-2.0

//! `/proc/self/mounts`: where a file system of a type is to be seen.

/// Returns the paths at which the topmost mount is of that type, in the order of the list.
pub fn of_type(mounts: &str, kind: &str) -> Vec<String> {
    let all: Vec<(String, &str)> = mounts.lines().filter_map(mount).collect();
    let mut found: Vec<String> = Vec::new();
    for (path, _) in all.iter().filter(|(_, is)| *is == kind) {
        let topmost = all.iter().rev().find(|(other, _)| other == path);
        if topmost.is_some_and(|(_, is)| *is == kind) && !found.contains(path) {
            found.push(path.clone());
        }
    }
    found
}

/// Returns path and type of a line.
fn mount(line: &str) -> Option<(String, &str)> {
    let mut words = line.split(' ');
    let path = words.nth(1)?;
    Some((plain(path), words.next()?))
}

/// Returns a path without the octal numbers that the kernel writes for blanks.
fn plain(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, more)) = rest.split_first() {
        let number = more
            .get(..3)
            .filter(|_| first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match number {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[3..];
            }
            None => {
                bytes.push(first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
sysfs /sys sysfs rw 0 0
tracefs /sys/kernel/tracing tracefs rw 0 0
rtracefs /sys/kernel/rtracing rtracefs rw 0 0
rtracefs /mnt/my\\040traces rtracefs rw 0 0
rtracefs /mnt/hidden rtracefs rw 0 0
tmpfs /mnt/hidden tmpfs rw 0 0
tracefs /sys/kernel/debug/tracing tracefs rw 0 0
rtracefs /sys/kernel/debug/tracing rtracefs rw 0 0
";

    #[test]
    fn mounts_are_found_with_blanks_and_not_under_others() {
        assert_eq!(
            of_type(MOUNTS, "rtracefs"),
            [
                "/sys/kernel/rtracing",
                "/mnt/my traces",
                "/sys/kernel/debug/tracing"
            ]
        );
        assert!(of_type("", "rtracefs").is_empty());
        assert!(of_type("nonsense\n", "rtracefs").is_empty());
    }
}
