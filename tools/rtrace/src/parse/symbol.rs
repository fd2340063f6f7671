// SPDX-License-Identifier: GPL-2.0

//! Symbols of the kernel as its files print them: `vfs_read+0x4/0x40 [module]`.

/// Returns the function of a symbol, without the offset, the size and the module.
pub fn function(symbol: &str) -> &str {
    symbol.split("+0x").next().unwrap_or(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_no_offset() {
        assert_eq!(function("vfs_read+0x4/0x40"), "vfs_read");
        assert_eq!(function("open_file+0x1c/0x90 [rtrace]"), "open_file");
        assert_eq!(function("entry"), "entry");
    }
}
