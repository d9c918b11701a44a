//! The order of a frame and of a substep.
//!
//! A frame runs the sets of [`FrameSystems`] in their order. Inside [`FrameSystems::Substeps`] every substep runs, for
//! each depth of swing joints, [`hanging`] → [`integration`] (adding up [`forces`]) → [`collision`] →
//! [`chain_collision`] → [`smoothing`] → [`resolve`]: plain functions called in order, because one actor's substep costs microseconds and a
//! system call is not free at that size.
//!
//! Both hosts, [`plugin::FlouncePlugin`] in an `App` and [`plugin::Headless`] on a bare `World`, register the same
//! stages by the same function, [`add_stages`].

use bevy_ecs::schedule::{IntoScheduleConfigs, Schedule, SystemSet};
use bevy_ecs::world::World;

pub mod chain_collision;
pub mod collision;
pub mod driving;
pub mod footing;
pub mod forces;
pub mod hanging;
pub mod integration;
pub mod layering;
pub mod motion;
pub mod placement;
pub mod plugin;
pub mod preparation;
pub mod propagation;
pub mod resolve;
pub mod sampling;
pub mod smoothing;
pub mod substeps;
pub mod writeback;

use crate::crowd::Crowds;
use crate::instruction_set::InstructionSet;
use crate::substep::FrameClock;

/// The stages of a frame, in running order. Each says what is true after it ran.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameSystems {
    /// Changed rigs are compiled, new actors have a slot, and every actor's frame is cut into substeps.
    Preparation,
    /// Each substep has its animated pose against the parents; the frame's own pose is known.
    Sampling,
    /// The actor's layers lie over these poses.
    Layering,
    /// Held feet stand where they are held and driven joints follow the joints that drive them, in each of these poses.
    Driving,
    /// Each substep has its animated pose in model space.
    Propagation,
    /// The particles have moved to the frame's last substep.
    Substeps,
    /// `LocalPose` and what else an actor carries show the frame.
    Writeback,
}

/// Registers the stages in `schedule` and their resources in `world`: the same for every host.
pub fn add_stages(world: &mut World, schedule: &mut Schedule) {
    world.init_resource::<FrameClock>();
    world.init_resource::<Crowds>();
    world.init_resource::<InstructionSet>();
    world.init_resource::<preparation::Plans>();
    world.init_resource::<preparation::LostParts>();
    world.init_resource::<substeps::Workers>();
    schedule.configure_sets(
        (
            FrameSystems::Preparation,
            FrameSystems::Sampling,
            FrameSystems::Layering,
            FrameSystems::Driving,
            FrameSystems::Propagation,
            FrameSystems::Substeps,
            FrameSystems::Writeback,
        )
            .chain(),
    );
    motion::observe(world);
    preparation::observe(world);
    preparation::add(schedule);
    sampling::add(schedule);
    layering::add(schedule);
    driving::add(schedule);
    propagation::add(schedule);
    substeps::add(schedule);
    writeback::add(schedule);
}
