// SPDX-License-Identifier: GPL-2.0

//! Parses the text in which the kernel prints an address inside a function.

use super::number;

/// Returns the first address of a function and the one after its last. `symbol` is the text
/// `NAME+0xOFFSET/0xSIZE` in which the kernel prints `address`; `None` if it has another form.
pub(crate) fn function_of_symbol(symbol: &str, address: u64) -> Option<(u64, u64)> {
    let symbol = symbol.split_once(' ').map_or(symbol, |(symbol, _)| symbol);
    let (_, place) = symbol.rsplit_once('+')?;
    let (offset, size) = place.split_once('/')?;
    let from = address.checked_sub(number::c_integer(offset.as_bytes(), false)?)?;
    Some((
        from,
        from.checked_add(number::c_integer(size.as_bytes(), false)?)?,
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn functions_of_symbols() {
        let at = |text| super::function_of_symbol(text, 0x1050);
        assert_eq!(at("schedule+0x50/0x100"), Some((0x1000, 0x1100)));
        assert_eq!(at("init_once+0x0/0x20 [ext4]"), Some((0x1050, 0x1070)));
        assert_eq!(at("0x1050"), None);
        assert_eq!(at("a+0x1051/0x2000"), None);
    }
}
