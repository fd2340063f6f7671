// SPDX-License-Identifier: GPL-2.0

//! A task of its own that measures for timerlat, as a child of a test: it may be killed at any time. The test
//! writes a word a line, and gets an answer a line: `ok`, a number, or an error.

use crate::check::Check;
use crate::errno::Errno;
use crate::sys;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What the child does: obeys the words for the file of a CPU in `folder`.
pub fn obey(arguments: &[String]) -> Check {
    let [folder] = arguments else {
        fail!("a folder is needed");
    };
    let mut file = None;
    sys::interruptible_by_signal();
    for line in std::io::stdin().lines() {
        let line = line.map_err(|e| format!("stdin: {e}"))?;
        let (word, number) = line.split_once(' ').unwrap_or((&line, "0"));
        let number: usize = number.parse().map_err(|e| format!("{line:?}: {e}"))?;
        let answer = match word {
            "pin" => {
                sys::pin_to(number);
                Ok(0)
            }
            "open" => {
                let path = PathBuf::from(format!("{folder}/cpu{number}/timerlat_fd"));
                let opened = File::open(path).map_err(Errno::from);
                opened.map(|opened| file = Some(opened)).map(|()| 0)
            }
            "close" => {
                file = None;
                Ok(0)
            }
            "read" => read(&file),
            "interrupted" => {
                let thread = sys::thread_id();
                let other = std::thread::spawn(move || {
                    let asleep = sys::wait_asleep(thread);
                    sys::interrupt_thread(thread);
                    asleep
                });
                let answer = read(&file);
                match other.join() {
                    Ok(true) => answer,
                    _ => fail!("not asleep"),
                }
            }
            // Until it is killed, or the file says no.
            "reads" => {
                println!("reads");
                loop {
                    if let Err(errno) = read(&file) {
                        break Err(errno);
                    }
                }
            }
            _ => fail!("{line:?}"),
        };
        match answer {
            Ok(number) => println!("{number}"),
            Err(errno) => println!("{errno}"),
        }
    }
    Ok(())
}

fn read(file: &Option<File>) -> Result<usize, Errno> {
    let Some(mut file) = file.as_ref() else {
        return Err(Errno(9));
    };
    file.read(&mut [0; 64]).map_err(Errno::from)
}

/// Such a child, for its test. It is killed when this goes.
pub struct LoadTask {
    child: Child,
    words: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl LoadTask {
    /// Starts one for the tree at `root`, on a CPU alone if one is given.
    pub fn start(root: &Path, cpu: Option<usize>) -> Check<Self> {
        let child = Command::new("/proc/self/exe")
            .arg("load")
            .arg(root.join("osnoise/per_cpu"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|e| format!("cannot start a task: {e}"))?;
        let (words, answers) = (child.stdin.take(), child.stdout.take());
        let (Some(words), Some(answers)) = (words, answers) else {
            fail!("a task without pipes");
        };
        let answers = BufReader::new(answers);
        let mut this = Self {
            child,
            words,
            answers,
        };
        if let Some(cpu) = cpu {
            this.ask(&format!("pin {cpu}"))?;
        }
        Ok(this)
    }

    /// Has it obey a word, and returns the answer; it is empty if the child has ended.
    pub fn ask(&mut self, word: &str) -> Check<String> {
        let mut answer = String::new();
        let asked = writeln!(self.words, "{word}").and_then(|()| self.words.flush());
        let told = asked.and_then(|()| self.answers.read_line(&mut answer));
        told.map_err(|e| format!("{word}: {e}"))?;
        Ok(answer.trim_end().to_string())
    }

    /// As [`Self::ask`], with the answer that is expected.
    pub fn expect(&mut self, word: &str, expected: &str) -> Check {
        let answer = self.ask(word)?;
        ensure_eq!(answer, expected, "{word}");
        Ok(())
    }

    /// Waits for its end, and returns the signal that was it.
    pub fn signal(mut self) -> Check<Option<i32>> {
        let ended = sys::wait_until(std::time::Duration::from_secs(60), || {
            matches!(self.child.try_wait(), Ok(Some(_)))
        });
        ensure!(ended, "the task goes on");
        let status = self.child.wait().map_err(|e| format!("wait: {e}"))?;
        Ok(status.signal())
    }
}

impl Drop for LoadTask {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
