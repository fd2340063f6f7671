// SPDX-License-Identifier: GPL-2.0

//! What the files `hist`, `hist_json` and `hist_take` of events show.

use super::{
    hists::line,
    triggers::copied,
    Instance, //
};
use crate::{
    actions::{
        counts::Counts,
        hist::Hist, //
    },
    events::Event,
    hist::{
        action::Deed,
        json::write_json_totals,
        plan::Plan,
        print::{
            write_totals,
            HistNames, //
        },
        sort::{
            sort,
            Rows,
            SortItem, //
        }, //
    },
    text::writer::ByteWrite, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The form in which histograms are shown.
#[derive(Clone, Copy)]
pub(crate) enum HistForm {
    /// As ftrace shows them.
    Text,
    /// One object per line.
    Json,
}

/// A histogram of an event, to be shown.
pub(crate) struct ShownHist {
    hist: Arc<Hist>,
    filter: Option<KVec<u8>>,
    paused: bool,
    /// What was taken of it; else it is shown as it is.
    taken: Option<KBox<Counts>>,
}

impl Instance {
    /// Returns the histograms of `event`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn shown_hists(&self, event: &Event) -> Result<KVec<ShownHist>> {
        let mut shown = KVec::new();
        let all = self.triggers.lock();
        let of = all.iter().find(|of| of.event.id() == event.id());
        for row in of.into_iter().flat_map(|of| of.rows.iter()) {
            if let Some(hist) = &row.hist {
                let hist = ShownHist {
                    hist: hist.clone(),
                    filter: row.filter.as_deref().map(copied).transpose()?,
                    paused: row.trigger.left() == 0,
                    taken: None,
                };
                shown.push(hist, GFP_KERNEL)?;
            }
        }
        Ok(shown)
    }
}

impl Instance {
    /// Makes room for more entries in the histograms that want it. Without memory they stay as they are. Process
    /// context.
    pub(super) fn grow_hists(&self) {
        let mut wanting: KVec<Arc<Hist>> = KVec::new();
        let all = self.triggers.lock();
        let rows = all.iter().flat_map(|of| of.rows.iter());
        for hist in rows.filter_map(|row| row.hist.as_ref()) {
            if hist.plan().grows && wanting.push(hist.clone(), GFP_KERNEL).is_err() {
                // The next event asks again.
                break;
            }
        }
        drop(all);
        for hist in wanting {
            let _ = hist.counts().grow(hist.plan());
        }
    }
}

impl ShownHist {
    /// Returns whether [`Self::take`] can take what it has counted.
    pub(crate) fn may_be_taken(&self) -> bool {
        self.hist.may_be_taken()
    }

    /// Takes what it has counted, which begins again with nothing, unless that was done before. Process context.
    ///
    /// # Errors
    ///
    /// Those of [`Hist::take`].
    pub(crate) fn take(&mut self) -> Result {
        if self.taken.is_none() {
            self.taken = Some(self.hist.take()?);
        }
        Ok(())
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn write(
        &self,
        form: HistForm,
        names: &dyn HistNames,
        out: &mut dyn ByteWrite,
    ) -> Result {
        let plan = self.hist.plan();
        // Copied before it is sorted: what is counted meanwhile moves no entry.
        let copy = |counts: &Counts| -> Result<_> { Ok((counts.rows(plan)?, counts.totals())) };
        let (words, totals) = match &self.taken {
            Some(counts) => copy(counts)?,
            None => self.hist.counts().with(copy)?,
        };
        let rows = Rows::new(plan, &words);
        let order = order(plan, rows)?;
        let (text, sorted) = (self.hist.text(), (rows, &order[..]));
        let line = line(&self.hist, self.filter.as_deref(), self.paused);
        let written = match form {
            HistForm::Text => {
                let entries = line
                    .write_head(out)
                    .and_then(|()| plan.write_rows(text, sorted, names, out));
                entries.map_err(|_| ENOMEM)?;
                write_taken(&self.hist, names, out)?;
                write_totals(totals, rows.len(), out)
            }
            HistForm::Json => line
                .write_json_head(out)
                .and_then(|()| plan.write_json(text, sorted, names, out))
                .and_then(|()| write_json_totals(totals, rows.len(), out)),
        };
        written.map_err(|_| ENOMEM)
    }
}

/// Returns the entries in the order in which they are shown.
///
/// # Errors
///
/// `ENOMEM`.
fn order(plan: &Plan, rows: Rows<'_>) -> Result<KVVec<SortItem>> {
    let mut order = KVVec::with_capacity(rows.len(), GFP_KERNEL)?;
    for row in 0..rows.len() as u32 {
        order.push(SortItem::new(row), GFP_KERNEL)?;
    }
    sort(plan, rows, &mut order);
    order.truncate(plan.most_shown(rows.len()));
    Ok(order)
}

/// Writes by which event `hist` took a snapshot, if it did.
fn write_taken(hist: &Hist, names: &dyn HistNames, out: &mut dyn ByteWrite) -> Result {
    let plan = hist.plan();
    let mut tracks = plan.kept.tracks().iter();
    let track = tracks.find(|track| track.deed == Deed::Snapshot);
    let (Some(track), Some(taken)) = (track, hist.counts().taken()) else {
        return Ok(());
    };
    let mut words = KVec::from_elem(0, taken.record_words(), GFP_KERNEL)?;
    if !taken.read(0, &mut words) {
        return Ok(());
    }
    plan.write_taken((track, &words), hist.text(), names, out)
        .map_err(|_| ENOMEM)
}
