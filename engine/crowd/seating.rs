//! Seating: which actors of a crowd sit side by side.
//!
//! Many actors share groups of up to 32 lanes, one each; a few, and those that are too few to fill another group, have
//! their own chains side by side; what is explained, and what has no chains to lay side by side, sits alone. Which is
//! cheapest is told by [`ROW_COST`]. Actors come and go without moving others as long as the lanes are well used: a crowd
//! is only seated anew when another form is cheaper or most of its lanes are empty.

use std::sync::Arc;

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;

use super::{Crowd, Form, Group, Slot, Squad, particle};
use crate::instruction_set::InstructionSet;
use crate::plan::Plan;
use crate::plan::chains::ChainRows;

/// What a joint costs in a group of so many lanes, in scalar joints. Measured by `cargo bench --bench springs` on two
/// shared Xeon cores; the one of 4 lanes is a guess.
const ROW_COST: [(usize, f32); 4] = [(4, 2.0), (8, 1.8), (16, 2.2), (32, 2.7)];
/// By how much another form has to be cheaper before actors that share lanes are parted: those that come and go shall
/// not move the others every time.
const PARTING: f32 = 2.0;

/// Where an actor sits; on its entity.
///
/// A clone of an actor gets a seat of its own.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[component(clone_behavior = Ignore)]
pub struct Seat {
    /// Index of the crowd.
    pub crowd: usize,
    /// Index of the squad in it.
    pub squad: usize,
    /// Index of the slot in that.
    pub slot: usize,
}

impl Crowd {
    /// A crowd of nobody.
    pub(super) fn new(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            single: None,
            squads: Vec::new(),
            first_free: 0,
            last_open: 0,
            restless: false,
        }
    }

    /// Whether nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.squads.iter().all(Squad::is_empty)
    }

    /// Seats `actor` alone, with the state `carried` if it brings one, else at rest; [`Self::settle`] finds its company.
    pub fn seat(&mut self, actor: Entity, carried: Option<(Slot, Group)>) -> (usize, usize) {
        // Who starts at rest needs no memory until its company is known.
        let (mut slot, mut group) = carried.unwrap_or_default();
        slot.actor = Some(actor);
        if self.plan.root_correction.is_none() {
            // Nothing writes them where the rig has none; what comes from another rig may have some.
            for own in group.particles.chunks_exact_mut(particle::COMPONENTS) {
                own[particle::CORRECTION..particle::CORRECTION + 3].fill(0.0);
            }
        }
        self.restless = true;
        let squad = self.free_squad();
        self.squads[squad] = Squad {
            form: Form::Alone,
            slots: vec![slot],
            group,
        };
        (squad, 0)
    }

    /// The index of a squad that is not in use.
    fn free_squad(&mut self) -> usize {
        let from = self.first_free;
        let free = self.squads[from..].iter().position(Squad::is_empty);
        let index = free.map_or(self.squads.len(), |ahead| from + ahead);
        if index == self.squads.len() {
            self.squads.push(Squad::default());
        }
        self.first_free = index;
        index
    }

    /// Takes the slot of `actor` back, if it is its own.
    pub(super) fn leave(&mut self, actor: Entity, seat: Seat) -> bool {
        let squad = self.squads.get_mut(seat.squad);
        let slot = squad.and_then(|squad| squad.slots.get_mut(seat.slot));
        let own = slot.filter(|slot| slot.actor == Some(actor));
        let found = own.map(|slot| *slot = Slot::default()).is_some();
        if found {
            self.vacated(seat.squad);
        }
        found
    }

    /// Takes the actor out of its place, with its state as a group of one lane.
    pub fn take(&mut self, seat: Seat) -> (Slot, Group) {
        let plan = Arc::clone(&self.plan);
        let squad = &mut self.squads[seat.squad];
        let group = squad.take(&plan, seat.slot);
        let own = core::mem::take(&mut squad.slots[seat.slot]);
        self.vacated(seat.squad);
        (own, group)
    }

    /// Remembers that somebody left `squad`.
    fn vacated(&mut self, squad: usize) {
        self.freed(squad);
        self.restless = true;
    }

    /// Remembers that a slot of `squad` is free.
    fn freed(&mut self, squad: usize) {
        self.first_free = self.first_free.min(squad);
        self.last_open = self.last_open.min(squad);
    }

    /// Asks for [`Self::settle`] in this frame: somebody begins or ends to be explained.
    pub fn disturb(&mut self) {
        self.restless = true;
    }

    /// Finds everybody's company; `moved` hears who sits elsewhere now: the entity, squad and slot.
    pub fn settle(&mut self, set: InstructionSet, mut moved: impl FnMut(Entity, usize, usize)) {
        if !self.restless {
            return;
        }
        let shared = self.shared(set);
        if self.seated() > shared || self.is_sparse() {
            self.gather();
        }
        let mut free = shared - self.seated();
        for index in 0..self.squads.len() {
            let mut slot = 0;
            // The last one to leave a squad gives its place to another.
            while let Some(own) = self.squads[index].slots.get(slot) {
                if own.actor.is_some() {
                    let sits = matches!(self.squads[index].form, Form::Actors);
                    let shares = own.watched.is_none() && (sits || free > 0);
                    free -= usize::from(shares && !sits);
                    self.find_company(index, slot, shares, set);
                }
                slot += 1;
            }
        }
        for (index, squad) in self.squads.iter_mut().enumerate() {
            if squad.is_empty() && !squad.slots.is_empty() {
                *squad = Squad::default();
                self.first_free = self.first_free.min(index);
            }
            for (slot, own) in squad.slots.iter().enumerate() {
                if let Some(actor) = own.actor {
                    moved(actor, index, slot);
                }
            }
        }
        self.restless = false;
    }

    /// How many actors share lanes that are not explained.
    fn seated(&self) -> usize {
        let wide = self
            .squads
            .iter()
            .filter(|squad| matches!(squad.form, Form::Actors));
        wide.flat_map(|squad| &squad.slots)
            .filter(|slot| slot.actor.is_some() && slot.watched.is_none())
            .count()
    }

    /// How many actors share lanes where that is cheapest: those that fill groups, and the rest if there are enough of them.
    fn shared(&mut self, set: InstructionSet) -> usize {
        let slots = self.squads.iter().flat_map(|squad| &squad.slots);
        let count = slots
            .filter(|slot| slot.actor.is_some() && slot.watched.is_none())
            .count();
        let Some(&widest) = set.widths().last() else {
            return 0;
        };
        let (full, rest) = (count / widest * widest, count % widest);
        let joints = self.plan.swings.len() as f32;
        let single = self.single(set).cost;
        let pays = |count: usize, width: usize, patience: f32| {
            count > 1 && row_cost(width) * joints <= count as f32 * single * patience
        };
        let patience = if self.seated() > full { PARTING } else { 1.0 };
        let last = set.widths().iter().copied().find(|&width| width >= rest);
        if !pays(widest, widest, patience) {
            // Then fewer do not either.
            return 0;
        }
        let rest_shares = last.is_some_and(|width| pays(rest, width, patience));
        full + if rest_shares { rest } else { 0 }
    }

    /// Whether most lanes of its actors are empty.
    fn is_sparse(&self) -> bool {
        let wide = self
            .squads
            .iter()
            .filter(|squad| matches!(squad.form, Form::Actors));
        let (lanes, taken) = wide.fold((0, 0), |(lanes, taken), squad| {
            let own = squad.slots.iter().filter(|slot| slot.actor.is_some());
            (lanes + squad.slots.len(), taken + own.count())
        });
        lanes > 2 * taken + 32
    }

    /// Seats everybody who has company alone, so that it is found anew.
    fn gather(&mut self) {
        let plan = Arc::clone(&self.plan);
        for index in 0..self.squads.len() {
            if !matches!(self.squads[index].form, Form::Actors) {
                continue;
            }
            let mut squad = core::mem::take(&mut self.squads[index]);
            self.first_free = self.first_free.min(index);
            for slot in 0..squad.slots.len() {
                if let Some(actor) = squad.slots[slot].actor {
                    let group = squad.take(&plan, slot);
                    let own = core::mem::take(&mut squad.slots[slot]);
                    self.seat(actor, Some((own, group)));
                }
            }
        }
    }

    /// Moves an actor to where it belongs, if it does not sit there.
    fn find_company(&mut self, squad: usize, slot: usize, shares: bool, set: InstructionSet) {
        let watched = self.squads[squad].slots[slot].watched.is_some();
        let wanted = if watched {
            Form::Alone
        } else if shares {
            Form::Actors
        } else {
            self.single(set).rows.map_or(Form::Alone, Form::Chains)
        };
        let same = core::mem::discriminant(&self.squads[squad].form);
        if same == core::mem::discriminant(&wanted) {
            if self.squads[squad].group.lanes == 0 {
                self.squads[squad].group = Group::new(&self.plan, 1);
            }
            return;
        }
        let plan = Arc::clone(&self.plan);
        let state =
            (self.squads[squad].group.lanes > 0).then(|| self.squads[squad].take(&plan, slot));
        let own = core::mem::take(&mut self.squads[squad].slots[slot]);
        self.freed(squad);
        let (to, at) = match wanted {
            Form::Alone => (self.put_in(Form::Alone, Group::new(&plan, 1)), 0),
            Form::Chains(rows) => {
                let mut group = Group::new(&rows.plan, rows.lanes);
                group.links.resize(plan.links() * rows.lanes, 0.0);
                group.single = Some(Box::new(Group::new(&plan, 1)));
                (self.put_in(Form::Chains(rows), group), 0)
            }
            Form::Actors => self.free_lane(set),
        };
        let squad = &mut self.squads[to];
        squad.slots[at] = own;
        // Whoever starts at rest must not find what the last one left in its lane.
        let state = state.unwrap_or_else(|| Group::new(&plan, 1));
        squad.put(&plan, at, &state);
    }

    /// Makes a squad of one slot; returns its index.
    fn put_in(&mut self, form: Form, group: Group) -> usize {
        let index = self.free_squad();
        self.squads[index] = Squad {
            form,
            slots: vec![Slot::default()],
            group,
        };
        index
    }

    /// A free lane among others: squad and slot.
    fn free_lane(&mut self, set: InstructionSet) -> (usize, usize) {
        let is_wide = |squad: &Squad| matches!(squad.form, Form::Actors);
        let free = |squad: &Squad| {
            let free = squad.slots.iter().position(|slot| slot.actor.is_none());
            free.filter(|_| is_wide(squad))
        };
        let from = self.last_open.min(self.squads.len());
        let mut rest = self.squads.iter().enumerate().skip(from);
        if let Some((index, slot)) = rest.find_map(|(index, squad)| Some((index, free(squad)?))) {
            self.last_open = index;
            return (index, slot);
        }
        self.last_open = self.squads.len();
        // All are full: the narrowest grows where it can, so that the last few do not pay for 32.
        let widths = set.widths();
        let wider = |squad: &Squad| widths.iter().copied().find(|&w| w > squad.group.lanes);
        let narrow = self.squads.iter().enumerate();
        let narrow = narrow.filter(|(_, squad)| is_wide(squad));
        let narrow = narrow.filter_map(|(index, squad)| Some((index, wider(squad)?)));
        let grown = narrow.min_by_key(|&(index, _)| self.squads[index].group.lanes);
        let (index, slot) = match grown {
            Some((index, lanes)) => (index, self.grow(index, lanes)),
            None => {
                let lanes = widths.first().copied().unwrap_or(1);
                let index = self.free_squad();
                self.squads[index] = empty_squad(&self.plan, lanes);
                (index, 0)
            }
        };
        self.last_open = index;
        (index, slot)
    }

    /// Gives a squad more lanes; returns the first new one.
    fn grow(&mut self, index: usize, lanes: usize) -> usize {
        let plan = Arc::clone(&self.plan);
        let mut old = core::mem::replace(&mut self.squads[index], empty_squad(&plan, lanes));
        let new = &mut self.squads[index];
        for slot in 0..old.slots.len() {
            let group = old.take(&plan, slot);
            new.slots[slot] = core::mem::take(&mut old.slots[slot]);
            new.put(&plan, slot, &group);
        }
        old.slots.len()
    }

    /// How one actor is cheapest.
    fn single(&mut self, set: InstructionSet) -> Single {
        let plan = &self.plan;
        self.single
            .get_or_insert_with(|| best_rows(plan, set))
            .clone()
    }
}

/// How one actor of a plan is cheapest.
#[derive(Clone, Debug)]
pub(super) struct Single {
    /// What it costs, in scalar joints.
    cost: f32,
    /// Its chains side by side, where that beats one joint after the other.
    rows: Option<Arc<ChainRows>>,
}

/// See [`ROW_COST`].
fn row_cost(lanes: usize) -> f32 {
    let known = ROW_COST.iter().find(|&&(width, _)| width >= lanes);
    known.map_or(f32::MAX, |&(_, cost)| cost)
}

fn empty_squad(plan: &Plan, lanes: usize) -> Squad {
    let mut squad = Squad {
        form: Form::Actors,
        slots: Vec::new(),
        group: Group::new(plan, lanes),
    };
    squad.slots.resize_with(lanes, Slot::default);
    squad
}

/// The cheapest way to lay the chains of `plan` side by side, where it beats one joint after the other.
fn best_rows(plan: &Arc<Plan>, set: InstructionSet) -> Single {
    let rows = set.widths().iter().filter_map(|&lanes| {
        let rows = ChainRows::new(plan, lanes)?;
        Some((rows.len() as f32 * row_cost(lanes), rows))
    });
    let best = rows.min_by(|(one, _), (two, _)| one.total_cmp(two));
    let one_by_one = plan.swings.len() as f32;
    match best.filter(|&(cost, _)| cost < one_by_one) {
        Some((cost, rows)) => Single {
            cost,
            rows: Some(Arc::new(rows)),
        },
        None => Single {
            cost: one_by_one,
            rows: None,
        },
    }
}
