// SPDX-License-Identifier: GPL-2.0

//! The bytes of a packet: a header, what the packet says of itself, and events. `stream` decides what
//! is in one; how the bytes lie is written a second time in [`super::tsdl`], for readers.

use std::io::{self, Write};

/// What each packet begins with.
const MAGIC: u32 = 0xc1fc_1fc1;
/// The only class of streams.
const STREAM_CLASS: u32 = 0;
/// The bytes before the events.
const HEAD_SIZE: usize = 52;

/// What a packet says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHead {
    pub cpu: u32,
    /// From when to when it is.
    pub begin: u64,
    pub end: u64,
    /// The events that the CPU lost up to its end, since the recording began.
    pub discarded: u64,
}

impl PacketHead {
    /// Returns the bytes before `size` bytes of events.
    fn bytes(&self, size: usize) -> Vec<u8> {
        let bits = 8 * (HEAD_SIZE + size) as u64;
        let mut bytes = Vec::with_capacity(HEAD_SIZE);
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(STREAM_CLASS.to_le_bytes());
        // Content and packet are of one size: nothing is padded.
        for word in [self.begin, self.end, bits, bits, self.discarded] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(self.cpu.to_le_bytes());
        bytes
    }

    /// Writes a packet with these events.
    pub fn write(&self, events: &[u8], out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.bytes(events.len()))?;
        out.write_all(events)
    }
}

/// Reads packets as a program of others would, by their bytes alone.
#[cfg(test)]
pub mod reader {
    use super::*;

    /// Returns the packets in a file, each with its events.
    pub fn packets(mut bytes: &[u8]) -> Vec<(PacketHead, Vec<u8>)> {
        let mut packets = Vec::new();
        while !bytes.is_empty() {
            let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4"));
            let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8"));
            assert_eq!((half(0), half(4)), (0xc1fc1fc1, 0));
            assert_eq!((word(24), word(24) % 8), (word(32), 0));
            let end = (word(24) / 8) as usize;
            let head = PacketHead {
                cpu: half(48),
                begin: word(8),
                end: word(16),
                discarded: word(40),
            };
            packets.push((head, bytes[52..end].to_vec()));
            bytes = &bytes[end..];
        }
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: PacketHead = PacketHead {
        cpu: 3,
        begin: 0x0102_0304_0506_0708,
        end: u64::MAX,
        discarded: 9,
    };

    #[test]
    fn a_packet_is_these_bytes() {
        let mut bytes = Vec::new();
        HEAD.write(b"ev", &mut bytes).expect("written");
        let expected: &[&[u8]] = &[
            &[0xc1, 0x1f, 0xfc, 0xc1],
            &[0, 0, 0, 0],
            &[8, 7, 6, 5, 4, 3, 2, 1],
            &[0xff; 8],
            &[0xb0, 1, 0, 0, 0, 0, 0, 0],
            &[0xb0, 1, 0, 0, 0, 0, 0, 0],
            &[9, 0, 0, 0, 0, 0, 0, 0],
            &[3, 0, 0, 0],
            b"ev",
        ];
        assert_eq!(bytes, expected.concat());
        assert_eq!(8 * bytes.len(), 0x1b0);
    }

    #[test]
    fn packets_follow_each_other() {
        let mut bytes = Vec::new();
        HEAD.write(b"", &mut bytes).expect("written");
        HEAD.write(&[7; 100_000], &mut bytes).expect("written");
        let packets = reader::packets(&bytes);
        assert_eq!(packets, [(HEAD, vec![]), (HEAD, vec![7; 100_000])]);
    }
}
