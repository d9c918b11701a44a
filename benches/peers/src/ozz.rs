//! `ozz-animation-rs`: its jobs, as a game would run them.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use ozz_animation_rs::{
    Animation, Archive, BlendingJob, BlendingJobRc, BlendingLayer, SamplingContext, SamplingJob,
    SamplingJobRc, Skeleton, SoaTransform,
};

use crate::clip_keys::{DURATION, JOINTS, play, rotation};
use crate::{archive, frames, line, per_joint};

type Buffer = Rc<RefCell<Vec<SoaTransform>>>;

/// What the clips are: the base, another, and one of differences from no rotation.
struct Clips {
    skeleton: Rc<Skeleton>,
    base: Rc<Animation>,
    over: Rc<Animation>,
}

impl Clips {
    fn new() -> Self {
        let animation = |size: f64| {
            let bytes = archive::clip(|joint, key| rotation(joint, key, size));
            let mut archive = Archive::from_vec(bytes).expect("an archive");
            Rc::new(Animation::from_archive(&mut archive).expect("a clip"))
        };
        let mut skeleton = Archive::from_vec(archive::skeleton()).expect("an archive");
        Self {
            skeleton: Rc::new(Skeleton::from_archive(&mut skeleton).expect("a skeleton")),
            base: animation(1.0),
            over: animation(0.3),
        }
    }

    fn buffer(&self) -> Buffer {
        Rc::new(RefCell::new(vec![
            SoaTransform::default();
            self.skeleton.num_soa_joints()
        ]))
    }

    fn sampling(&self, clip: &Rc<Animation>, to: &Buffer) -> SamplingJobRc {
        let mut job: SamplingJobRc = SamplingJob::default();
        job.set_animation(clip.clone());
        job.set_context(SamplingContext::new(clip.num_tracks()));
        job.set_output(to.clone());
        job
    }

    fn blending(
        &self,
        base: (&Buffer, f32),
        over: (&Buffer, f32),
        additive: bool,
    ) -> BlendingJobRc {
        let mut job: BlendingJobRc = BlendingJob::default();
        job.set_skeleton(self.skeleton.clone());
        job.set_output(self.buffer());
        let layer =
            |(buffer, weight): (&Buffer, f32)| BlendingLayer::with_weight(buffer.clone(), weight);
        job.layers_mut().push(layer(base));
        if additive {
            job.additive_layers_mut().push(layer(over));
        } else {
            job.layers_mut().push(layer(over));
        }
        job
    }

    fn pose(&self, clip: &Rc<Animation>, time: f32) -> Buffer {
        let to = self.buffer();
        let mut job = self.sampling(clip, &to);
        job.set_ratio(time / DURATION);
        job.run().expect("a pose");
        to
    }

    /// # Panics
    /// If the archive does not say what the workload says.
    fn check(&self) {
        for key in [0, 1, 40, 99] {
            let pose = self.pose(&self.base, crate::clip_keys::time(key));
            for joint in 0..JOINTS {
                let q = pose.borrow()[joint / 4].rotation;
                let found = [q.x, q.y, q.z, q.w].map(|c| c.to_array()[joint % 4]);
                let expected = rotation(joint, key, 1.0);
                let dot: f32 = (0..4).map(|c| found[c] * expected[c]).sum();
                assert!(
                    dot.abs() > 1.0 - 1e-6,
                    "joint {joint}, key {key}: {found:?} {expected:?}"
                );
            }
        }
    }
}

/// Prints the lines of ozz, which is called `side`.
pub fn measure(characters: usize, side: &str) {
    let clips = Clips::new();
    clips.check();
    let frames = frames(characters);
    let ratio = |frame, character| play(frame, character) / DURATION;

    let outputs: Vec<[Buffer; 2]> = (0..characters)
        .map(|_| [clips.buffer(), clips.buffer()])
        .collect();
    let mut jobs: Vec<[SamplingJobRc; 2]> = outputs
        .iter()
        .map(|to| {
            [
                clips.sampling(&clips.base, &to[0]),
                clips.sampling(&clips.over, &to[1]),
            ]
        })
        .collect();
    let sample = per_joint(characters, frames, |frame| {
        for (character, job) in jobs.iter_mut().enumerate() {
            job[0].set_ratio(ratio(frame, character));
            job[0].run().expect("a pose");
        }
        black_box(&outputs);
    });
    line(characters, "sample", side, sample);

    let (base, over) = (clips.pose(&clips.base, 1.33), clips.pose(&clips.over, 0.42));
    for (what, additive, weights) in [
        ("additive", true, (1.0, 0.5)),
        ("override lerp", false, (0.7, 0.3)),
    ] {
        let mut blends: Vec<BlendingJobRc> = (0..characters)
            .map(|_| clips.blending((&base, weights.0), (&over, weights.1), additive))
            .collect();
        let blend = per_joint(characters, frames, |_| {
            for job in &mut blends {
                job.run().expect("a pose");
            }
            black_box(&mut blends);
        });
        line(characters, what, side, blend);
    }

    let mut blends: Vec<BlendingJobRc> = outputs
        .iter()
        .map(|[base, over]| clips.blending((base, 1.0), (over, 0.5), true))
        .collect();
    let layered = per_joint(characters, frames, |frame| {
        for (character, (jobs, blend)) in jobs.iter_mut().zip(&mut blends).enumerate() {
            for job in jobs {
                job.set_ratio(ratio(frame, character));
                job.run().expect("a pose");
            }
            blend.run().expect("a pose");
        }
        black_box(&mut blends);
    });
    line(characters, "two samples and additive", side, layered);
}
