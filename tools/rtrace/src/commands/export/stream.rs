// SPDX-License-Identifier: GPL-2.0

//! The file of a CPU: its events in packets, and its losses between them.
//!
//! A packet has the number of events that were lost up to its end. A reader takes the difference to
//! the packet before as a loss in the time from the end of that one to the end of this one. So a loss
//! is a packet of its own, without events: it begins where the last event before the loss is, and
//! ends at the first event after it. Of the first packet of a file a reader cannot tell what the
//! number counts from, and drops it: before a loss that comes first there is a packet that lost none.

use super::packet::PacketHead;
use crate::fault::of_file;
use anyhow::{bail, Context, Result};
use std::io::Write;
use std::path::PathBuf;

/// Where a packet ends, unless a single event is larger.
const FULL: usize = 1 << 16;

/// From the oldest event of a recording to its newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    pub oldest: u64,
    pub newest: u64,
}

impl TimeSpan {
    /// Returns the span that has `stamp` as well.
    pub fn with(span: Option<Self>, stamp: u64) -> Self {
        let Self { oldest, newest } = span.unwrap_or(Self {
            oldest: stamp,
            newest: stamp,
        });
        Self {
            oldest: oldest.min(stamp),
            newest: newest.max(stamp),
        }
    }
}

/// The events of a CPU on their way into its file.
pub struct Stream<W: Write> {
    cpu: u32,
    path: PathBuf,
    out: W,
    /// The events of the packet that is being filled, and the stamp of the first.
    events: Vec<u8>,
    begin: u64,
    /// The last stamp, of an event or of the end of a loss.
    last: Option<u64>,
    /// The losses that packets tell of, and those that none does yet.
    discarded: u64,
    pending: u64,
    has_packet: bool,
}

impl<W: Write> Stream<W> {
    /// Returns one without events; `path` is what errors call it.
    pub fn new(cpu: u32, path: PathBuf, out: W) -> Self {
        Self {
            cpu,
            path,
            out,
            events: Vec::new(),
            begin: 0,
            last: None,
            discarded: 0,
            pending: 0,
            has_packet: false,
        }
    }

    /// Returns how many events were lost.
    pub fn lost(&self) -> u64 {
        self.discarded.saturating_add(self.pending)
    }

    /// Adds an event; `span` has its stamp, too.
    ///
    /// # Errors
    ///
    /// One that is older than what the stream has already; readers refuse such a trace.
    pub fn add(&mut self, stamp: u64, event: &[u8], span: TimeSpan) -> Result<()> {
        if let Some(last) = self.last.filter(|last| *last > stamp) {
            bail!(
                "the events of CPU {} are not in the order of time: {stamp} comes after {last}",
                self.cpu
            );
        }
        if self.pending > 0 {
            self.write_loss(span.oldest, stamp)?;
        } else if self.events.len() + event.len() > FULL {
            self.write_events()?;
        }
        if self.events.is_empty() {
            self.begin = stamp;
        }
        self.events.extend_from_slice(event);
        self.last = Some(stamp);
        Ok(())
    }

    /// Adds a loss after the last event.
    ///
    /// # Errors
    ///
    /// More losses than a packet can count.
    pub fn lose(&mut self, count: u64) -> Result<()> {
        self.write_events()?;
        let all = self.lost().checked_add(count);
        // Readers take the largest number for none at all.
        all.filter(|all| *all < u64::MAX)
            .with_context(|| format!("CPU {} lost more events than can be counted", self.cpu))?;
        self.pending += count;
        Ok(())
    }

    /// Writes what is left. A loss after the last event ends when the recording does.
    pub fn finish(&mut self, span: TimeSpan) -> Result<()> {
        self.write_events()?;
        if self.pending > 0 {
            let end = self.last.map_or(span.newest, |last| last.max(span.newest));
            self.write_loss(span.oldest, end)?;
        }
        of_file(&self.path, self.out.flush())
    }

    /// Writes the packet of the events that have come, if there are any.
    fn write_events(&mut self) -> Result<()> {
        if self.events.is_empty() {
            return Ok(());
        }
        let events = std::mem::take(&mut self.events);
        let written = self.write(self.begin, self.last.unwrap_or(self.begin), &events);
        self.events = events;
        self.events.clear();
        written
    }

    /// Writes the packet of the losses that have come. Those before the first event of the CPU began
    /// with the recording.
    fn write_loss(&mut self, oldest: u64, end: u64) -> Result<()> {
        let begin = self.last.unwrap_or(oldest.min(end));
        if !self.has_packet {
            self.write(begin, begin, &[])?;
        }
        self.discarded += std::mem::take(&mut self.pending);
        self.write(begin, end, &[])?;
        self.last = Some(end);
        Ok(())
    }

    fn write(&mut self, begin: u64, end: u64, events: &[u8]) -> Result<()> {
        let head = PacketHead {
            cpu: self.cpu,
            begin,
            end,
            discarded: self.discarded,
        };
        self.has_packet = true;
        of_file(&self.path, head.write(events, &mut self.out))
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::reader::packets;
    use super::*;

    /// What happens to a CPU.
    #[derive(Clone, Copy)]
    enum Step {
        /// An event of one byte at that time.
        At(u64),
        Lost(u64),
    }
    use Step::{At, Lost};

    fn fresh() -> Stream<Vec<u8>> {
        Stream::new(2, PathBuf::from("cpu2"), Vec::new())
    }

    /// Returns begin, end, losses and events of each packet. The recording is from 5 to 90.
    fn written(steps: &[Step]) -> Vec<(u64, u64, u64, usize)> {
        let span = TimeSpan {
            oldest: 5,
            newest: 90,
        };
        let mut stream = fresh();
        for step in steps {
            match step {
                At(stamp) => stream.add(*stamp, b"e", span).expect("added"),
                Lost(count) => stream.lose(*count).expect("lost"),
            }
        }
        stream.finish(span).expect("finished");
        packets(&stream.out)
            .into_iter()
            .map(|(head, events)| (head.begin, head.end, head.discarded, events.len()))
            .collect()
    }

    #[test]
    fn events_are_one_packet_and_nothing_is_none() {
        assert_eq!(written(&[At(10), At(10), At(30)]), [(10, 30, 0, 3)]);
        assert_eq!(written(&[]), []);
    }

    #[test]
    fn a_loss_is_a_packet_from_the_event_before_it_to_the_one_after() {
        assert_eq!(
            written(&[At(10), At(20), Lost(3), At(40), Lost(4), At(50)]),
            [
                (10, 20, 0, 2),
                (20, 40, 3, 0),
                (40, 40, 3, 1),
                (40, 50, 7, 0),
                (50, 50, 7, 1),
            ]
        );
    }

    #[test]
    fn losses_without_an_event_between_them_are_one() {
        assert_eq!(
            written(&[At(10), Lost(3), Lost(4), At(40)]),
            [(10, 10, 0, 1), (10, 40, 7, 0), (40, 40, 7, 1)]
        );
        assert_eq!(written(&[At(10), Lost(0), At(40)]).len(), 2);
    }

    #[test]
    fn a_loss_that_comes_first_follows_a_packet_without_one() {
        assert_eq!(
            written(&[Lost(3), At(40)]),
            [(5, 5, 0, 0), (5, 40, 3, 0), (40, 40, 3, 1)]
        );
        // Its event is the oldest of all.
        assert_eq!(
            written(&[Lost(3), At(2)]),
            [(2, 2, 0, 0), (2, 2, 3, 0), (2, 2, 3, 1)]
        );
    }

    #[test]
    fn a_loss_that_comes_last_lasts_to_the_end_of_the_recording() {
        assert_eq!(
            written(&[At(10), Lost(3)]),
            [(10, 10, 0, 1), (10, 90, 3, 0)]
        );
        assert_eq!(written(&[Lost(3)]), [(5, 5, 0, 0), (5, 90, 3, 0)]);
    }

    #[test]
    fn packets_are_written_as_they_fill() {
        let span = TimeSpan::with(None, 1);
        let mut stream = fresh();
        for (size, packets_before) in [
            (FULL, 0),
            (1, 1),
            (2 * FULL, 2),
            (FULL - 1, 3),
            (1, 3),
            (1, 4),
        ] {
            stream.add(1, &vec![7; size], span).expect("added");
            assert_eq!(packets(&stream.out).len(), packets_before, "{size}");
        }
        stream.finish(span).expect("finished");
        let sizes: Vec<usize> = packets(&stream.out).iter().map(|p| p.1.len()).collect();
        assert_eq!(sizes, [FULL, 1, 2 * FULL, FULL, 1]);
    }

    #[test]
    fn what_no_reader_takes_is_refused() {
        let mut stream = fresh();
        let span = TimeSpan::with(None, 7);
        stream.add(7, b"e", span).expect("added");
        let error = stream.add(6, b"e", span).expect_err("a refusal");
        assert!(error.to_string().contains("CPU 2"), "{error}");
        stream.lose(u64::MAX - 1).expect("a loss");
        assert!(stream.lose(1).is_err() && stream.lose(u64::MAX).is_err());
    }

    #[test]
    fn a_span_grows_both_ways() {
        let spans = [7, 9, 3]
            .iter()
            .fold(None, |span, stamp| Some(TimeSpan::with(span, *stamp)));
        let expected = TimeSpan {
            oldest: 3,
            newest: 9,
        };
        assert_eq!(spans, Some(expected));
    }
}
