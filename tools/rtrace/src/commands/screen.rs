// SPDX-License-Identifier: GPL-2.0

//! The screen of `rtrace top`: a table that is drawn anew, and keys.

use crate::commands::top::{Row, Table};
use crate::output::grouped;
use crate::stop;
use anyhow::Result;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row as Cells, Table as Grid};
use ratatui::{DefaultTerminal, Frame};
use std::time::Duration;

/// What rows are sorted by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Rate,
    Total,
    Name,
}

/// The terminal, which is as before when this goes.
pub struct Screen {
    terminal: DefaultTerminal,
    table: Option<Table>,
    order: Order,
    paused: bool,
    colours: bool,
}

impl Screen {
    pub fn new() -> Result<Self> {
        // It also has a panic restore the terminal.
        let terminal = ratatui::try_init()?;
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let mut screen = Self {
            terminal,
            table: None,
            order: Order::Rate,
            paused: false,
            colours: !no_colour,
        };
        screen.draw()?;
        Ok(screen)
    }

    /// Shows a table, unless the user looks at an old one.
    pub fn show(&mut self, table: Table) -> Result<()> {
        if !self.paused {
            self.table = Some(table);
        }
        self.draw()
    }

    /// Obeys keys for so long.
    pub fn keys(&mut self, time: Duration) -> Result<()> {
        if !event::poll(time)? {
            return Ok(());
        }
        match event::read()? {
            Event::Key(key) if key.kind == KeyEventKind::Press => {
                let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
                match key.code {
                    KeyCode::Char('c') if is_control => stop::ask(),
                    KeyCode::Char('q') | KeyCode::Esc => stop::ask(),
                    KeyCode::Char('r') => self.order = Order::Rate,
                    KeyCode::Char('t') => self.order = Order::Total,
                    KeyCode::Char('n') => self.order = Order::Name,
                    KeyCode::Char('p') | KeyCode::Char(' ') => self.paused = !self.paused,
                    _ => return Ok(()),
                }
            }
            Event::Resize(..) => {}
            _ => return Ok(()),
        }
        self.draw()
    }

    fn draw(&mut self) -> Result<()> {
        if let Some(table) = &mut self.table {
            sort(&mut table.rows, self.order);
        }
        let (table, paused, colours) = (&self.table, self.paused, self.colours);
        self.terminal
            .draw(|frame| draw(frame, table.as_ref(), paused, colours))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn sort(rows: &mut [Row], order: Order) {
    rows.sort_by(|a, b| {
        let by_name = a.event.cmp(&b.event);
        match order {
            Order::Rate => b.per_second.total_cmp(&a.per_second).then(by_name),
            Order::Total => b.total.hits.cmp(&a.total.hits).then(by_name),
            Order::Name => by_name,
        }
    });
}

fn draw(frame: &mut Frame<'_>, table: Option<&Table>, paused: bool, colours: bool) {
    let Some(table) = table else {
        frame.render_widget(Paragraph::new("counting ..."), frame.area());
        return;
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let coloured = |colour| {
        if colours {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    };
    let waits = table.waits.as_deref().unwrap_or(&[]);
    let waits_height = if table.waits.is_some() {
        waits.len() as u16 + 2
    } else {
        0
    };
    let [head, body, below, losses, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(waits_height),
        Constraint::Length((table.losses.len() as u16).min(4)),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let text = format!(
        "rtrace top   {} events a second{}",
        grouped(table.per_second().round() as u64),
        if paused { "   (paused)" } else { "" }
    );
    frame.render_widget(Paragraph::new(Span::styled(text, bold)), head);
    let rows = table
        .rows
        .iter()
        .filter(|row| row.total.hits > 0)
        .map(|row| {
            let refused = if row.total.lost > 0 {
                coloured(Color::Red)
            } else {
                Style::new()
            };
            Cells::new([
                Line::raw(row.event.clone()),
                Line::styled(format!("{:.1}", row.per_second), coloured(Color::Green))
                    .right_aligned(),
                Line::raw(grouped(row.total.hits)).right_aligned(),
                Line::styled(row.total.lost.to_string(), refused).right_aligned(),
            ])
        });
    let widths = [
        Constraint::Min(30),
        Constraint::Length(12),
        Constraint::Length(16),
        Constraint::Length(10),
    ];
    let heading = |names: [&'static str; 4]| {
        let [first, rest @ ..] = names;
        let first = std::iter::once(Line::raw(first));
        Cells::new(first.chain(rest.map(|name| Line::raw(name).right_aligned()))).style(bold)
    };
    let grid = Grid::new(rows, widths).header(heading(["EVENT", "PER SECOND", "TOTAL", "REFUSED"]));
    frame.render_widget(grid, body);
    let rows = waits.iter().map(|wait| {
        Cells::new([
            Line::raw(wait.task.clone()),
            Line::raw(wait.wakeups.to_string()).right_aligned(),
            Line::raw(wait.p99.clone()).right_aligned(),
            Line::raw(wait.max.to_string()).right_aligned(),
        ])
    });
    let names = ["WAITED FOR A CPU", "WAKE-UPS", "99 % (us)", "MAX (us)"];
    frame.render_widget(Grid::new(rows, widths).header(heading(names)), below);
    let lines: Vec<Line<'_>> = table
        .losses
        .iter()
        .map(|loss| {
            let place = if loss.instance.is_empty() {
                "the top instance"
            } else {
                &loss.instance
            };
            let text = format!("{} of {place} lost {} events", loss.cpu, loss.lost);
            Line::styled(text, coloured(Color::Red))
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), losses);
    let keys = "q: end   r, t, n: sort by rate, total, name   p: pause";
    frame.render_widget(
        Paragraph::new(Span::styled(keys, Style::new().add_modifier(Modifier::DIM))),
        foot,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::top::{Loss, Wait};
    use crate::parse::counts::Count;
    use ratatui::backend::TestBackend;
    use ratatui::Terminal;

    fn table() -> Table {
        let row = |event: &str, per_second, hits| Row {
            event: event.into(),
            per_second,
            total: Count { hits, lost: 0 },
        };
        Table {
            seconds: 1.0,
            rows: vec![
                row("a:slow", 1.0, 5000),
                row("b:fast", 1200.0, 1300),
                row("c:never", 0.0, 0),
            ],
            losses: vec![Loss {
                instance: "instances/x".into(),
                cpu: "cpu1".into(),
                lost: 17,
            }],
            waits: Some(vec![Wait {
                task: "late".into(),
                wakeups: 3,
                max: 999,
                p99: "7".into(),
            }]),
        }
    }

    fn drawn(table: Option<&Table>) -> String {
        let mut terminal = Terminal::new(TestBackend::new(80, 16)).expect("a terminal");
        terminal
            .draw(|frame| draw(frame, table, false, true))
            .expect("drawn");
        let buffer = terminal.backend().buffer().clone();
        let line = |y| (0..80).map(|x| buffer[(x, y)].symbol()).collect::<String>() + "\n";
        (0..16).map(line).collect()
    }

    #[test]
    fn the_screen_has_events_waits_and_losses() {
        let mut table = table();
        sort(&mut table.rows, Order::Rate);
        let text = drawn(Some(&table));
        assert!(
            text.contains("rtrace top   1 201 events a second"),
            "{text}"
        );
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(at("b:fast") < at("a:slow"));
        assert!(at("late") < at("cpu1 of instances/x lost 17 events"));
        assert!(!text.contains("c:never"));
        assert!(drawn(None).contains("counting"));
    }

    #[test]
    fn rows_are_sorted_as_asked_for() {
        let mut rows = table().rows;
        let first = |rows: &[Row]| rows[0].event.clone();
        sort(&mut rows, Order::Total);
        assert_eq!(first(&rows), "a:slow");
        sort(&mut rows, Order::Rate);
        assert_eq!(first(&rows), "b:fast");
        sort(&mut rows, Order::Name);
        assert_eq!(first(&rows), "a:slow");
    }
}
