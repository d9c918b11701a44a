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
    /// Plays `clip` as fast as it was made; it begins where the actor's clock is 0. See [`Playback::begins_at`].
    pub fn new(clip: Arc<Clip>, repeat: Repeat) -> Self {
        Self {
            clip,
            start: 0.0,
            repeat,
            speed: 1.0,
            rows: None,
        }
    }

    /// The same, begun at `now` on the actor's clock ([`crate::substep::ActorClock::time`]): what it shows at 0 now, it
    /// shows then.
    pub fn begins_at(self, now: f64) -> Self {
        Self {
            start: self.start - now * self.speed,
            ..self
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
    /// ([`crate::substep::ActorClock::time`]). Where it is to start from its beginning, give it
    /// [`Playback::begins_at`] `now`.
    ///
    /// What was shown goes on below until it is covered; the weights of all clips are 1 together at all times. When
    /// [`MOST_FADING`] fade at once, the one that shows least makes room.
    pub fn cross_fade(&mut self, next: Playback, now: f64, seconds: f64) {
        self.forget_covered(now);
        if self.under.len() + 1 >= MOST_FADING {
            self.forget_least(now);
        }
        let before = core::mem::replace(&mut self.playing, next);
        self.under.push((before, self.fade));
        self.fade = Some(Fade {
            began: now,
            seconds: seconds.max(0.0),
        });
    }

    /// Ends all fades: what plays now shows alone. A reset does so, because the actor's clock begins anew.
    pub fn settle(&mut self) {
        self.fade = None;
        self.under.clear();
    }

    /// Whether more than one clip is held.
    pub fn is_fading(&self) -> bool {
        self.fade.is_some()
    }

    /// The place, from the oldest on, of the last clip that covers all before it at `time`.
    fn covers_from(&self, time: f64) -> usize {
        let whole = |fade: &Option<Fade>| fade.is_none_or(|fade| fade.weight(time) >= 1.0);
        if whole(&self.fade) {
            return self.under.len();
        }
        let covering = self.under.iter().rposition(|(_, fade)| whole(fade));
        covering.unwrap_or(0)
    }

    /// Drops what a clip above it hides at `now` and ever after.
    fn forget_covered(&mut self, now: f64) {
        self.under.drain(..self.covers_from(now));
    }

    /// Drops the clip that shows least at `now`.
    fn forget_least(&mut self, now: f64) {
        let weights: Vec<f32> = self.playing_at(now).map(|(_, weight)| weight).collect();
        let share = |place: usize| {
            let above = weights[place + 1..].iter().map(|weight| 1.0 - weight);
            weights[place] * above.product::<f32>()
        };
        let least = (0..weights.len()).min_by(|&a, &b| share(a).total_cmp(&share(b)));
        match least {
            Some(place) if place < self.under.len() => {
                self.under.remove(place);
            }
            _ => {
                if let Some((playing, fade)) = self.under.pop() {
                    (self.playing, self.fade) = (playing, fade);
                }
            }
        }
    }

    /// What plays at `time` on the actor's clock, each with how much of it covers those before it, from 0 to 1. The
    /// first covers all.
    pub fn playing_at(&self, time: f64) -> impl Iterator<Item = (&Playback, f32)> {
        let weight = move |fade: Option<Fade>| fade.map_or(1.0, |fade| fade.weight(time));
        let under = self.under.iter().map(move |(of, fade)| (of, weight(*fade)));
        let all = under.chain([(&self.playing, weight(self.fade))]);
        // What the oldest fades in over is gone.
        let shown = all.skip(self.covers_from(time)).enumerate();
        shown.map(|(place, (of, weight))| (of, if place == 0 { 1.0 } else { weight }))
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
        assert_eq!(shares(&player, 2.5), [("b".to_owned(), 1.0)]);
    }

    /// How much each name shows.
    fn by_name(player: &ClipPlayer, time: f64) -> std::collections::BTreeMap<String, f32> {
        let mut sums = std::collections::BTreeMap::new();
        for (name, share) in shares(player, time) {
            *sums.entry(name).or_insert(0.0) += share;
        }
        sums
    }

    #[test]
    fn add_07_rapid_changes_keep_the_list_short_and_what_shows_steady() {
        for every in [0.1, 1.0 / 60.0, 0.001] {
            let mut player = ClipPlayer::new(clip("a", 1.0), Repeat::Loop);
            for change in 0..100 {
                let now = f64::from(change) * every;
                let before = by_name(&player, now);
                let name = format!("clip {change}");
                player.cross_fade(Playback::new(clip(&name, 1.0), Repeat::Loop), now, 0.5);
                let after = by_name(&player, now);
                assert!(player.playing_at(now).count() <= MOST_FADING);
                assert!(
                    (after.values().sum::<f32>() - 1.0).abs() < 1e-6,
                    "{after:?}"
                );
                // The change itself shows nothing yet; of what shows, an eighth at most makes room.
                assert_eq!(after[&name], 0.0);
                for (name, share) in before {
                    let now = after.get(&name).copied().unwrap_or(0.0);
                    assert!((share - now).abs() <= 0.125, "{name}: {share}, then {now}");
                }
            }
        }
    }

    #[test]
    fn add_07_a_short_fade_among_long_ones_is_not_cut_off() {
        let mut player = ClipPlayer::new(clip("a", 1.0), Repeat::Loop);
        for n in 0..6 {
            player.cross_fade(
                Playback::new(clip(&format!("{n}"), 1.0), Repeat::Loop),
                0.0,
                10.0,
            );
        }
        player.cross_fade(Playback::new(clip("quick", 1.0), Repeat::Loop), 0.0, 0.1);
        let shown = by_name(&player, 0.09)["quick"];
        player.cross_fade(Playback::new(clip("next", 1.0), Repeat::Loop), 0.09, 1.0);
        assert!((by_name(&player, 0.09)["quick"] - shown).abs() < 0.02);
        assert!((by_name(&player, 0.59)["next"] - 0.5).abs() < 1e-6);
    }

    #[test]
    fn a_clip_that_begins_now_shows_its_beginning() {
        let playback = Playback {
            speed: 2.0,
            ..Playback::new(clip("jump", 1.0), Repeat::Once)
        };
        let begun = playback.begins_at(100.0);
        assert_eq!(
            [100.0, 100.25].map(|time| begun.clip_time(time)),
            [0.0, 0.5]
        );
    }

    #[test]
    fn a_fade_that_takes_no_time_is_a_cut() {
        let mut player = ClipPlayer::new(clip("a", 1.0), Repeat::Loop);
        player.cross_fade(Playback::new(clip("b", 1.0), Repeat::Loop), 1.0, 0.0);
        assert_eq!(shares(&player, 1.0).last().unwrap().1, 1.0);
    }
}
