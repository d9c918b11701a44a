//! A scene: a rig, how it is solved, the input of every frame, and running it.

use bevy_math::Vec3;
use flounce::crowd::{ActorState, Crowds, Seat, Slot};
use flounce::driver::Driver;
use flounce::pose::JointTransform;
use flounce::profile::{SubstepPolicy, SwingProfile};
use flounce::rig::Rig;
use flounce::substep::FIXED_STEP;
use flounce::swing::{ActorProperties, BakeWeights};
use flounce::systems::motion::{Reset, Teleport, WorldFromActor};
use flounce::wind::Wind;
use proptest::test_runner::TestCaseResult;

use crate::support::chains::{Frame, Stage};

/// What happens to an actor before a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Teleport,
    Reset,
}

/// The input of a frame.
#[derive(Clone, Debug)]
pub struct Input {
    pub seconds: f64,
    pub pose: Vec<JointTransform>,
    pub placed: WorldFromActor,
    pub event: Option<Event>,
}

/// A rig, how it is solved, and the input of every frame.
#[derive(Clone, Debug)]
pub struct Scene {
    pub rig: Rig,
    pub profile: SwingProfile,
    pub properties: ActorProperties,
    pub wind: Option<Wind>,
    /// Weights of the swing joints, repeated as often as needed.
    pub bake: Option<Vec<f32>>,
    pub frames: Vec<Input>,
}

impl Scene {
    pub fn stage(&self) -> Stage {
        let placed = self.frames[0].placed;
        let mut stage = Stage::with(&self.rig, self.profile, self.properties, placed);
        let mut actor = stage.host.world.entity_mut(stage.actor);
        if let Some(wind) = &self.wind {
            actor.insert(wind.clone());
        }
        if let Some(bake) = &self.bake {
            let weights = bake.iter().cycle().copied();
            actor.insert(BakeWeights(weights.take(self.rig.swing.len()).collect()));
        }
        stage
    }

    /// Runs every frame on `stage` and hands what it shows to `check`, until that is not content.
    pub fn run_on(
        &self,
        stage: &mut Stage,
        mut check: impl FnMut(usize, &Stage) -> TestCaseResult,
    ) -> TestCaseResult {
        for (index, input) in self.frames.iter().enumerate() {
            stage.pose().0.clone_from(&input.pose);
            let (world, entity) = (&mut stage.host.world, stage.actor);
            world.entity_mut(entity).insert(input.placed);
            match input.event {
                Some(Event::Teleport) => world.trigger(Teleport { entity }),
                Some(Event::Reset) => world.trigger(Reset { entity }),
                None => {}
            }
            stage.host.step(input.seconds).unwrap();
            check(index, stage)?;
        }
        Ok(())
    }

    /// Runs every frame and hands what it shows to `check`, until that is not content.
    pub fn run(&self, check: impl FnMut(usize, &Stage) -> TestCaseResult) -> TestCaseResult {
        self.run_on(&mut self.stage(), check)
    }

    pub fn shown(&self) -> Vec<Frame> {
        let mut frames = Vec::new();
        let ran = self.run(|_, stage| {
            frames.push(stage.frame());
            Ok(())
        });
        ran.unwrap();
        frames
    }

    /// What is shown of every frame is what its last substep resolved: under the fixed policy each lasts one substep.
    pub fn in_substeps(mut self) -> Self {
        if self.profile.substeps == SubstepPolicy::Fixed {
            for frame in &mut self.frames {
                frame.seconds = FIXED_STEP;
            }
        }
        self
    }

    /// No constraint changes a joint's scale: bones have the length and the mirrored axes that they have at rest.
    pub fn unscaled(mut self) -> Self {
        for driver in &mut self.rig.drivers {
            if let Driver::Blend(blend) = driver {
                blend.offset.scale = self.rig.joints[blend.joint].rest.scale;
                let sources = blend.sources.iter_mut().map(|source| &mut source.weight);
                let field = blend.field.iter_mut().map(|field| &mut field.weight);
                sources.chain(field).for_each(|weight| weight.z = 0.0);
            }
        }
        self
    }

    /// Nothing of the animation is blended in.
    pub fn whole(mut self) -> Self {
        self.properties.weight = 1.0;
        self.bake = None;
        for swing in &mut self.rig.swing {
            swing.bake_weight = 0.0;
        }
        self
    }
}

/// The state of a stage's only actor.
pub fn actor(stage: &Stage) -> ActorState<'_> {
    let world = &stage.host.world;
    let seat = world.get::<Seat>(stage.actor).unwrap();
    world.resource::<Crowds>().actor(*seat)
}

/// What a stage's only actor keeps for itself.
pub fn slot(stage: &Stage) -> &Slot {
    let world = &stage.host.world;
    let seat = world.get::<Seat>(stage.actor).unwrap();
    world.resource::<Crowds>().slot(*seat)
}

/// Three components of the particle at `place`, see `flounce::crowd::particle`.
pub fn particle_at(actor: &ActorState, place: usize, component: usize) -> Vec3 {
    Vec3::from_slice(&actor.particle(place)[component..])
}
