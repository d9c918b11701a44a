//! Explaining: the account of each substep of one swing joint.

use bevy_math::Vec3;

use super::frame::{Frame, Noted, run_lanes, run_lanes_noting};
use crate::account::{Account, Notes, Unwatched};
use crate::crowd::{Group, particle};
use crate::lane::Vec3x;
use crate::plan::constant::PerActor;
use crate::substep::Substep;

/// Runs a frame and keeps the account of each substep of one swing joint.
pub(super) fn explain_frame(
    frame: Frame,
    group: &mut Group,
    (swing, accounts): &mut (usize, Vec<Account>),
) {
    accounts.clear();
    let place = frame.plan.place_of_swing.get(*swing).copied().flatten();
    let Some(place) = place else {
        run_lanes::<f32, PerActor, _>(frame, group, &mut Unwatched);
        return;
    };
    let mut notes = Notes {
        place,
        terms: Vec::new(),
    };
    // A reset forgets where the particle was.
    let before = if frame.schedule.reset {
        Vec3::NAN
    } else {
        component(group, place, particle::POSITION)
    };
    let mut book = Book {
        place,
        before,
        accounts,
    };
    run_lanes_noting::<f32, PerActor, _, _>(frame, group, &mut notes, &mut book);
}

fn component(group: &Group, place: usize, component: usize) -> Vec3 {
    Vec3x::load(&group.particles[place * particle::COMPONENTS + component..]).into()
}

/// Closes an account after each substep.
struct Book<'a> {
    place: usize,
    before: Vec3,
    accounts: &'a mut Vec<Account>,
}

impl Noted<Notes> for Book<'_> {
    fn noted(&mut self, substep: &Substep, group: &Group, notes: &mut Notes) {
        let after = component(group, self.place, particle::POSITION);
        let terms = core::mem::take(&mut notes.terms);
        let sum: Vec3 = terms.iter().map(|(_, moved)| *moved).sum();
        let before = self.before;
        self.accounts.push(Account {
            time: substep.time,
            before: if before.is_nan() { after - sum } else { before },
            after,
            correction: component(group, self.place, particle::CORRECTION),
            terms,
        });
        self.before = after;
    }
}
