// SPDX-License-Identifier: GPL-2.0

//! A folder in the Common Trace Format 1.8, which babeltrace2 and Trace Compass read: a file for each
//! CPU, and `metadata`, which is written last, when all kinds of events are known.

use super::shape::{put_members, put_text};
use super::stream::{Stream, TimeSpan};
use super::tsdl::Metadata;
use super::{TraceFormat, Written};
use crate::fault::of_file;
use crate::parse::record::Record;
use anyhow::{bail, Result};
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A trace on its way into its folder.
pub struct TraceFolder {
    folder: NewFolder,
    streams: BTreeMap<u32, Stream<File>>,
    metadata: Metadata,
    /// `None` before the first event.
    span: Option<TimeSpan>,
    events: u64,
}

impl TraceFolder {
    /// Makes the folder, or takes one that is empty.
    pub fn create(path: &Path) -> Result<Self> {
        Ok(Self {
            folder: NewFolder::create(path)?,
            streams: BTreeMap::new(),
            metadata: Metadata::new(),
            span: None,
            events: 0,
        })
    }

    /// Returns the stream of a CPU.
    fn stream(&mut self, cpu: u32) -> Result<&mut Stream<File>> {
        Ok(match self.streams.entry(cpu) {
            Entry::Occupied(stream) => stream.into_mut(),
            Entry::Vacant(place) => {
                let (path, file) = self.folder.file(&format!("cpu{cpu}"))?;
                place.insert(Stream::new(cpu, path, file))
            }
        })
    }

    /// Returns the bytes of an event.
    fn event(&mut self, record: &Record) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        put_text(&record.comm, &mut body);
        // As in the lines, 0 is a process that is not known.
        for number in [record.pid, record.tgid.unwrap_or(0)] {
            body.extend(number.to_le_bytes());
        }
        put_text(&record.flags, &mut body);
        let fields = put_members(&record.fields, &mut body);
        let class = self.metadata.class(&class_name(record), fields)?;
        let mut bytes = Vec::with_capacity(12 + body.len());
        bytes.extend(class.to_le_bytes());
        bytes.extend(record.ts.to_le_bytes());
        bytes.extend(body);
        Ok(bytes)
    }
}

/// Returns how the events like this one are called.
fn class_name(record: &Record) -> String {
    match record.r#type {
        Some(number) if record.event.is_empty() => format!("unknown:{number}"),
        _ => format!("{}:{}", record.system, record.event),
    }
}

impl TraceFormat for TraceFolder {
    fn add(&mut self, record: &Record) -> Result<()> {
        if let Some(lost) = record.lost {
            return self.stream(record.cpu)?.lose(lost);
        }
        let event = self.event(record)?;
        let span = TimeSpan::with(self.span, record.ts);
        self.stream(record.cpu)?.add(record.ts, &event, span)?;
        self.span = Some(span);
        self.events += 1;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        // Without an event no time is known.
        let span = self.span.unwrap_or(TimeSpan {
            oldest: 0,
            newest: 0,
        });
        let mut lost: u64 = 0;
        for stream in self.streams.values_mut() {
            stream.finish(span)?;
            lost = lost.saturating_add(stream.lost());
        }
        let (path, mut file) = self.folder.file("metadata")?;
        of_file(path, file.write_all(self.metadata.text().as_bytes()))?;
        self.folder.keep();
        Ok(Written {
            events: self.events,
            lost,
        })
    }
}

/// A folder whose files go with this value, unless they are kept: half a trace is none.
struct NewFolder {
    path: PathBuf,
    is_made: bool,
    files: Vec<PathBuf>,
}

impl NewFolder {
    /// Makes a folder, or takes one that is empty.
    ///
    /// # Errors
    ///
    /// When there is anything in it: readers take each file of the folder for one of the trace.
    fn create(path: &Path) -> Result<Self> {
        let is_made = match fs::create_dir(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            made => of_file(path, made).map(|()| true)?,
        };
        if !is_made && of_file(path, fs::read_dir(path))?.next().is_some() {
            bail!("{}: the folder is not empty", path.display());
        }
        Ok(Self {
            path: path.to_path_buf(),
            is_made,
            files: Vec::new(),
        })
    }

    /// Makes a file there. Returns its path as well.
    fn file(&mut self, name: &str) -> Result<(PathBuf, File)> {
        let path = self.path.join(name);
        let file = of_file(&path, File::create_new(&path))?;
        self.files.push(path.clone());
        Ok((path, file))
    }

    /// Keeps all that was made.
    fn keep(&mut self) {
        self.files.clear();
        self.is_made = false;
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // What cannot be removed stays; the error that led here is told.
        for path in &self.files {
            let _ = fs::remove_file(path);
        }
        if self.is_made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::add_line;
    use super::super::packet::reader::packets;
    use super::*;

    /// A folder for one test.
    struct Place(PathBuf);

    impl Place {
        fn new(test: &str) -> Self {
            let name = format!("rtrace-ctf-{}-{test}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).expect("a folder");
            Self(path)
        }

        fn trace(&self) -> PathBuf {
            self.0.join("trace")
        }

        fn names(&self) -> Vec<String> {
            let files = fs::read_dir(self.trace()).expect("a folder");
            let name = |file: std::io::Result<fs::DirEntry>| file.expect("a file").file_name();
            let mut names: Vec<String> = files
                .map(|file| name(file).into_string().expect("a name"))
                .collect();
            names.sort();
            names
        }

        fn metadata(&self) -> String {
            fs::read_to_string(self.trace().join("metadata")).expect("metadata")
        }

        /// Returns what became of these lines.
        fn written(&self, lines: &[&str]) -> Result<Written> {
            let mut trace = TraceFolder::create(&self.trace())?;
            for line in lines {
                add_line(&mut trace, line)?;
            }
            Box::new(trace).finish()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const SWITCH: &str = r#"{"cpu":1,"ts":17284993652999,"comm":"sh","pid":7,"tgid":5,"flags":"d..2.","system":"sched","event":"sched_switch","fields":{"prev_pid":7,"next_comm":"ls"}}"#;

    #[test]
    fn an_event_is_these_bytes() {
        let place = Place::new("bytes");
        let written = place.written(&[SWITCH]).expect("a trace");
        assert_eq!(written, Written { events: 1, lost: 0 });
        assert_eq!(place.names(), ["cpu1", "metadata"]);
        let bytes = fs::read(place.trace().join("cpu1")).expect("a stream");
        let packets = packets(&bytes);
        let expected: &[&[u8]] = &[
            &0u32.to_le_bytes(),
            &17284993652999u64.to_le_bytes(),
            b"sh\0",
            &7i64.to_le_bytes(),
            &5i64.to_le_bytes(),
            b"d..2.\0",
            &7i64.to_le_bytes(),
            b"ls\0",
        ];
        assert_eq!(packets[0].1, expected.concat());
        assert_eq!((packets.len(), packets[0].0.cpu), (1, 1));
        assert!(place.metadata().contains("name = \"sched:sched_switch\";"));
    }

    #[test]
    fn losses_of_all_cpus_are_counted() {
        let place = Place::new("losses");
        let lines = [
            r#"{"cpu":0,"lost":3}"#,
            SWITCH,
            r#"{"cpu":1,"lost":4}"#,
            r#"{"cpu":7,"lost":5}"#,
        ];
        let written = place.written(&lines).expect("a trace");
        assert_eq!(
            written,
            Written {
                events: 1,
                lost: 12
            }
        );
        assert_eq!(place.names(), ["cpu0", "cpu1", "cpu7", "metadata"]);
        for (cpu, discarded) in [(0, 3), (1, 4), (7, 5)] {
            let bytes = fs::read(place.trace().join(format!("cpu{cpu}"))).expect("a stream");
            let packets = packets(&bytes);
            assert_eq!((packets[0].0.discarded, packets.len()), (0, 2));
            assert_eq!(packets[1].0.discarded, discarded);
        }
    }

    #[test]
    fn an_event_without_a_name_is_called_by_its_number() {
        let place = Place::new("unknown");
        let line = r#"{"cpu":0,"ts":1,"type":77}"#;
        place.written(&[line]).expect("a trace");
        assert!(place.metadata().contains("name = \"unknown:77\";"));
    }

    #[test]
    fn nothing_is_a_trace_without_streams() {
        let place = Place::new("nothing");
        assert_eq!(place.written(&[]).expect("a trace").events, 0);
        assert_eq!(place.names(), ["metadata"]);
    }

    #[test]
    fn an_empty_folder_is_taken_and_any_other_is_not() {
        let place = Place::new("folders");
        fs::create_dir(place.trace()).expect("a folder");
        place.written(&[SWITCH]).expect("a trace");
        let error = place.written(&[SWITCH]).expect_err("a refusal");
        assert!(error.to_string().ends_with("the folder is not empty"));
        // What was there stays.
        assert_eq!(place.names(), ["cpu1", "metadata"]);
        let file = place.0.join("file");
        fs::write(&file, "").expect("a file");
        assert!(TraceFolder::create(&file).is_err());
        assert!(TraceFolder::create(&place.0.join("no/folder")).is_err());
    }

    #[test]
    fn half_a_trace_is_removed() {
        let place = Place::new("half");
        assert!(place.written(&[SWITCH, "nonsense"]).is_err());
        assert!(!place.trace().exists());
        fs::create_dir(place.trace()).expect("a folder");
        assert!(place.written(&[SWITCH, "nonsense"]).is_err());
        assert_eq!(place.names(), [""; 0]);
    }

    #[test]
    fn hostile_lines_are_escaped_or_refused() {
        let nested = |fields: &str| format!(r#"{{"cpu":0,"ts":1,"fields":{fields}}}"#);
        let deep = nested(&format!("{}1{}", "{\"a\":".repeat(90), "}".repeat(90)));
        let rows = [
            (
                r#"{"cpu":0,"ts":1,"system":"a\"b","event":"\u0000\n","fields":{"":"\u0000"}}"#,
                true,
            ),
            (
                r#"{"cpu":4294967295,"ts":18446744073709551615,"pid":-9223372036854775808}"#,
                true,
            ),
            (
                r#"{"cpu":0,"ts":1,"fields":{"a":1e308,"b":18446744073709551616,"c":[]}}"#,
                true,
            ),
            (&deep, true),
            (r#"{"cpu":4294967296,"ts":1}"#, false),
            (r#"{"cpu":-1,"ts":1}"#, false),
            (r#"{"cpu":0,"ts":18446744073709551616}"#, false),
            (r#"{"cpu":0,"ts":-1}"#, false),
            (r#"{"cpu":0,"lost":18446744073709551615}"#, false),
            (r#"{"cpu":0,"ts":1,"fields":[]}"#, false),
            (r#"{"cpu":0,"ts":1,"fields":{"a":1e999}}"#, false),
            (&nested(&"[".repeat(10_000)), false),
            ("", false),
            ("{}", false),
        ];
        for (at, (line, is_taken)) in rows.iter().enumerate() {
            let place = Place::new(&format!("hostile-{at}"));
            assert_eq!(place.written(&[line]).is_ok(), *is_taken, "{line}");
        }
    }
}
