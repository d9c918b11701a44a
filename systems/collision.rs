//! Collision: pushes a particle out of the static colliders. `[X3]` `[X5]`
//!
//! Runs third in a joint's substep, after integration. Reads the placed static colliders; pushes the particle on its way
//! and writes its record of hits.
//!
//! Sequential: each hit sees what the last one did, in the rig's collider order, which is therefore part of the result.
//! The bone length is restored after every push. Works in true model space: the root correction is added before and
//! taken off after.

use crate::account::{Term, Witness};
use crate::contact::{self, Hit, Segment};
use crate::crowd::{ActorState, Group, PLACED, particle};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::constant::{self, Row, Spread};
use crate::plan::{DynamicPlan, Plan, StaticPlan};
use crate::profile::{LinePush, ParallelEpsilon, SwingProfile};
use crate::rotation::Rotation;
use crate::systems::hanging::{Hung, Swung};
use crate::systems::integration::at_length;
use crate::systems::substeps::Pass;

mod near;

pub use near::{hit_segment, hit_sphere};

use near::{is_beside, touch_ball};

/// Contacts nearer to the joint than this share of its line move the particle as if they were here. `[X5]`
const SHORTEST_LEVER: f32 = 0.25;

/// Collides the swing joint at `place` with the static colliders it meets.
#[inline(always)]
pub fn collide_joint<L: Lane, S: Spread, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    from_rest: bool,
    (hung, swung): (&Hung<L>, &mut Swung<L>),
    witness: &mut W,
) {
    let row = Row::<L, S>::new(pass.plan, place);
    let base = place * particle::COMPONENTS * L::LANES;
    let own = &mut group.particles[base..][..particle::COMPONENTS * L::LANES];
    let mut count = L::splat(0.0);
    if let Some(collider) = &row.swing.collider {
        let shape = DynamicShape::read(row, collider);
        let rotation = if from_rest || row.swing.slide.is_some() {
            hung.rest.r
        } else {
            Rotation::load(&own[particle::ROTATION * L::LANES..])
        };
        let body = match row.swing.slide {
            // A slide joint's line ends at its parent, and it has no length to keep.
            Some(_) => Body {
                shape,
                origin: Vec3x::load(&own[particle::PARENT * L::LANES..]),
                rotation,
                length: None,
            },
            None => Body {
                shape,
                origin: hung.rest.t,
                rotation,
                length: Some(row.number(constant::LENGTH)),
            },
        };
        count = collide_particle(
            pass,
            place,
            &body,
            (hung, swung),
            own,
            &group.statics,
            witness,
        );
    }
    count.store(&mut own[particle::HITS * L::LANES..]);
}

/// [`DynamicPlan`] in lanes.
#[derive(Clone, Copy, Debug)]
pub enum DynamicShape<L> {
    /// A ball centred on the particle: the usual shape.
    Ball(L),
    /// A ball beside the particle.
    Offset {
        /// From the particle, in the joint's model frame, metres.
        offset: Vec3x<L>,
        /// Metres.
        radius: L,
    },
    /// From the particle to the joint's origin.
    Line {
        /// At the particle and at the origin, metres.
        inset: [L; 2],
        /// At the particle and at the origin, metres.
        radius: [L; 2],
    },
}

impl<L: Lane> DynamicShape<L> {
    #[inline(always)]
    fn read<S: Spread>(row: Row<L, S>, plan: &DynamicPlan) -> Self {
        match plan {
            DynamicPlan::Sphere { offset, .. } if *offset == [0.0; 3] => {
                Self::Ball(row.number(constant::RADIUS))
            }
            DynamicPlan::Sphere { .. } => Self::Offset {
                offset: row.vector(constant::OFFSET),
                radius: row.number(constant::RADIUS),
            },
            DynamicPlan::Line { .. } => Self::Line {
                inset: row.pair(constant::INSET),
                radius: row.pair(constant::RADIUS),
            },
        }
    }

    /// The same shape in every lane.
    #[inline(always)]
    pub fn splat(plan: &DynamicPlan) -> Self {
        match *plan {
            DynamicPlan::Sphere { offset, radius } if offset == [0.0; 3] => {
                Self::Ball(L::splat(radius))
            }
            DynamicPlan::Sphere { offset, radius } => Self::Offset {
                offset: Vec3x::splat(offset),
                radius: L::splat(radius),
            },
            DynamicPlan::Line { inset, radius } => Self::Line {
                inset: [L::splat(inset[0]), L::splat(inset[1])],
                radius: [L::splat(radius[0]), L::splat(radius[1])],
            },
        }
    }
}

/// The dynamic collider of a joint, and what it hangs on.
#[derive(Clone, Copy, Debug)]
pub struct Body<L> {
    /// Shape.
    pub shape: DynamicShape<L>,
    /// Origin of the joint (of a slide joint's parent), true model space: where a line ends.
    pub origin: Vec3x<L>,
    /// `R_cur` of `[S3]`.
    pub rotation: Rotation<L>,
    /// Bone length, metres; a slide joint has none to keep.
    pub length: Option<L>,
}

/// Pushes the particle out of what it meets, one after the other; how often it was pushed.
#[inline(always)]
fn collide_particle<L: Lane, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    body: &Body<L>,
    (hung, swung): (&Hung<L>, &mut Swung<L>),
    own: &mut [f32],
    statics: &[f32],
    witness: &mut W,
) -> L {
    let plan = pass.plan;
    let mut contacts = Contacts {
        position: hung.unshifted(swung.position),
        count: L::splat(0.0),
    };
    let near = Neighbours {
        plan,
        meets: &plan.meets[plan.swings[place].meets.clone()],
        statics,
    };
    if let DynamicShape::Ball(radius) = body.shape {
        // The usual shape has a loop of its own, which asks nothing about shapes that it is not.
        let mut next = 0;
        while let Some((at, beside)) = near.next_beside(next, contacts.position, radius) {
            let (index, other, placed) = near.at::<L>(at);
            let hit = touch_ball(contacts.position, radius, other, placed).only(beside);
            let found = pushed(body, hit.target(), hit);
            contacts.tell(&found, place, index, witness);
            contacts.take(found, swung, own);
            next = at + 1;
        }
    } else {
        for at in 0..near.meets.len() {
            let (index, other, placed) = near.at::<L>(at);
            let found = push(body, contacts.position, other, placed, pass.profile);
            contacts.tell(&found, place, index, witness);
            contacts.take(found, swung, own);
        }
    }
    let Contacts { position, count } = contacts;
    let hit = L::splat(0.0).lt(count);
    if hit.any() {
        // Adding and taking off the correction rounds; a particle that nothing touched keeps its bits.
        swung.position = Vec3x::select(hit, hung.shifted(position), swung.position);
        // Colliders beyond all measure push beyond all numbers. `[V8]`
        let finite = position.finite() | !hit;
        swung.healthy = swung.healthy & finite;
        swung.aimed = swung.aimed & finite;
        record(
            hit & finite,
            position,
            &mut own[particle::HIT_POSITION * L::LANES..],
        );
    }
    count
}

/// The static colliders that a joint can meet.
struct Neighbours<'a> {
    plan: &'a Plan,
    /// Indices of them.
    meets: &'a [usize],
    /// All of them, placed.
    statics: &'a [f32],
}

impl<'a> Neighbours<'a> {
    /// One of them: its index, shape and place.
    #[inline(always)]
    fn at<L: Lane>(&self, at: usize) -> (usize, &'a StaticPlan, &'a [f32]) {
        let (index, size) = (self.meets[at], PLACED * L::LANES);
        let placed = &self.statics[index * size..][..size];
        (index, &self.plan.statics[index], placed)
    }

    /// The next one from `from` on that a ball may touch, and in which lanes.
    ///
    /// A loop of its own: most are passed by, and what it needs stays in registers.
    #[inline(always)]
    fn next_beside<L: Lane>(
        &self,
        from: usize,
        centre: Vec3x<L>,
        radius: L,
    ) -> Option<(usize, L::Mask)> {
        for at in from..self.meets.len() {
            let (_, other, placed) = self.at::<L>(at);
            let beside = is_beside(centre, radius, other, placed);
            if beside.any() {
                return Some((at, beside));
            }
        }
        None
    }
}

/// What the static colliders have done to a particle so far in this substep.
struct Contacts<L> {
    /// Where it is now, true model space.
    position: Vec3x<L>,
    /// How many touched it.
    count: L,
}

/// What a static collider does to a particle.
#[derive(Clone, Copy)]
pub struct Push<L: Lane> {
    /// The particle, bone length kept.
    pub particle: Vec3x<L>,
    /// From the anchor to it; where it was pushed onto that, none. Not of slide joints.
    pub direction: Vec3x<L>,
    /// Where it was pushed onto its anchor.
    pub on_anchor: L::Mask,
    /// What touched it.
    pub hit: Hit<L>,
}

impl<L: Lane> Contacts<L> {
    /// Tells a witness of what [`push`] found, before it is taken over.
    #[inline(always)]
    fn tell<W: Witness<L>>(
        &self,
        found: &Option<Push<L>>,
        place: usize,
        collider: usize,
        witness: &mut W,
    ) {
        if !W::LISTENS {
            return;
        }
        if let Some(push) = found {
            let none = Vec3x::splat([0.0; 3]);
            let moved = Vec3x::select(push.hit.touches, push.particle - self.position, none);
            witness.note(place, Term::Hit(collider), moved);
        }
    }

    /// Takes over what [`push`] found, and keeps the normal with the particle.
    #[inline(always)]
    fn take(&mut self, found: Option<Push<L>>, swung: &mut Swung<L>, own: &mut [f32]) {
        let Some(push) = found else {
            return;
        };
        let touches = push.hit.touches;
        self.position = Vec3x::select(touches, push.particle, self.position);
        self.count = L::select(touches, self.count + L::splat(1.0), self.count);
        swung.direction = Vec3x::select(touches, push.direction, swung.direction);
        // The last push tells whether there is a direction: one from the anchor gives it back.
        swung.aimed = (swung.healthy & touches & !push.on_anchor) | (swung.aimed & !touches);
        let to = &mut own[particle::HIT_NORMAL * L::LANES..];
        record(touches, push.hit.normal, to);
    }
}

/// Writes `value` where `touches`.
#[inline(always)]
fn record<L: Lane>(touches: L::Mask, value: Vec3x<L>, to: &mut [f32]) {
    Vec3x::select(touches, value, Vec3x::load(to)).store(to);
}

/// The particle at `target` with its bone length kept; `None` when no lane of `hit` touches. `[X5]`
#[inline(always)]
fn pushed<L: Lane>(body: &Body<L>, target: Vec3x<L>, hit: Hit<L>) -> Option<Push<L>> {
    if !hit.touches.any() {
        return None;
    }
    let Some(length) = body.length else {
        return Some(Push {
            particle: target,
            direction: Vec3x::splat([0.0; 3]),
            on_anchor: L::Mask::splat(false),
            hit,
        });
    };
    let bone = at_length(target, body.origin, length);
    let on_anchor = bone.is_on_anchor();
    // A particle on its anchor stays there.
    let particle = if on_anchor.any() {
        Vec3x::select(on_anchor, body.origin, bone.particle)
    } else {
        bone.particle
    };
    Some(Push {
        particle,
        direction: bone.direction,
        on_anchor,
        hit,
    })
}

/// Where the particle goes when its collider touches `other`, bone length kept; `None` when no lane touches. `[X5]`
#[inline(always)]
pub fn push<L: Lane>(
    body: &Body<L>,
    position: Vec3x<L>,
    other: &StaticPlan,
    placed: &[f32],
    profile: &SwingProfile,
) -> Option<Push<L>> {
    match body.shape {
        DynamicShape::Ball(radius) => {
            let hit = hit_sphere(position, radius, other, placed)?;
            pushed(body, hit.target(), hit)
        }
        DynamicShape::Offset { offset, radius } => {
            let centre = contact::place_point(position, body.rotation, offset);
            let hit = hit_sphere(centre, radius, other, placed)?;
            pushed(body, position + (hit.target() - centre), hit)
        }
        DynamicShape::Line { inset, radius } => {
            let [a, b] = contact::place_line(position, body.origin, inset, [position; 2]);
            let [radius_a, radius_b] = radius;
            let line = Segment {
                a,
                b,
                radius_a,
                radius_b,
            };
            let hit = hit_segment(&line, other, placed, profile.parallel_epsilon)?;
            let target = match profile.line_push {
                LinePush::Documented => hit.target(),
                LinePush::Lever => position + lever(&line, &hit),
            };
            pushed(body, target, hit)
        }
    }
}

/// How far a push at one place of a line moves the particle at its first end. `[X5]`
///
/// ```text
/// (target − P1) / max(1 − s, ¼)     none where s = 1, at the joint itself
/// ```
#[inline(always)]
fn lever<L: Lane>(line: &Segment<L>, hit: &Hit<L>) -> Vec3x<L> {
    let one = L::splat(1.0);
    let off = hit.target() - line.a.lerp(line.b, hit.along);
    let arm = (one - hit.along).max(L::splat(SHORTEST_LEVER));
    let at_joint = one.le(hit.along);
    Vec3x::select(at_joint, Vec3x::splat([0.0; 3]), off * (one / arm))
}

/// How deep the collider of the joint at `place` reaches into a static collider it can meet, metres; 0 when it touches
/// none.
///
/// Looks at the state of one actor after a substep: the measure of what `[X5]` and `[S8]` left.
pub fn deepest_penetration(
    plan: &Plan,
    actor: &ActorState,
    place: usize,
    parallel: ParallelEpsilon,
) -> f32 {
    let swing = &plan.swings[place];
    let Some(collider) = &swing.collider else {
        return 0.0;
    };
    let own = actor.particle(place);
    let load = |component: usize| Vec3x::<f32>::load(&own[component..]);
    let origin = if swing.slide.is_some() {
        particle::PARENT
    } else {
        particle::ORIGIN
    };
    let position = load(particle::POSITION) + load(particle::CORRECTION);
    let body = Body {
        shape: DynamicShape::splat(collider),
        origin: load(origin),
        rotation: Rotation::load(&own[particle::ROTATION..]),
        length: None,
    };
    let depth = |&index: &usize| {
        let placed = actor.placed(index);
        let (target, at) = touch(&body, position, &plan.statics[index], &placed, parallel)?;
        Some((target - at).length_squared().sqrt())
    };
    let depths = plan.meets[swing.meets.clone()].iter().filter_map(depth);
    depths.fold(0.0, f32::max)
}

/// Where the touched point of the joint's collider belongs and where it is; `None` without contact.
fn touch(
    body: &Body<f32>,
    position: Vec3x<f32>,
    other: &StaticPlan,
    placed: &[f32],
    parallel: ParallelEpsilon,
) -> Option<(Vec3x<f32>, Vec3x<f32>)> {
    let ball = |centre: Vec3x<f32>, radius: f32| {
        let hit = hit_sphere(centre, radius, other, placed)?;
        hit.touches.then(|| (hit.target(), centre))
    };
    match body.shape {
        DynamicShape::Ball(radius) => ball(position, radius),
        DynamicShape::Offset { offset, radius } => ball(
            contact::place_point(position, body.rotation, offset),
            radius,
        ),
        DynamicShape::Line { inset, radius } => {
            let [a, b] = contact::place_line(position, body.origin, inset, [position; 2]);
            let line = Segment {
                a,
                b,
                radius_a: radius[0],
                radius_b: radius[1],
            };
            let hit = hit_segment(&line, other, placed, parallel)?;
            hit.touches.then(|| (hit.target(), a.lerp(b, hit.along)))
        }
    }
}
