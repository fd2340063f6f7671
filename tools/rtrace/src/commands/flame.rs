// SPDX-License-Identifier: GPL-2.0

//! `rtrace flame`: the stacks that lead to an event, counted in the kernel, as a picture.

use crate::args::Flame;
use crate::fault::of_file;
use crate::instance::{single_event, Definition, Instance};
use crate::job::{code, Job, Watch};
use crate::output::{tell, Output};
use crate::parse::hist;
use crate::tree::Tree;
use anyhow::{bail, Context, Result};
use inferno::flamegraph;
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Entries of the histogram at first; it grows.
const SIZE: &str = "auto";

/// Returns folded stacks as a picture.
fn picture(title: &str, unit: &str, lines: &[String]) -> Result<Vec<u8>> {
    let mut options = flamegraph::Options::default();
    options.title = title.to_string();
    options.count_name = unit.to_string();
    // The same stacks give the same picture.
    options.deterministic = true;
    let mut svg = Vec::new();
    let lines = lines.iter().map(String::as_str);
    flamegraph::from_lines(&mut options, lines, &mut svg).context("the flame graph")?;
    Ok(svg)
}

/// Where the picture goes. What was there is kept until there is something to write; a file that was not
/// there goes with this value unless something was.
struct OutputFile<'a> {
    path: &'a Path,
    file: File,
    is_made: bool,
}

impl<'a> OutputFile<'a> {
    /// Opens it, or makes it.
    fn open(path: &'a Path) -> io::Result<Self> {
        let (file, is_made) = match File::create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(false);
                (options.open(path)?, false)
            }
            made => (made?, true),
        };
        Ok(Self {
            path,
            file,
            is_made,
        })
    }

    /// Writes a text in the place of what was there.
    fn write(mut self, bytes: &[u8]) -> io::Result<()> {
        // A pipe or a terminal (`/dev/stdout`) has no size that could be set.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(bytes)?;
        self.is_made = false;
        Ok(())
    }
}

impl Drop for OutputFile<'_> {
    fn drop(&mut self) {
        if self.is_made {
            // What cannot be removed stays; the error that led here is told.
            let _ = fs::remove_file(self.path);
        }
    }
}

/// Counts stacks, and writes them. Returns the exit status.
pub fn run(tree: &Tree, out: Output, flame: &Flame) -> Result<u8> {
    let group = format!("rtrace_{}", std::process::id());
    let mut definition = None;
    let (system, event, title) = match (&flame.event, &flame.function) {
        (Some(event), _) => {
            let (system, event) = single_event(tree, event)?;
            let title = format!("{system}:{event}");
            (system, event, title)
        }
        (None, Some(function)) => {
            let name = format!("{group}/calls");
            let line = format!("f:{name} {function}");
            definition = Some(Definition::new(tree, &line, &name)?);
            (group, "calls".to_string(), function.clone())
        }
        (None, None) => bail!("neither an event nor a function"),
    };
    let to_stdout = flame.output == Path::new("-");
    let output = match to_stdout {
        true => None,
        false => Some(of_file(&flame.output, OutputFile::open(&flame.output))?),
    };
    let instance = Instance::new(tree, "flame")?;
    let folder = format!("events/{system}/{event}");
    let values = flame.value.iter().map(|field| format!(":vals={field}"));
    let filter = flame.filter.iter().map(|filter| format!(" if {filter}"));
    let trigger = format!(
        "hist:keys=common_comm,common_stacktrace{}:size={SIZE}{}",
        values.collect::<String>(),
        filter.collect::<String>()
    );
    let mut job = Job::prepare(&flame.span, &instance, Watch::Events)?;
    instance.put(&format!("{folder}/trigger"), &trigger)?;
    job.begin()?;
    job.wait()?;
    let text = instance.show(&format!("{folder}/hist_json"))?;
    let status = job.end()?;
    drop(instance);
    drop(definition);

    let (entries, totals) = hist::entries(&text);
    let mut lines: Vec<String> = entries
        .iter()
        .filter_map(|entry| hist::folded(entry, flame.value.as_deref()))
        .collect();
    lines.sort();
    if totals.dropped > 0 {
        tell(&format!(
            "rtrace: {} events found no room and are not shown",
            totals.dropped
        ));
    }
    let below_zero = entries.len() - lines.len();
    if below_zero > 0 {
        tell(&format!(
            "rtrace: {below_zero} stacks whose sum is below 0 are not shown"
        ));
    }
    if entries.is_empty() {
        bail!("{title} did not happen: nothing to draw");
    }
    if lines.is_empty() {
        bail!("{title} has no sum that is not below 0: nothing to draw");
    }
    let is_picture = !to_stdout && flame.output.extension().is_some_and(|e| e == "svg");
    let bytes = if is_picture {
        picture(&title, flame.value.as_deref().unwrap_or("events"), &lines)?
    } else {
        format!("{}\n", lines.join("\n")).into_bytes()
    };
    let Some(output) = output else {
        io::stdout().lock().write_all(&bytes)?;
        return Ok(code(status));
    };
    of_file(&flame.output, output.write(&bytes))?;
    if out.json {
        out.object(&json!({
            "file": flame.output.display().to_string(),
            "stacks": lines.len(), "events": totals.hits, "dropped": totals.dropped,
        }))?;
    } else {
        out.line(&format!(
            "{}: {} stacks of {} events",
            flame.output.display(),
            lines.len(),
            totals.hits
        ))?;
    }
    Ok(code(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_replaced_and_an_empty_file_does_not_stay() {
        let path = std::env::temp_dir().join(format!("rtrace-flame-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        drop(OutputFile::open(&path).expect("made"));
        assert!(!path.exists());
        for text in ["longer", "new"] {
            let file = OutputFile::open(&path).expect("opened");
            file.write(text.as_bytes()).expect("written");
            drop(OutputFile::open(&path).expect("opened"));
            assert_eq!(fs::read_to_string(&path).expect("read"), text);
        }
        fs::remove_file(path).expect("removed");
    }

    #[test]
    fn what_has_no_size_is_written_to() {
        let file = OutputFile::open(Path::new("/dev/null")).expect("opened");
        file.write(b"x").expect("written");
    }

    #[test]
    fn a_picture_has_a_box_for_each_function() {
        let lines = [
            "sh;entry;vfs_read 3".to_string(),
            "sh;entry;vfs_write 1".to_string(),
        ];
        let svg = String::from_utf8(picture("calls", "events", &lines).expect("a picture"))
            .expect("text");
        assert!(svg.starts_with("<?xml"));
        for text in [
            "vfs_read (3 events, 75.00%)",
            "vfs_write (1 events, 25.00%)",
            "entry (4 events",
        ] {
            assert!(svg.contains(text), "{text}");
        }
    }
}
