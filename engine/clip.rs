//! Clips: named motion, and the player that puts a clip on an actor. `[K1]`
//!
//! A clip is a list of [`Track`]s. A [`ClipPlayer`] says which time of it an actor shows and fades from clip to clip:
//! what fades is state of that one actor, and restarting a clip in the middle of its own fade is a fade like any other.

use std::sync::Arc;

use bevy_ecs::component::Component;

pub use crate::track::{Interpolation, Track, TrackValues, align_hemispheres};
use crate::uniform::{ErrorBound, NotUniform, RATES_HZ, UniformClip};

/// More clips than this never fade at once; see [`ClipPlayer::cross_fade`].
pub const MOST_FADING: usize = 8;

/// Named motion of a rig's joints.
#[derive(Clone, Debug, PartialEq)]
pub struct Clip {
    /// The name in the file, or one made up from the index; several clips of a file may share a name.
    pub name: String,
    /// Index of the animation in the file it came from: the identity of a clip whose name is shared.
    pub source: usize,
    /// What moves.
    pub tracks: Vec<Track>,
    /// Time of the last key of all tracks, seconds, ≥ 0.
    pub duration: f32,
}

/// What happens at the end of a clip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// The last pose holds.
    #[default]
    Once,
    /// It starts again: the clip is sampled at its time modulo its length.
    Loop,
}

/// A clip as it runs along an actor's clock.
#[derive(Clone, Debug)]
pub struct Playback {
    /// What to play.
    pub clip: Arc<Clip>,
    /// Time within the clip when the actor's clock is 0, seconds.
    pub start: f64,
    /// What happens at its end.
    pub repeat: Repeat,
    /// Seconds of the clip per second of the clock, dimensionless, finite; negative plays it backwards. 1 as it was made.
    pub speed: f64,
    /// The same clip in rows, sampled in its place; see [`Playback::in_rows`].
    pub rows: Option<Arc<UniformClip>>,
}

impl Playback {
    /// Plays `clip` from its beginning, as fast as it was made.
    pub fn new(clip: Arc<Clip>, repeat: Repeat) -> Self {
        Self {
            clip,
            start: 0.0,
            repeat,
            speed: 1.0,
            rows: None,
        }
    }

    /// The same, sampled from rows that stay within `bound` of the keys, on a rig of `joints` joints: cheaper, and the
    /// same bits for every lane width, but not those of the keys.
    ///
    /// Morph weights, fields of view and bake weights are still sampled from their keys.
    ///
    /// # Errors
    /// [`NotUniform`] when no rate is enough: the clip should be played by its keys.
    pub fn in_rows(self, joints: usize, bound: &ErrorBound) -> Result<Self, NotUniform> {
        let rows = UniformClip::resample(&self.clip, joints, bound, &RATES_HZ)?;
        Ok(Self {
            rows: Some(Arc::new(rows)),
            ..self
        })
    }

    /// The time to sample the clip at when the actor's clock shows `time`, seconds.
    ///
    /// A loop shows its first frame again at multiples of its length; a clip of length 0 is sampled at 0.
    pub fn clip_time(&self, time: f64) -> f32 {
        let time = self.start + time * self.speed;
        let length = f64::from(self.clip.duration);
        match self.repeat {
            Repeat::Loop if length > 0.0 => time.rem_euclid(length) as f32,
            Repeat::Loop => 0.0,
            Repeat::Once => time as f32,
        }
    }
}

/// When a clip fades in over what was shown before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fade {
    /// On the actor's clock, seconds.
    began: f64,
    /// How long it takes, seconds.
    seconds: f64,
}

impl Fade {
    /// From 0 to 1 along a line; a fade that takes no time is over at once.
    fn weight(&self, time: f64) -> f32 {
        let share = (time - self.began) / self.seconds;
        if share.is_nan() {
            1.0
        } else {
            share.clamp(0.0, 1.0) as f32
        }
    }
}

/// Plays a clip on an actor, which makes the actor *clip-driven*: each substep samples the clip at its own time. `[T2]`
#[derive(Component, Clone, Debug)]
pub struct ClipPlayer {
    /// What plays now.
    pub playing: Playback,
    fade: Option<Fade>,
    /// What played before and is not covered yet, oldest first, each over those before it.
    under: Vec<(Playback, Option<Fade>)>,
}

impl From<Playback> for ClipPlayer {
    fn from(playing: Playback) -> Self {
        Self {
            playing,
            fade: None,
            under: Vec::new(),
        }
    }
}

impl ClipPlayer {
    /// Plays `clip` from its beginning.
    pub fn new(clip: Arc<Clip>, repeat: Repeat) -> Self {
        Playback::new(clip, repeat).into()
    }

    /// Lets `next` take over within `seconds` from `now` on, a time on the actor's clock
    /// ([`crate::substep::ActorClock::time`]).
    ///
    /// What was shown goes on below until it is covered; the weights of all clips are 1 together at all times. Of more
    /// than [`MOST_FADING`] the newest, which shows least, makes room.
    pub fn cross_fade(&mut self, next: Playback, now: f64, seconds: f64) {
        self.forget_covered(now);
        let before = core::mem::replace(&mut self.playing, next);
        if self.under.len() + 1 < MOST_FADING {
            self.under.push((before, self.fade));
            self.fade = Some(Fade {
                began: now,
                seconds: seconds.max(0.0),
            });
        }
    }

    /// Drops what a clip above it hides at `now` and ever after.
    fn forget_covered(&mut self, now: f64) {
        let whole = |fade: &Option<Fade>| fade.is_none_or(|fade| fade.weight(now) >= 1.0);
        if whole(&self.fade) {
            self.under.clear();
        } else if let Some(lowest) = self.under.iter().rposition(|(_, fade)| whole(fade)) {
            self.under.drain(..lowest);
        }
    }

    /// What plays at `time` on the actor's clock, each with how much of it covers those before it, from 0 to 1. The
    /// first covers all.
    pub fn playing_at(&self, time: f64) -> impl Iterator<Item = (&Playback, f32)> {
        let weight = move |fade: Option<Fade>| fade.map_or(1.0, |fade| fade.weight(time));
        let under = self.under.iter().map(move |(of, fade)| (of, weight(*fade)));
        let all = under.chain([(&self.playing, weight(self.fade))]);
        // What the oldest fades in over is gone.
        all.enumerate()
            .map(|(place, (of, weight))| (of, if place == 0 { 1.0 } else { weight }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(name: &str, duration: f32) -> Arc<Clip> {
        Arc::new(Clip {
            name: name.to_owned(),
            source: 0,
            tracks: Vec::new(),
            duration,
        })
    }

    #[test]
    fn samp_01_a_loop_shows_its_first_frame_at_multiples_of_its_length() {
        let player = Playback::new(clip("", 1.0), Repeat::Loop);
        for (time, expected) in [(1.0, 0.0), (3.0, 0.0), (-0.25, 0.75)] {
            assert_eq!(player.clip_time(time), expected);
        }
    }

    #[test]
    fn a_clip_runs_at_its_speed_from_its_start() {
        let player = Playback {
            start: 0.5,
            speed: -2.0,
            ..Playback::new(clip("", 4.0), Repeat::Once)
        };
        assert_eq!(player.clip_time(0.125), 0.25);
    }

    /// Names and shares of what shows: a clip's weight times what the ones above it leave.
    fn shares(player: &ClipPlayer, time: f64) -> Vec<(String, f32)> {
        let mut shares: Vec<(String, f32)> = Vec::new();
        for (of, weight) in player.playing_at(time) {
            for (_, share) in &mut shares {
                *share *= 1.0 - weight;
            }
            shares.push((of.clip.name.clone(), weight));
        }
        shares
    }

    #[test]
    fn add_07_a_cross_fade_goes_from_one_clip_to_the_other() {
        let mut player = ClipPlayer::new(clip("a", 1.0), Repeat::Loop);
        player.cross_fade(Playback::new(clip("b", 1.0), Repeat::Loop), 2.0, 0.5);
        let expect = |time, a: f32, b: f32| {
            let expected = vec![("a".to_owned(), a), ("b".to_owned(), b)];
            assert_eq!(shares(&player, time), expected, "at {time}");
        };
        expect(2.0, 1.0, 0.0);
        expect(2.25, 0.5, 0.5);
        expect(2.5, 0.0, 1.0);
    }

    #[test]
    fn add_07_rapid_changes_keep_the_weights_at_one_and_the_list_short() {
        for every in [0.1, 1.0 / 60.0, 0.001] {
            let mut player = ClipPlayer::new(clip("a", 1.0), Repeat::Loop);
            for change in 0..100 {
                let now = f64::from(change) * every;
                let name = if change % 2 == 0 { "b" } else { "a" };
                player.cross_fade(Playback::new(clip(name, 1.0), Repeat::Loop), now, 0.5);
                let shares = shares(&player, now + every * 0.5);
                assert!(shares.len() <= MOST_FADING);
                let sum: f32 = shares.iter().map(|(_, share)| share).sum();
                assert!((sum - 1.0).abs() < 1e-6, "{shares:?}");
            }
        }
    }

    #[test]
    fn a_fade_that_takes_no_time_is_a_cut() {
        let mut player = ClipPlayer::new(clip("a", 1.0), Repeat::Loop);
        player.cross_fade(Playback::new(clip("b", 1.0), Repeat::Loop), 1.0, 0.0);
        assert_eq!(shares(&player, 1.0).last().unwrap().1, 1.0);
    }
}
