//! Batches: many clips on all threads. One task is one World with up to [`MOST_CLIPS`] clips of one rig side by side.
//!
//! A recording has the same bits in any company and on any number of threads, so the tasks are cut for speed alone: clips
//! of similar lengths together, so that a task's lanes end together, and no task much longer than a thread's share.

use std::sync::Arc;
use std::time::Instant;

use super::moved::moved_properties;
use super::recording::{FrameTimes, Recording};
use super::session::{self, Request};
use super::{BakeOptions, check, check_size, count_frames, nothing_moves};
use crate::assets::Error;
use crate::clip::Clip;
use crate::profile::{MOST_PREWARM, SwingProfile};
use crate::rig::Rig;

/// Most clips in one task: as many as a group has lanes.
pub const MOST_CLIPS: usize = 32;

/// Clips played.
#[derive(Clone, Debug, Default)]
pub struct Simulated {
    /// One per clip, in the order of the clips.
    pub recordings: Vec<Recording>,
    /// Time spent in tasks, all threads together, seconds: setting up their Worlds, sampling, simulating and recording.
    pub busy_seconds: f64,
}

/// The threads that clips are simulated on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads<'p> {
    /// The pool; `None`: the current one. A caller that is no thread of it waits and takes no part, so that the pool's
    /// threads never hold one bake while they work on another.
    pub pool: Option<&'p rayon::ThreadPool>,
    /// How many of them this bake may count on: others are busy with other bakes. `None`: all.
    pub share: Option<usize>,
}

impl Threads<'_> {
    /// Into how many tasks the work is cut at least.
    fn count(&self) -> usize {
        let all = self.pool.map_or_else(
            rayon::current_num_threads,
            rayon::ThreadPool::current_num_threads,
        );
        self.share.unwrap_or(all)
    }

    /// Runs `spawn`, and everything that it spawns, to its end.
    fn scope<'s>(&self, spawn: impl FnOnce(&rayon::ScopeFifo<'s>)) {
        match self.pool {
            Some(pool) => pool.in_place_scope_fifo(spawn),
            None => rayon::in_place_scope_fifo(spawn),
        }
    }
}

/// Simulates `clips` on `rig` (the model's, with swing joints), on the threads of the current rayon pool.
///
/// `progress` is called from several threads with the number of frames done since its last call.
///
/// # Errors
/// [`Error::Request`] when the options are out of range, no joint moves, a clip is too long (the first one is named) or
/// all of them are too much together. What would fail does so before anything is simulated.
pub fn simulate(
    rig: &Rig,
    clips: &[Arc<Clip>],
    options: &BakeOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Simulated, Error> {
    simulate_on(Threads::default(), rig, clips, options, progress)
}

/// As [`simulate`], on `threads`; a recording has the same bits on any.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_on(
    threads: Threads<'_>,
    rig: &Rig,
    clips: &[Arc<Clip>],
    options: &BakeOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Simulated, Error> {
    check(options)?;
    let properties = moved_properties(rig);
    if properties.is_empty() {
        return Err(nothing_moves(rig));
    }
    let numbers = properties.iter().map(|(_, property)| property.width());
    check_size(count_frames(clips, options), numbers.sum())?;
    let requests: Result<Vec<Request>, Error> = clips
        .iter()
        .enumerate()
        .map(|(index, clip)| {
            Ok(Request {
                index,
                times: FrameTimes::new(clip.duration, options.rate_hz)?,
                clip: Arc::clone(clip),
            })
        })
        .collect();
    let tasks = share_out(requests?, &options.profile, threads.count());
    let mut results = vec![(Vec::new(), 0.0); tasks.len()];
    // In the order they are in, the longest first: what is short fills the gaps at the end.
    threads.scope(|scope| {
        for (task, result) in tasks.iter().zip(&mut results) {
            scope.spawn_fifo(move |_| {
                let begin = Instant::now();
                let recorded = session::record(rig, task, options, progress);
                *result = (recorded, begin.elapsed().as_secs_f64());
            });
        }
    });
    Ok(in_order(results))
}

/// Recordings in the order of their indices.
fn in_order(results: Vec<(Vec<(usize, Recording)>, f64)>) -> Simulated {
    let busy_seconds = results.iter().map(|(_, seconds)| seconds).sum();
    let mut recorded: Vec<(usize, Recording)> =
        results.into_iter().flat_map(|(task, _)| task).collect();
    recorded.sort_unstable_by_key(|(index, _)| *index);
    Simulated {
        recordings: recorded.into_iter().map(|(_, of)| of).collect(),
        busy_seconds,
    }
}

/// Cuts requests, longest first, into tasks for `threads` threads.
///
/// A task has room for its share of the clips, as many for every task as leave no thread without one; and for a thread's
/// share of the work, so that one long clip is not given many others to wait for it.
fn share_out(
    mut requests: Vec<Request>,
    profile: &SwingProfile,
    threads: usize,
) -> Vec<Vec<Request>> {
    // Stable: ties stay in the order of their indices.
    requests.sort_by(|a, b| b.times.end().total_cmp(&a.times.end()));
    let (count, threads) = (requests.len().max(1), threads.max(1));
    let rounds = count.div_ceil(MOST_CLIPS * threads);
    let most = count.div_ceil(rounds * threads);
    let whole: u64 = requests.iter().map(|request| work(request, profile)).sum();
    // In whole clips: four equal ones on three threads are two tasks, not four.
    let share = (whole * count.div_ceil(threads) as u64).div_ceil(count as u64);
    let mut tasks: Vec<Vec<Request>> = Vec::new();
    let mut filled = 0;
    for request in requests {
        let work = work(&request, profile);
        match tasks.last_mut() {
            // The one that crosses the share belongs where most of it lies.
            Some(task) if task.len() < most && filled + work / 2 <= share => {
                task.push(request);
                filled += work;
            }
            _ => {
                tasks.push(vec![request]);
                filled = work;
            }
        }
    }
    tasks
}

/// Substeps of a clip, about, if it is played once.
fn work(request: &Request, profile: &SwingProfile) -> u64 {
    let settling = profile.prewarm.min(MOST_PREWARM);
    (request.times.end() * 60.0).ceil() as u64 + u64::from(settling) + 1
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::still;
    use super::*;

    /// The lengths in seconds of the clips of each task.
    fn shares(seconds: &[f32], threads: usize) -> Vec<Vec<f64>> {
        let request = |(index, &seconds): (usize, &f32)| Request {
            index,
            clip: still(seconds),
            times: FrameTimes::new(seconds, 60.0).unwrap(),
        };
        let requests = seconds.iter().enumerate().map(request).collect();
        let tasks = share_out(requests, &SwingProfile::default(), threads);
        let lengths = |task: &Vec<Request>| task.iter().map(|one| one.times.end()).collect();
        tasks.iter().map(lengths).collect()
    }

    #[test]
    fn every_thread_has_work() {
        assert_eq!(shares(&[1.0; 4], 2), [[1.0, 1.0], [1.0, 1.0]]);
        assert_eq!(shares(&[1.0; 4], 1), [[1.0; 4]]);
        assert_eq!(shares(&[1.0; 3], 8), [[1.0], [1.0], [1.0]]);
        assert_eq!(shares(&[1.0], 8), [[1.0]]);
        assert!(shares(&[], 8).is_empty());
    }

    #[test]
    fn no_task_has_more_clips_than_a_group_has_lanes() {
        for count in 1..300 {
            for threads in [1, 2, 3, 8] {
                let tasks = shares(&vec![0.5; count], threads);
                assert!(tasks.iter().all(|task| task.len() <= MOST_CLIPS));
                assert_eq!(tasks.iter().map(Vec::len).sum::<usize>(), count);
                let most = count.div_ceil(MOST_CLIPS).next_multiple_of(threads);
                assert!(tasks.len() <= most, "{count} clips, {threads} threads");
                assert!(tasks.len() * 2 > threads.min(count), "threads are idle");
            }
        }
    }

    #[test]
    fn clips_of_similar_length_share_a_task_and_a_long_one_is_as_much_as_many_short_ones() {
        let mut seconds = vec![0.5; 20];
        seconds[7] = 60.0;
        seconds[9] = 3.0;
        let tasks = shares(&seconds, 2);
        assert_eq!(tasks[0], [60.0]);
        assert_eq!(tasks[1][..2], [3.0, 0.5]);
        let flat: Vec<f64> = tasks.concat();
        assert!(flat.windows(2).all(|pair| pair[0] >= pair[1]), "{flat:?}");
    }
}
