//! Rewriting: the slots of vertices read, trimmed and stored anew. `[I1]`

use std::collections::BTreeMap;

use super::{SkinOptions, SkinReport, StoredWeights, ZeroWeights};
use crate::assets::import::Model;
use crate::assets::import::vertices::{SkinnedPrimitive, Slots, VertexReader};
use crate::assets::json::Fault;
use crate::assets::patch::weights::NewWeights;
use crate::skin::{self, Gathered, Influence, SkinFault, WeightChange};

/// How far the sum of decoded weights may be from 1 before it is put right. Eight f32 of any exporter that normalises
/// stay below 5e-7; one step of a normalised integer is above 1e-5.
const UNIT_SUM: f64 = 1e-6;
/// Influences of a set.
const SET: usize = 4;

/// Primitives that share all their joints and weights.
pub(super) struct Group {
    /// Indices into the skinned primitives, ascending; at least one.
    pub(super) users: Vec<usize>,
    /// Joints of the smallest skin that moves one of them; where no node gives them a skin, as many as may be named.
    joints: usize,
}

/// The groups of `primitives`, in the order of their first user.
pub(super) fn groups(model: &Model, primitives: &[SkinnedPrimitive]) -> Vec<Group> {
    let mut joints = vec![usize::MAX; model.meshes.len()];
    for node in &model.mesh_nodes {
        if let Some(skin) = node.skin {
            let smallest = &mut joints[node.mesh];
            *smallest = (*smallest).min(model.skins[skin].joints.len());
        }
    }
    let mut known: BTreeMap<&[(usize, usize)], usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (index, primitive) in primitives.iter().enumerate() {
        let group = *known.entry(&primitive.sets).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Group {
                users: Vec::new(),
                joints: usize::MAX,
            });
        }
        groups[group].users.push(index);
        groups[group].joints = groups[group].joints.min(joints[primitive.mesh]);
    }
    groups
}

/// What became of a group.
pub(super) struct Rewritten {
    /// Number of its vertices.
    pub(super) vertices: usize,
    /// What changed, in the order of the vertices.
    pub(super) changes: Changes,
    new: Option<NewWeights>,
}

impl Rewritten {
    /// What to write; `None` where the group stays as it is.
    pub(super) fn into_new(self) -> Option<NewWeights> {
        self.new
    }
}

/// The influences of those vertices whose weights changed, flat.
#[derive(Default)]
pub(super) struct Changes {
    /// Index of the vertex, and where its influences end in the lists below.
    ends: Vec<(u32, usize)>,
    joints: Vec<u32>,
    weights: Vec<WeightChange>,
}

impl Changes {
    fn push(&mut self, vertex: usize, full: &[Influence], new: &[f64]) {
        if full
            .iter()
            .map(|&(_, weight)| weight)
            .eq(new.iter().copied())
        {
            return;
        }
        for (i, &(joint, from)) in full.iter().enumerate() {
            let to = new.get(i).copied().unwrap_or(0.0);
            self.joints.push(joint);
            self.weights.push(WeightChange { from, to });
        }
        // An accessor has at most 2^53 elements, but its bytes are in memory: vertices fit u32 long before they do not.
        self.ends.push((vertex as u32, self.joints.len()));
    }

    /// Vertex, joints and weights of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &[u32], &[WeightChange])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(_, end)| end));
        self.ends.iter().zip(starts).map(|(&(vertex, end), start)| {
            (vertex, &self.joints[start..end], &self.weights[start..end])
        })
    }
}

/// A vertex that is trimmed but not yet stored.
struct Vertex {
    /// All influences, strongest first, of sum 1.
    full: Vec<Influence>,
    /// The weights of the first of them as they are stored.
    numbers: Vec<f32>,
}

/// What a look at all vertices of a group found.
#[derive(Default)]
struct Found {
    /// Sums that are not 1, joints that are doubled or not there, too many influences: something to rewrite.
    differs: bool,
    most: usize,
    stray: usize,
    doubled: usize,
    bound: usize,
    /// Lowest and highest sum that was off, and how many.
    sums: Option<(f64, f64, usize)>,
}

/// Trims a group; counts and warnings go into `report`.
pub(super) fn rewrite(
    group: &Group,
    primitives: &[SkinnedPrimitive],
    reader: &mut VertexReader,
    options: &SkinOptions,
    report: &mut SkinReport,
) -> Result<Rewritten, Fault> {
    let first = &primitives[group.users[0]];
    let slots = reader
        .slots(&first.sets)
        .map_err(|fault| fault.used_by(&first.place))?;
    let mut found = Found::default();
    let mut changes = Changes::default();
    let mut sets = Sets::new(options.limit.div_ceil(SET), slots.len());
    let mut of_vertex = Vec::new();
    for index in 0..slots.len() {
        slots.of_vertex(index, &mut of_vertex);
        let vertex = trim(&of_vertex, group.joints, options, &mut found)
            .map_err(|fault| refusal(fault, first, index, &slots))?;
        report.count(&vertex.full, options.limit, group.users.len());
        changes.push(
            index,
            &vertex.full,
            &options.weights.decoded(&vertex.numbers),
        );
        sets.put(index, &vertex);
    }
    found.differs |= first.sets.len() > options.limit.div_ceil(SET);
    warn(&found, first, report);
    let users = group.users.iter().map(|&user| &primitives[user]);
    let users = users.map(|primitive| (primitive.mesh, primitive.primitive));
    let new = found.differs.then(|| NewWeights {
        users: users.collect(),
        ..sets.packed(found.most.div_ceil(SET), options.weights)
    });
    Ok(Rewritten {
        vertices: slots.len(),
        changes: if new.is_some() {
            changes
        } else {
            Changes::default()
        },
        new,
    })
}

/// A vertex trimmed, and noted in `found`.
fn trim(
    slots: &[Influence],
    joints: usize,
    options: &SkinOptions,
    found: &mut Found,
) -> Result<Vertex, SkinFault> {
    let gathered = match skin::gather(slots, joints) {
        Err(SkinFault::ZeroTotal) if options.zero_weights == ZeroWeights::BindFirst => {
            found.bound += 1;
            found.differs = true;
            skin::gather(&[(slots[0].0, 1.0)], joints)?
        }
        gathered => {
            let gathered = gathered?;
            found.note(&gathered, slots, options.limit);
            gathered
        }
    };
    let full = skin::trim(&gathered.influences, gathered.influences.len())?;
    let kept = skin::trim(&gathered.influences, options.limit)?;
    let kept: Vec<f64> = kept.into_iter().map(|(_, weight)| weight).collect();
    let numbers = options.weights.numbers(&kept);
    found.most = found.most.max(numbers.len());
    Ok(Vertex { full, numbers })
}

impl Found {
    fn note(&mut self, gathered: &Gathered, slots: &[Influence], limit: usize) {
        let sum: f64 = slots.iter().map(|(_, weight)| weight).sum();
        self.stray += gathered.stray;
        self.doubled += usize::from(gathered.doubled);
        let off = (sum - 1.0).abs() > UNIT_SUM;
        if off {
            let (low, high, count) = self.sums.unwrap_or((sum, sum, 0));
            self.sums = Some((low.min(sum), high.max(sum), count + 1));
        }
        let beyond = gathered.influences.len() > limit;
        self.differs |= off || beyond || gathered.doubled || gathered.stray > 0;
    }
}

/// The fault with its place; of vertices of weight 0, how many there are.
fn refusal(fault: SkinFault, primitive: &SkinnedPrimitive, vertex: usize, slots: &Slots) -> Fault {
    let place = format!("{}, vertex {vertex}", primitive.place);
    let expected = match fault {
        SkinFault::ZeroTotal => {
            let mut of_vertex = Vec::new();
            let zero = (vertex..slots.len()).filter(|&other| {
                slots.of_vertex(other, &mut of_vertex);
                of_vertex.iter().all(|&(_, weight)| weight == 0.0)
            });
            return Fault::new(
                place,
                format!("{fault} (and of {} vertices behind it)", zero.count() - 1),
                "a sum above 0; --zero-weights bind-first has them follow the joint of their first slot",
            );
        }
        SkinFault::OutOfRange { .. } => "joints that the skin has where there is weight",
        _ => "finite weights from 0 on",
    };
    Fault::new(place, fault.to_string(), expected)
}

fn warn(found: &Found, primitive: &SkinnedPrimitive, report: &mut SkinReport) {
    let place = &primitive.place;
    if let Some((low, high, count)) = found.sums {
        report.warnings.push(format!(
            "{place}: the weights of {count} vertices do not sum to 1 (from {low:.6} to {high:.6}); they were normalised"
        ));
    }
    for (count, what) in [
        (
            found.stray,
            "slots of weight 0 name joints that the skin does not have; they name joint 0 now",
        ),
        (
            found.doubled,
            "vertices name a joint twice; its weights were added up",
        ),
        (
            found.bound,
            "vertices have no weight at all; they follow the joint of their first slot now",
        ),
    ] {
        if count > 0 {
            report.warnings.push(format!("{place}: {count} {what}"));
        }
    }
}

/// Joints and weights of all vertices, set by set, four of each per vertex.
struct Sets {
    joints: Vec<Vec<u16>>,
    weights: Vec<Vec<f32>>,
}

impl Sets {
    /// Joint 0 and weight 0 everywhere.
    fn new(sets: usize, vertices: usize) -> Self {
        Self {
            joints: vec![vec![0; SET * vertices]; sets],
            weights: vec![vec![0.0; SET * vertices]; sets],
        }
    }

    /// The slots of a vertex; what is stored as 0 names joint 0.
    fn put(&mut self, index: usize, vertex: &Vertex) {
        for (i, (&(joint, _), &number)) in vertex.full.iter().zip(&vertex.numbers).enumerate() {
            if number > 0.0 {
                let (set, slot) = (i / SET, SET * index + i % SET);
                // It was stored in 16 bits at most.
                self.joints[set][slot] = joint as u16;
                self.weights[set][slot] = number;
            }
        }
    }

    /// The first `sets` sets, which hold all there is, in the types of the file; without users.
    fn packed(mut self, sets: usize, stored: StoredWeights) -> NewWeights {
        self.joints.truncate(sets);
        self.weights.truncate(sets);
        let weights = self
            .weights
            .into_iter()
            .map(|numbers| stored.packed(numbers));
        NewWeights {
            users: Vec::new(),
            joints: self.joints,
            weights: weights.collect(),
        }
    }
}
