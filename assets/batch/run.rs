//! Running: the jobs of a plan on a pool of threads, reading and writing beside it.
//!
//! ```text
//! a few workers, one job each: read ── simulate ── put together ── write ── journal
//!                                        │
//! pool of `threads`:          tasks of up to 32 clips, of any job
//! ```
//!
//! Workers are threads that wait more than they work. At most `threads` of them are between reading and writing at a time,
//! and as many may write meanwhile, so that memory hangs on the number of threads and not on that of jobs. Tasks of
//! different jobs share the pool: a job with one clip leaves the other threads to the next one. No thread of the pool ever
//! waits for a job.
//!
//! Who is first never shows: an output hangs on its own inputs, rows come in the order of the plan.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use rayon::ThreadPool;

use super::job;
use super::ledger::{Journal, Outcome, Record};
use super::models::{Files, lock};
use super::plan::Plan;
use super::report::{JobTime, Report, Row, State, Timing};
use super::stamp::Todo;
use crate::assets::Error;
use crate::assets::bake::Threads;

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What outputs that are up to date are called: [`State::Skipped`] or [`State::Done`].
    pub kept: State,
    /// Whether no more jobs are begun once one has failed. Those that run go on to their ends.
    pub fail_fast: bool,
    /// Name of the journal, see [`super::ledger`].
    pub journal: String,
}

/// Hears what happens, from several threads.
pub trait Observer: Sync {
    /// This many more frames were simulated.
    fn frames(&self, count: u64);
    /// A job ended; `error` is why it failed, as far as it is no bug.
    fn ended(&self, row: &Row, error: Option<&Error>);
}

/// Runs the entries `selected`, each with what is to be done about it, on `pool`.
///
/// # Errors
/// [`Error::Exists`] when a file that no batch wrote is in the way: nothing runs then; [`Error::Io`] when the journal
/// cannot be written. A job that fails is no error but a row.
pub fn run(
    plan: &Plan,
    selected: &[usize],
    todo: Vec<Todo>,
    options: &RunOptions,
    pool: &ThreadPool,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let begin = Instant::now();
    let (mut rows, mut queue) = (Vec::with_capacity(selected.len()), VecDeque::new());
    for (place, (&index, todo)) in selected.iter().zip(todo).enumerate() {
        let row = |state, error| Row::new(plan, index, state, error);
        rows.push(Some(match todo {
            Todo::Taken(file) => return Err(Error::Exists(plan.output(&file))),
            Todo::Keep(outcome) => row(options.kept, None).with(*outcome),
            Todo::Fault => {
                let error = plan.faults[index].as_ref();
                let row = row(State::Failed, error.map(ToString::to_string));
                observer.ended(&row, error.map(AsRef::as_ref));
                row
            }
            Todo::Bake(_) => {
                queue.push_back((place, index));
                row(State::NotRun, None)
            }
        }));
    }
    let failed = rows.iter().flatten().any(|row| row.state == State::Failed);
    let mut times = Vec::new();
    if !queue.is_empty() {
        let crew = Crew::new(plan, queue, options, pool, observer, failed)?;
        for (place, row, time) in crew.work() {
            rows[place] = Some(row);
            times.push(time);
        }
    }
    times.sort_by_key(|time| time.number);
    let rows = rows.into_iter().flatten().collect();
    let (hash, planned) = (plan.manifest.hash.clone(), plan.manifest.entries.len());
    let mut report = Report::new(hash, planned, rows);
    report.timing = Some(Timing {
        seconds: begin.elapsed().as_secs_f64(),
        threads: pool.current_num_threads(),
        jobs: times,
    });
    Ok(report)
}

/// Workers, and what they share.
struct Crew<'a> {
    plan: &'a Plan,
    pool: &'a ThreadPool,
    observer: &'a dyn Observer,
    journal: Journal,
    files: Files<'a>,
    /// Place among the rows and index of the entry of what was not begun, in order.
    queue: Mutex<VecDeque<(usize, usize)>>,
    left: AtomicUsize,
    /// Indices of all entries that are to be baked, and of those among them whose writing began.
    planned: BTreeSet<usize>,
    written: Mutex<BTreeSet<usize>>,
    /// For the way from reading to writing.
    seats: Seats,
    fail_fast: bool,
    failed: AtomicBool,
}

/// Place among the rows, row, and how long it took.
type Ended = (usize, Row, JobTime);

impl<'a> Crew<'a> {
    fn new(
        plan: &'a Plan,
        queue: VecDeque<(usize, usize)>,
        options: &RunOptions,
        pool: &'a ThreadPool,
        observer: &'a dyn Observer,
        failed: bool,
    ) -> Result<Self, Error> {
        let entries = || {
            queue
                .iter()
                .map(|&(_, index)| &plan.manifest.entries[index])
        };
        let planned: BTreeSet<usize> = queue.iter().map(|&(_, index)| index).collect();
        let files = own_files(plan, planned.iter());
        Ok(Self {
            plan,
            pool,
            observer,
            journal: Journal::begin(&plan.out_dir, &options.journal, files)?,
            files: Files::new(plan, entries()),
            left: AtomicUsize::new(queue.len()),
            queue: Mutex::new(queue),
            planned,
            written: Mutex::default(),
            seats: Seats::new(pool.current_num_threads()),
            fail_fast: options.fail_fast,
            failed: AtomicBool::new(failed),
        })
    }

    /// Works until nothing is left; in no particular order.
    fn work(self) -> Vec<Ended> {
        let workers = (2 * self.pool.current_num_threads()).min(self.left.load(Ordering::Relaxed));
        let ended = Mutex::new(Vec::new());
        let worker = || {
            while let Some(one) = self.next() {
                lock(&ended).push(one);
            }
        };
        std::thread::scope(|scope| {
            let hired = |_: &usize| {
                let hired = std::thread::Builder::new().spawn_scoped(scope, worker);
                hired.is_ok()
            };
            // Where the system has no more threads, those that there are do the work.
            if (0..workers).take_while(hired).count() == 0 {
                worker();
            }
        });
        let left = own_files(self.plan, self.planned.difference(&lock(&self.written)));
        self.journal.end(left);
        ended.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the next job; `None` when there is none, or none is to be begun any more.
    fn next(&self) -> Option<Ended> {
        let seat = self.seats.take();
        let stops = self.fail_fast && self.failed.load(Ordering::Relaxed);
        let (place, index) = lock(&self.queue).pop_front().filter(|_| !stops)?;
        let (begin, left) = (Instant::now(), self.left.fetch_sub(1, Ordering::Relaxed));
        let done = contain(|| self.job(index, left, seat));
        let row = |state, error| Row::new(self.plan, index, state, error);
        let (row, error) = match done {
            Ok(Ok(outcome)) => (row(State::Done, None).with(outcome), None),
            Ok(Err(error)) => (row(State::Failed, Some(error.to_string())), Some(error)),
            Err(panic) => {
                let entry = &self.plan.manifest.entries[index];
                let job = self.plan.manifest.describe(entry);
                let bug = format!("{job}: a bug of flounce stopped this job: {panic}");
                (row(State::Failed, Some(bug)), None)
            }
        };
        if row.state == State::Failed {
            self.failed.store(true, Ordering::Relaxed);
        }
        self.observer.ended(&row, error.as_deref());
        let time = JobTime {
            number: row.number,
            milliseconds: begin.elapsed().as_secs_f64() * 1e3,
        };
        Some((place, row, time))
    }

    /// Bakes, leaves the seat to the next worker and writes.
    fn job(&self, index: usize, left: usize, seat: Seat<'_>) -> Result<Outcome, Arc<Error>> {
        let entry = &self.plan.manifest.entries[index];
        // Where many jobs are left they fill the threads, and lanes are best filled by one job each.
        let share = self.pool.current_num_threads().div_ceil(left);
        let threads = Threads {
            pool: Some(self.pool),
            share: Some(share),
        };
        let held = Held {
            files: &self.files,
            model: entry.model,
        };
        let progress = |frames| self.observer.frames(frames);
        let baked = job::bake(self.plan, entry, &self.files, threads, &progress);
        drop(held);
        drop(seat);
        let baked = baked?;
        self.journal.settle().map_err(Arc::new)?;
        lock(&self.written).insert(index);
        let outcome = job::write(self.plan, entry, baked, &self.journal.scratch)?;
        let record = Record {
            output: entry.output.clone(),
            key: entry.key.clone(),
            outcome: outcome.clone(),
        };
        self.journal.add(record).map_err(Arc::new)?;
        Ok(outcome)
    }
}

/// The files that these entries are going to write, without copies.
fn own_files<'i>(plan: &Plan, entries: impl Iterator<Item = &'i usize>) -> Vec<String> {
    let entries = entries.map(|&index| &plan.manifest.entries[index]);
    let own = entries.flat_map(|entry| [Some(&entry.output), entry.side.as_ref()]);
    own.flatten().cloned().collect()
}

/// A model that a job holds; let go also where the job panics.
struct Held<'a> {
    files: &'a Files<'a>,
    model: usize,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.files.release(self.model);
    }
}

/// Places for jobs that are between reading and writing.
struct Seats {
    free: Mutex<usize>,
    freed: Condvar,
}

/// One of them, taken.
struct Seat<'b>(&'b Seats);

impl Seats {
    fn new(count: usize) -> Self {
        Self {
            free: Mutex::new(count),
            freed: Condvar::new(),
        }
    }

    /// Waits for a free one.
    fn take(&self) -> Seat<'_> {
        let free = lock(&self.free);
        let free = self.freed.wait_while(free, |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        Seat(self)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        *lock(&self.0.free) += 1;
        self.0.freed.notify_one();
    }
}

/// What `work` gives, or what it said when it panicked.
fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "it did not say why".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_contained_and_its_words_are_kept() {
        assert_eq!(contain(|| 3), Ok(3));
        assert_eq!(contain(|| -> u8 { panic!("lost") }), Err("lost".to_owned()));
        assert_eq!(
            contain(|| -> u8 { panic!("lost {}", 7) }),
            Err("lost 7".to_owned())
        );
        let other = contain(|| -> u8 { std::panic::panic_any(7_u8) });
        assert_eq!(other, Err("it did not say why".to_owned()));
    }

    #[test]
    fn a_seat_is_free_again_also_when_its_job_panicked() {
        let seats = Seats::new(1);
        let taken = seats.take();
        let refused = contain(move || {
            let _held = taken;
            panic!("lost");
        });
        assert_eq!(refused, Err::<(), String>("lost".to_owned()));
        assert_eq!(*lock(&seats.free), 1);
        drop(seats.take());
    }
}
