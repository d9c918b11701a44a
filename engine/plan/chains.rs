//! Chain rows: one actor's swing joints laid side by side, chain beside chain, so that wide lanes pay for a single actor.
//!
//! A row is a set of joints of one depth that take the same cases in every kernel: the same kind of collider, the same
//! static colliders met, a limit or none, and so on; their numbers may differ. The joints of a chain lie in one lane from
//! row to row, so that each finds its parent in its own lane.
//!
//! The rows are a plan of their own ([`ChainRows::plan`]): its swing joints are the rows, its joints the rows of animated
//! transforms that they read. The kernels run on it as on any other.

use std::sync::Arc;

use super::constant::{CONSTANTS, of_joint};
use super::step::steps_of;
use super::{DynamicPlan, Hold, Plan, SwingPlan};
use crate::channel::ChannelLayout;
use crate::pose::JointTransform;

/// Where a place lies that has no lane yet: in no row.
const UNSEATED: (usize, usize) = (usize::MAX, 0);

/// A row of animated transforms.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseRow {
    /// The joint of each lane.
    pub joints: Vec<usize>,
    /// Whether its transforms in model space are read.
    pub is_model: bool,
    /// Whether its transforms against the parents are read.
    pub is_local: bool,
}

/// The chains of a plan side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainRows {
    /// Whose chains they are.
    pub whole: Arc<Plan>,
    /// The rows as a plan. It has no chain layers: those join lanes, see [`crate::systems::substeps`].
    pub plan: Plan,
    /// Where each place of [`Self::whole`] lies: row and lane.
    pub at: Vec<(usize, usize)>,
    /// The place in each lane of each row, `[row][lane]`; `None` where a lane is not in use.
    pub places: Vec<Vec<Option<usize>>>,
    /// Where the joints of [`Self::plan`] are read from.
    pub poses: Vec<PoseRow>,
    /// How many lanes.
    pub lanes: usize,
}

impl ChainRows {
    /// Lays the chains of `whole` side by side in `lanes` lanes.
    ///
    /// `None` where that cannot be: a limit follows a joint of another chain or would see it in another order, or a
    /// joint's tip child lies elsewhere.
    pub fn new(whole: &Arc<Plan>, lanes: usize) -> Option<Self> {
        let mut rows = Self {
            whole: Arc::clone(whole),
            plan: Plan::empty(whole),
            at: vec![UNSEATED; whole.swings.len()],
            places: Vec::new(),
            poses: Vec::new(),
            lanes,
        };
        for depth in &whole.depths {
            let first = rows.places.len();
            for place in depth.clone() {
                rows.seat(place, first);
            }
            rows.plan.depths.push(first..rows.places.len());
        }
        let fits = (0..whole.swings.len()).all(|place| rows.finds_others(place));
        fits.then(|| {
            rows.compile();
            rows
        })
    }

    /// How many rows of particles.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Gives `place` a lane in one of the rows from `first` on, or a new row.
    fn seat(&mut self, place: usize, first: usize) {
        let row = (first..self.places.len()).find_map(|row| Some((row, self.lane_in(row, place)?)));
        let (row, lane) = row.unwrap_or_else(|| {
            self.places.push(vec![None; self.lanes]);
            let lane = self.lane_above(place).unwrap_or(0);
            (self.places.len() - 1, lane)
        });
        self.places[row][lane] = Some(place);
        self.at[place] = (row, lane);
    }

    /// The lane that `place` would take in `row`, if it fits in.
    fn lane_in(&self, row: usize, place: usize) -> Option<usize> {
        let other = self.first_of(row);
        if !self.is_alike(place, other) {
            return None;
        }
        let free = |lane: &usize| self.places[row][*lane].is_none();
        match self.lane_above(place) {
            Some(lane) => Some(lane).filter(free),
            None => (0..self.lanes).find(free),
        }
    }

    fn lane_above(&self, place: usize) -> Option<usize> {
        match self.whole.swings[place].hold {
            Hold::Swing(above) => Some(self.at[above].1),
            Hold::Animated => None,
        }
    }

    fn first_of(&self, row: usize) -> usize {
        let mut places = self.places[row].iter().flatten();
        places.next().copied().unwrap_or(0)
    }

    /// Whether the kernels take the same cases for both.
    fn is_alike(&self, place: usize, other: usize) -> bool {
        let plan = &*self.whole;
        let (one, two) = (&plan.swings[place], &plan.swings[other]);
        let above = |swing: &SwingPlan| match swing.hold {
            Hold::Swing(above) => Some(self.at[above].0),
            Hold::Animated => None,
        };
        let acts = |swing: &SwingPlan| {
            let acting = [swing.pendulum, swing.global_force, swing.wind, swing.spring];
            (acting.map(|share| share != 0.0), swing.is_reference)
        };
        let kind = |swing: &SwingPlan| match swing.collider {
            None => 0,
            Some(DynamicPlan::Sphere { offset, .. }) if offset == [0.0; 3] => 1,
            Some(DynamicPlan::Sphere { .. }) => 2,
            Some(DynamicPlan::Line { .. }) => 3,
        };
        let has_parent = |swing: &SwingPlan| plan.parents[swing.joint].is_some();
        let met = |swing: &SwingPlan| &plan.meets[swing.meets.clone()];
        // What coupled joints pull at must lie side by side as well.
        let below = |place: usize| {
            let coupled = plan.swings[place].spring != 0.0;
            if coupled { plan.joints_below(place) } else { 0 }
        };
        above(one) == above(two)
            && acts(one) == acts(two)
            && kind(one) == kind(two)
            && one.slide == two.slide
            && one.between.len() == two.between.len()
            && one.is_on_tip == two.is_on_tip
            && has_parent(one) == has_parent(two)
            && met(one) == met(two)
            && below(place) == below(other)
            && self.limits_are_alike(one, two)
    }

    fn limits_are_alike(&self, one: &SwingPlan, two: &SwingPlan) -> bool {
        match (&one.limit, &two.limit) {
            (None, None) => true,
            (Some(one), Some(two)) if one.algebraic && two.algebraic => true,
            (Some(one), Some(two)) => {
                let reference = |place: usize| self.at[place].0;
                let of = |limit: &crate::limit::LimitPlan| {
                    limit
                        .reference
                        .map(|(place, weight)| (reference(place), weight))
                };
                (one.low, one.high, of(one)) == (two.low, two.high, of(two))
            }
            _ => false,
        }
    }

    /// Whether what `place` reads of other joints lies in its own lane of one row.
    fn finds_others(&self, place: usize) -> bool {
        let (row, lane) = self.at[place];
        let first = self.first_of(row);
        let swings = &self.whole.swings;
        let beside = |mine: Option<usize>, theirs: Option<usize>| match (mine, theirs) {
            (Some(mine), Some(theirs)) => self.at[mine] == (self.at[theirs].0, lane),
            (None, None) => true,
            _ => false,
        };
        let tip = |place: usize| {
            swings[place]
                .tip_swing
                .filter(|_| swings[place].spring != 0.0)
        };
        let reference = |place: usize| {
            let limit = swings[place].limit.as_ref();
            limit
                .and_then(|limit| limit.reference)
                .map(|(place, _)| place)
        };
        // A limit sees what its reference did in this substep, or in the last one if that is resolved later.
        let in_order = reference(place)
            .is_none_or(|reference| (reference < place) == (self.at[reference].0 < row));
        in_order && beside(tip(place), tip(first)) && beside(reference(place), reference(first))
    }

    /// Makes the plan of the rows.
    fn compile(&mut self) {
        let whole = Arc::clone(&self.whole);
        self.plan.root_correction = whole.root_correction.map(|joint| self.same(joint));
        for collider in &whole.statics {
            let mut collider = *collider;
            collider.joint = collider.joint.map(|joint| self.same(joint));
            collider.parent = collider.parent.map(|joint| self.same(joint));
            self.plan.statics.push(collider);
        }
        for row in 0..self.places.len() {
            let swing = self.row(row);
            self.plan.swings.push(swing);
            let numbers = self.constants(row);
            self.plan.constants.extend(numbers);
        }
        self.plan.rest = vec![JointTransform::IDENTITY; self.poses.len()];
        self.plan.parents.resize(self.poses.len(), None);
        self.plan.steps = steps_of(&self.plan, &whole.layered_depths());
    }

    fn row(&mut self, row: usize) -> SwingPlan {
        let whole = Arc::clone(&self.whole);
        let mut swing = whole.swings[self.first_of(row)].clone();
        let places = self.each_lane(row);
        let joints: Vec<usize> = places.iter().map(|&p| whole.swings[p].joint).collect();
        let (between, hold) = (swing.between.clone(), swing.hold);
        let is_animated = hold == Hold::Animated;
        let start = self.plan.between.len();
        for step in 0..between.len() {
            let of = |&place: &usize| whole.between[whole.swings[place].between.start + step];
            let joints = places.iter().map(of).collect();
            let pose = self.pose(joints, false, true);
            self.plan.between.push(pose);
        }
        swing.between = start..self.plan.between.len();
        let parents: Option<Vec<usize>> = joints.iter().map(|&j| whole.parents[j]).collect();
        let parent = parents.filter(|_| is_animated);
        let parent = parent.map(|parents| self.pose(parents, true, false));
        swing.joint = self.pose(joints, is_animated, true);
        self.plan.parents.resize(self.poses.len(), None);
        self.plan.parents[swing.joint] = parent;
        let row_of = |place: usize| self.at[place].0;
        if let Hold::Swing(above) = hold {
            swing.hold = Hold::Swing(row_of(above));
        }
        swing.tip_swing = swing.tip_swing.map(row_of);
        if let Some(limit) = &mut swing.limit {
            limit.reference = limit
                .reference
                .map(|(place, weight)| (row_of(place), weight));
        }
        swing
    }

    /// The place in each lane of `row`; lanes that are not in use stand in for the first.
    fn each_lane(&self, row: usize) -> Vec<usize> {
        let first = self.first_of(row);
        let places = self.places[row].iter();
        places.map(|place| place.unwrap_or(first)).collect()
    }

    /// `[constant][lane]`
    fn constants(&self, row: usize) -> Vec<f32> {
        let mut numbers = vec![0.0; CONSTANTS * self.lanes];
        for (lane, place) in self.each_lane(row).into_iter().enumerate() {
            let own = of_joint(&self.whole.swings[place], &self.whole.rest_locals[place]);
            for (constant, value) in own.into_iter().enumerate() {
                numbers[constant * self.lanes + lane] = value;
            }
        }
        numbers
    }

    /// The row of poses in which every lane has `joint`.
    fn same(&mut self, joint: usize) -> usize {
        self.pose(vec![joint; self.lanes], true, false)
    }

    fn pose(&mut self, joints: Vec<usize>, is_model: bool, is_local: bool) -> usize {
        let known = self.poses.iter().position(|pose| pose.joints == joints);
        let index = known.unwrap_or_else(|| {
            self.poses.push(PoseRow {
                joints,
                is_model: false,
                is_local: false,
            });
            self.poses.len() - 1
        });
        self.poses[index].is_model |= is_model;
        self.poses[index].is_local |= is_local;
        index
    }
}

impl Plan {
    /// A plan of nothing that shares the units and the lists of static colliders of `of`.
    fn empty(of: &Self) -> Self {
        Self {
            parents: Vec::new(),
            rest: Vec::new(),
            needed: Vec::new(),
            is_needed: Vec::new(),
            is_model_read: Vec::new(),
            metres_per_unit: of.metres_per_unit,
            root_correction: None,
            swings: Vec::new(),
            rest_locals: Vec::new(),
            constants: Vec::new(),
            depths: Vec::new(),
            steps: Vec::new(),
            place_of_swing: Vec::new(),
            between: Vec::new(),
            statics: Vec::new(),
            meets: of.meets.clone(),
            layers: Vec::new(),
            layers_of_depth: vec![Vec::new(); of.depths.len()],
            drivers: Vec::new(),
            channels: ChannelLayout::default(),
            legs: Vec::new(),
            leg_of_driver: Vec::new(),
        }
    }

    /// How many moving joints follow `place` from tip to tip.
    fn joints_below(&self, place: usize) -> usize {
        let tip = |place: &usize| self.swings[*place].tip_swing;
        core::iter::successors(tip(&place), tip)
            .take(self.swings.len())
            .count()
    }
}
