//! The clock of a game: virtual time, so that what pauses or slows the game pauses or slows the swing.

use bevy_app::{App, Plugin};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::InternedScheduleLabel;
use bevy_time::Time;

use super::binding::BindingSystems;
use crate::substep::FrameClock;
use crate::systems::plugin::{FlounceSystems, in_schedule};

/// Moves [`FrameClock`] along with `Time`: virtual time, and the fixed clock in schedules of the fixed loop. Without this
/// plugin nothing moves but by [`crate::systems::plugin::advance_clock`].
#[derive(Clone, Debug)]
pub struct SwingClockPlugin {
    schedule: InternedScheduleLabel,
}

in_schedule!(SwingClockPlugin);

impl Plugin for SwingClockPlugin {
    fn build(&self, app: &mut App) {
        let read = read_time.before(BindingSystems);
        app.add_systems(self.schedule, read.in_set(FlounceSystems::Read));
    }
}

/// The host's nanoseconds as seconds: whole, never summed.
fn read_time(time: Option<Res<Time>>, mut clock: ResMut<FrameClock>) {
    if let Some(time) = time {
        // A clock that was set back stands still until it is there again.
        clock.now = time.elapsed_secs_f64().max(clock.now);
    }
}
