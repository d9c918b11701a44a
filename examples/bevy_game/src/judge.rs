//! The judge: looks at every joint of every character after each frame, and says at the end whether what a player would
//! notice was right. It knows nothing of flounce's inside: it reads the `Transform`s that are drawn.

use core::ops::Range;

use bevy::prelude::*;
use flounce::game::SwingStatus;
use flounce::prelude::FlounceSystems;

use crate::characters::{BlinkTo, Character};

/// How far a blink may turn a bone in a frame, degrees. The walk of that frame is not felt: 18 mm, which turn a bone of 70 mm
/// by 15 degrees. Hair that is left behind by 0.8 m turns by a hundred.
const POP_DEG: f32 = 16.0;
/// What counts as swinging, degrees.
const SWINGS_DEG: f32 = 2.0;
/// Slow motion at a tenth: the largest step may be this share of the ordinary one.
const SLOW_SHARE: f32 = 0.35;

/// What was done to the characters, and when, in frames.
pub struct Plan {
    /// A frame of a second.
    pub hitch: usize,
    /// The game stood still.
    pub pause: Range<usize>,
    /// [`Self::slowed`] went at a tenth.
    pub slow: Range<usize>,
    /// Who.
    pub slowed: &'static str,
    /// The swing of [`Self::held`] stood still, its walk did not.
    pub hold: Range<usize>,
    /// Who.
    pub held: &'static str,
    /// The bones of [`Self::reset`] were put at rest.
    pub reset_frame: usize,
    /// Who.
    pub reset: &'static str,
}

impl Plan {
    /// Whether nothing was done to `who` in `frame`, nor just before.
    fn is_ordinary(&self, who: &str, frame: usize) -> bool {
        let near = |range: &Range<usize>| (range.start..range.end + 2).contains(&frame);
        !(near(&(self.hitch..self.hitch + 10))
            || near(&self.pause)
            || (who == self.slowed && near(&self.slow))
            || (who == self.held && near(&self.hold))
            || (who == self.reset && near(&(self.reset_frame..self.reset_frame + 1)))
            || frame < 2)
    }
}

/// A joint that is watched.
struct Joint {
    entity: Entity,
    swings: bool,
    /// Below its parent, as animation or rest has it.
    animated: Quat,
    /// As it was shown last.
    shown: Quat,
}

/// What was seen of a character in a frame.
#[derive(Clone, Copy)]
struct Look {
    /// Largest turn of a swing joint since the last frame, degrees.
    step: f32,
    /// Largest turn of a swing joint against its animated pose, degrees.
    deflection: f32,
    /// Of all joints.
    bits: u64,
    /// Of the swing joints.
    swing_bits: u64,
}

/// A character that is watched.
struct Watched {
    name: &'static str,
    root: Entity,
    joints: Vec<Joint>,
    looks: Vec<Look>,
    blinks: Vec<usize>,
    broken: Option<String>,
}

/// All that was seen.
#[derive(Resource, Default)]
pub struct Watch {
    characters: Vec<Watched>,
    frame: usize,
    hash: Hash,
}

/// FNV-1a.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn feed(&mut self, transform: &Transform) {
        let numbers = transform
            .translation
            .to_array()
            .into_iter()
            .chain(transform.rotation.to_array())
            .chain(transform.scale.to_array());
        for byte in numbers.flat_map(|number| number.to_bits().to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Lets the judge see what comes out of animation before flounce has it.
pub struct JudgePlugin;

impl Plugin for JudgePlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Watch>()
            .add_systems(PostUpdate, note_animated.in_set(FlounceSystems::First))
            .add_observer(note_blink);
    }
}

/// A rotation that is not what was shown last was set by animation; else the joint is not animated.
fn note_animated(mut watch: ResMut<Watch>, transforms: Query<&Transform>) {
    for joint in watch.characters.iter_mut().flat_map(|who| &mut who.joints) {
        if let Ok(now) = transforms.get(joint.entity)
            && now.rotation != joint.shown
        {
            joint.animated = now.rotation;
        }
    }
}

fn note_blink(event: On<BlinkTo>, mut watch: ResMut<Watch>) {
    let frame = watch.frame;
    for who in watch
        .characters
        .iter_mut()
        .filter(|who| who.root == event.entity)
    {
        who.blinks.push(frame);
    }
}

impl Watch {
    /// Starts to watch all characters, in the order of the cast whatever order they came in.
    pub fn start(world: &mut World) {
        let mut characters = world.query::<(Entity, &Character)>();
        let mut cast: Vec<(Entity, &'static str, &'static [&'static str])> = characters
            .iter(world)
            .map(|(root, who)| (root, who.role.name, who.role.swings))
            .collect();
        cast.sort_by_key(|(_, name, _)| *name);
        let watched = cast.into_iter().map(|(root, name, swings)| Watched {
            name,
            root,
            joints: joints_below(world, root, swings),
            looks: Vec::new(),
            blinks: Vec::new(),
            broken: None,
        });
        let watched: Vec<Watched> = watched.collect();
        world.resource_mut::<Self>().characters = watched;
    }

    /// Tells which frame comes.
    pub fn announce(world: &mut World, frame: usize) {
        world.resource_mut::<Self>().frame = frame;
    }

    /// Looks at what the frame shows.
    pub fn look(world: &mut World) {
        world.resource_scope(|world, mut watch: Mut<Self>| {
            let Self {
                characters,
                frame,
                hash,
            } = &mut *watch;
            for who in characters {
                who.look(world, *frame, hash);
            }
        });
    }
}

/// Parents first, children in their order.
fn joints_below(world: &World, root: Entity, swings: &[&str]) -> Vec<Joint> {
    let mut joints = Vec::new();
    let mut open = vec![root];
    while let Some(entity) = open.pop() {
        if let Some(children) = world.get::<Children>(entity) {
            open.extend(children.iter().rev());
        }
        let Some(transform) = world.get::<Transform>(entity) else {
            continue;
        };
        let name = world.get::<Name>(entity).map_or("", Name::as_str);
        joints.push(Joint {
            entity,
            swings: entity != root && swings.iter().any(|start| name.starts_with(start)),
            animated: transform.rotation,
            shown: transform.rotation,
        });
    }
    joints
}

impl Watched {
    fn look(&mut self, world: &World, frame: usize, hash: &mut Hash) {
        let (mut all, mut swinging) = (Hash::default(), Hash::default());
        let (mut step, mut deflection) = (0.0_f32, 0.0_f32);
        for joint in &mut self.joints {
            let Some(transform) = world.get::<Transform>(joint.entity) else {
                self.broken = Some(format!("a joint is gone in frame {frame}"));
                continue;
            };
            if !transform.is_finite() {
                self.broken = Some(format!("not finite in frame {frame}"));
            }
            hash.feed(transform);
            all.feed(transform);
            if joint.swings {
                swinging.feed(transform);
                step = step.max(degrees(joint.shown, transform.rotation));
                deflection = deflection.max(degrees(joint.animated, transform.rotation));
            }
            joint.shown = transform.rotation;
        }
        if world.get::<SwingStatus>(self.root) != Some(&SwingStatus::Bound) {
            self.broken = Some(format!("no longer bound in frame {frame}"));
        }
        self.looks.push(Look {
            step,
            deflection,
            bits: all.0,
            swing_bits: swinging.0,
        });
    }

    /// The largest of `of` in the frames of `frames`.
    fn largest(&self, frames: impl Fn(usize) -> bool, of: impl Fn(&Look) -> f32) -> f32 {
        let looks = self.looks.iter().enumerate();
        looks
            .filter(|(frame, _)| frames(*frame))
            .map(|(_, look)| of(look))
            .fold(0.0, f32::max)
    }

    /// Largest step where nothing happened.
    fn ordinary_step(&self, plan: &Plan) -> f32 {
        let calm = |frame| plan.is_ordinary(self.name, frame) && !self.after_blink(frame);
        self.largest(calm, |look| look.step)
    }

    fn after_blink(&self, frame: usize) -> bool {
        self.blinks
            .iter()
            .any(|blink| (*blink..blink + 4).contains(&frame))
    }

    /// Whether `bits` stay the same from the first frame of `frames` to the last.
    fn stays(&self, frames: &Range<usize>, bits: impl Fn(&Look) -> u64) -> bool {
        let looks = &self.looks[frames.clone()];
        looks
            .windows(2)
            .all(|pair| bits(&pair[0]) == bits(&pair[1]))
    }
}

/// The angle between two rotations.
fn degrees(one: Quat, other: Quat) -> f32 {
    // `Quat::angle_between` loses small angles: the cosine of 0.02° rounds to 1.
    let between = one.conjugate() * other;
    (2.0 * ops::atan2(between.xyz().length(), between.w.abs())).to_degrees()
}

/// One thing that has to hold.
struct Claim {
    holds: bool,
    says: String,
}

/// Prints what was seen; whether all of it was right.
pub fn verdict(world: &World, plan: &Plan) -> bool {
    let watch = world.resource::<Watch>();
    println!("character     swing joints  largest deflection  largest step  at a blink");
    for who in &watch.characters {
        let swings = who.joints.iter().filter(|joint| joint.swings).count();
        let blink = who.largest(|frame| who.after_blink(frame), |look| look.step);
        let blink = if who.blinks.is_empty() {
            String::new()
        } else {
            format!("{blink:.2}\u{b0}")
        };
        println!(
            "{:<13} {swings:>12}  {:>17.1}\u{b0}  {:>11.2}\u{b0}  {blink:>10}",
            who.name,
            who.largest(|_| true, |look| look.deflection),
            who.ordinary_step(plan),
        );
    }
    println!();
    let claims: Vec<Claim> = watch
        .characters
        .iter()
        .flat_map(|who| claims(who, plan))
        .collect();
    for claim in &claims {
        println!(
            "{}  {}",
            if claim.holds { "ok    " } else { "FAILED" },
            claim.says
        );
    }
    println!(
        "\n{} frames, hash of every joint in every frame: {:016x}",
        watch.frame + 1,
        watch.hash.0
    );
    claims.iter().all(|claim| claim.holds)
        && watch.characters.len() == crate::characters::CAST.len()
}

fn claims(who: &Watched, plan: &Plan) -> Vec<Claim> {
    let name = who.name;
    let mut claims = Vec::new();
    let mut claim = |holds: bool, says: String| claims.push(Claim { holds, says });
    let step = who.ordinary_step(plan);
    let deflection = who.largest(
        |frame| plan.is_ordinary(name, frame),
        |look| look.deflection,
    );
    match &who.broken {
        Some(why) => claim(false, format!("{name}: {why}")),
        None => claim(true, format!("{name}: bound and finite in all frames")),
    }
    claim(
        deflection > SWINGS_DEG,
        format!("{name}: swings, by {deflection:.1}\u{b0}"),
    );
    claim(
        who.stays(&plan.pause, |look| look.bits),
        format!("{name}: every bit stands still while the game is paused"),
    );
    if !who.blinks.is_empty() {
        let blink = who.largest(|frame| who.after_blink(frame), |look| look.step);
        claim(
            who.blinks.len() >= 2 && blink <= POP_DEG,
            format!(
                "{name}: {} blinks turn bones by up to {blink:.2}\u{b0} a frame, {POP_DEG}\u{b0} are allowed",
                who.blinks.len()
            ),
        );
    }
    if name == plan.slowed {
        let slow = who.largest(
            |frame| plan.slow.contains(&frame) && frame > plan.slow.start,
            |look| look.step,
        );
        claim(
            slow > 0.0 && slow <= step * SLOW_SHARE,
            format!(
                "{name}: slowed to a tenth, bones turn by {slow:.2}\u{b0} a frame instead of {step:.2}\u{b0}"
            ),
        );
    }
    if name == plan.held {
        claim(
            who.stays(&plan.hold, |look| look.swing_bits)
                && !who.stays(&plan.hold, |look| look.bits),
            format!(
                "{name}: what swings stands still while its swing is paused, the rest walks on"
            ),
        );
    }
    claims
}
