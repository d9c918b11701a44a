//! Sessions: the clips of one task played side by side, each by an actor of its own, all in one World.
//!
//! A step of the session runs one frame of the World and records one frame of every take. The takes share the rig's plan
//! and so the lanes of its crowd; what they do not share is time: clips end between the multiples of 1/rate, loops begin
//! anew there, and no actor may run a frame that its clip does not have (drivers lag by frames, profiles cut substeps by
//! frames). The World's clock therefore stands at 0 and each take says when its own frame ends, see
//! [`ActorClock::end_frame_at`]. A take that has ended leaves its place in the lanes; the others go on.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;

use super::moved::{Property, moved_properties};
use super::recording::{FrameTimes, Recording, uncapped};
use super::{BakeOptions, Seam};
use crate::assets::state_hash;
use crate::clip::{Clip, ClipPlayer, Repeat};
use crate::pose::{LocalPose, PoseHealth};
use crate::rig::Rig;
use crate::substep::ActorClock;
use crate::swing::SwingReadout;
use crate::systems::plugin::Headless;
use crate::systems::substeps::Workers;

/// A clip to record.
#[derive(Clone, Debug)]
pub struct Request {
    /// What tells it from the others.
    pub index: usize,
    /// What to play.
    pub clip: Arc<Clip>,
    /// When its frames are.
    pub times: FrameTimes,
}

/// Plays the clips of `requests` on actors of `rig` and records them; gives each recording with its request's index, in
/// the order in which they ended. `progress` hears how many frames were recorded.
///
/// A recording hangs on its own clip alone, not on the others.
pub fn record(
    rig: &Rig,
    requests: &[Request],
    options: &BakeOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<(usize, Recording)> {
    let mut session = Session::new(rig, requests, options);
    let mut ended = Vec::with_capacity(requests.len());
    while !session.takes.is_empty() {
        session.step(&mut ended, progress);
    }
    ended
}

/// A World whose actors play one clip each.
struct Session<'a> {
    host: Headless,
    options: &'a BakeOptions,
    /// Joint of each swing joint of the rig.
    joints: Vec<usize>,
    /// Those that have not ended.
    takes: Vec<Take>,
}

impl<'a> Session<'a> {
    fn new(rig: &Rig, requests: &[Request], options: &'a BakeOptions) -> Self {
        let mut host = Headless::new();
        host.world.insert_resource(Workers::One);
        let entity = host.spawn_rig(rig);
        let moved = moved_properties(rig);
        let takes = requests
            .iter()
            .map(|request| Take::new(&mut host, entity, request, &moved, options))
            .collect();
        Self {
            host,
            options,
            joints: rig.swing.iter().map(|swing| swing.joint).collect(),
            takes,
        }
    }

    /// Runs the next frame of every take, records it and moves those that have ended to `ended`.
    fn step(&mut self, ended: &mut Vec<(usize, Recording)>, progress: &(dyn Fn(u64) + Sync)) {
        let world = &mut self.host.world;
        for take in &self.takes {
            if let Some(mut clock) = world.get_mut::<ActorClock>(take.actor) {
                clock.end_frame_at(take.time());
            }
        }
        let ran = self.host.run_to(0.0);
        debug_assert!(ran.is_ok(), "the World's clock stands still");
        let (world, joints, options) = (&self.host.world, &self.joints, self.options);
        let mut frames = 0;
        let over = self.takes.extract_if(.., |take| {
            let (recorded, goes_on) = take.record(world, joints, options);
            frames += recorded;
            !goes_on
        });
        let over: Vec<Take> = over.collect();
        for take in over {
            let (actor, index) = (take.actor, take.index);
            ended.push((index, take.finish(&self.host.world, options)));
            self.host.world.despawn(actor);
        }
        progress(frames);
    }
}

/// One clip: where it is, and what was recorded of it.
struct Take {
    /// Of the request.
    index: usize,
    actor: Entity,
    times: FrameTimes,
    looped: bool,
    /// The frame to run next.
    frame: u32,
    /// How often the clip was played to its end.
    pass: u32,
    /// What the swing joints did when the pass began; empty in the first.
    begin: SwingReadout,
    recording: Recording,
}

impl Take {
    fn new(
        host: &mut Headless,
        rig: Entity,
        request: &Request,
        moved: &[(usize, Property)],
        options: &BakeOptions,
    ) -> Self {
        // A loop of no length has nothing to repeat.
        let looped = options.looped && request.times.end() > 0.0;
        let repeat = if looped { Repeat::Loop } else { Repeat::Once };
        let parts = (
            ClipPlayer::new(Arc::clone(&request.clip), repeat),
            options.properties,
            uncapped(&options.profile, options.rate_hz),
            SwingReadout::default(),
        );
        Self {
            index: request.index,
            actor: host.spawn_actor(rig, parts),
            times: request.times,
            looped,
            frame: 0,
            pass: 0,
            begin: SwingReadout::default(),
            recording: Recording::new(moved, request.times.most()),
        }
    }

    /// When the next frame ends on the actor's clock, seconds: that one began with the first frame.
    fn time(&self) -> f64 {
        let pass = f64::from(self.pass) * self.times.end();
        pass + self.times.at(self.frame) - self.times.at(0)
    }

    /// Records the frame that just ran and moves on to the next; says how many frames that were and whether there is a
    /// next.
    ///
    /// The first frame of a pass is at the time of the last one of the pass before: no time passes and nothing runs, the
    /// same state is recorded again.
    fn record(&mut self, world: &World, joints: &[usize], options: &BakeOptions) -> (u64, bool) {
        let now = self.time();
        let mut recorded = 0;
        let mut goes_on = true;
        while goes_on && self.time() <= now {
            self.keep(world, joints, options);
            recorded += 1;
            if self.times.is_last(self.frame) {
                goes_on = self.end_pass(world, options.most_passes);
            } else {
                self.frame += 1;
            }
        }
        (recorded, goes_on)
    }

    /// Appends what the actor shows to the recording.
    fn keep(&mut self, world: &World, joints: &[usize], options: &BakeOptions) {
        let shown = world.get::<LocalPose>(self.actor);
        if let Some((pose, readout)) = shown.zip(world.get::<SwingReadout>(self.actor)) {
            let time = self.times.at(self.frame) as f32;
            self.recording.keep(time, &pose.0, readout, joints);
        }
        if options.hashes {
            let hash = state_hash::of_actor(world, self.actor);
            self.recording.hashes.push(hash);
        }
    }

    /// The clip was played to its end: says whether it is played again. A loop is, until its end meets its start or it
    /// was played `most_passes` times.
    fn end_pass(&mut self, world: &World, most_passes: u32) -> bool {
        self.pass += 1;
        let readout = world.get::<SwingReadout>(self.actor);
        let Some(readout) = readout.filter(|_| self.looped) else {
            return false;
        };
        if self.pass > 1 {
            let seam = Seam::between(&self.begin, readout, self.pass);
            self.recording.seam = Some(seam);
            if seam.is_closed() {
                return false;
            }
        }
        let again = self.pass < most_passes;
        if again {
            self.begin.clone_from(readout);
            self.frame = 0;
            self.recording.forget();
        }
        again
    }

    /// The recording, with what is known at the end.
    fn finish(self, world: &World, options: &BakeOptions) -> Recording {
        let clock = world.get::<ActorClock>(self.actor);
        let health = world.get::<PoseHealth>(self.actor);
        Recording {
            substeps: clock.map_or(0, |clock| clock.substeps) + u64::from(options.profile.prewarm),
            invalid: health.map_or_else(Vec::new, |health| health.reported.clone()),
            ..self.recording
        }
    }
}
