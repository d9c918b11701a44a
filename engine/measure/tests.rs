use super::*;
use crate::euler::from_euler_zxy;
use bevy_math::{Vec3, ops};

const REST: [f32; 4] = [0.0, 0.6, 0.0, 0.8];

/// A swing about one slanted axis that never repeats, `scale` times as far, in the rest's own space.
fn swing(frames: usize, scale: f32) -> Vec<[f32; 4]> {
    let at = |frame: usize| {
        let t = frame as f32;
        let angle = scale * (0.3 * ops::sin(t * 0.37) + 0.2 * ops::sin(t * 0.11) + 0.1);
        let (s, c) = ops::sin_cos(angle * 0.5);
        let turn = crate::rotation::Rotation::new(0.8 * s, 0.6 * s, 0.0, c);
        (crate::rotation::Rotation::splat(REST) * turn).lane(0)
    };
    (0..frames).map(at).collect()
}

#[test]
fn d2_the_truth_against_itself_is_right_and_can_be_judged() {
    let truth = swing(60, 1.0);
    let report = compare(REST, &truth, &truth, None).unwrap();
    assert_eq!(report.median_error, 0.0);
    assert_eq!((report.rank_of_zero, report.can_judge()), (1, true));
    assert_eq!(report.overshoot, Some(1.0));
    assert!(report.axis_angle.unwrap() < 1e-9);
    assert!(report.correlation[0].unwrap() > 0.999_999);
    assert_eq!(report.share_at_limit, None);
}

#[test]
fn d2_too_loose_overshoots_along_the_same_axis() {
    let report = compare(REST, &swing(60, 1.0), &swing(60, 1.5), None).unwrap();
    assert!((report.overshoot.unwrap() - 1.5).abs() < 0.01, "{report:?}");
    assert!(report.principal_axis_angle.unwrap() < 0.01);
    assert!(report.can_judge());
}

#[test]
fn d2_a_late_simulation_is_found_by_the_scan() {
    let truth = swing(60, 1.0);
    // Shown 3 frames early it would fit: so it is 3 frames late.
    let late = shifted(&truth, 57);
    let report = compare(REST, &truth, &late, None).unwrap();
    let best = (0..60).min_by(|&a, &b| report.scan[a].total_cmp(&report.scan[b]));
    assert_eq!(best, Some(3));
    assert!(report.rank_of_zero > 1 && !report.can_judge());
}

#[test]
fn d3_doing_nothing_is_as_wrong_as_the_truth_moves_and_judges_nothing() {
    let truth = swing(60, 1.0);
    let report = compare(REST, &truth, &held(REST, 60), None).unwrap();
    assert!((report.error_over_deflection.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!((report.rank_of_zero, report.can_judge()), (1, false));
    assert_eq!(report.correlation, [None; 3]);
    assert_eq!(
        (report.axis_angle, report.principal_axis_angle),
        (None, None)
    );
}

#[test]
fn d2_a_truth_that_rests_has_no_ratio() {
    let still = held(REST, 4);
    let report = compare(REST, &still, &swing(4, 1.0), None).unwrap();
    assert_eq!(
        (report.error_over_deflection, report.overshoot),
        (None, None)
    );
}

#[test]
fn d2_at_a_limit_counts_only_axes_with_room() {
    let truth = swing(60, 1.0);
    let ten = Limit {
        low: Vec3::new(-10.0, 0.0, 0.0),
        high: Vec3::new(10.0, 0.0, 0.0),
    };
    let at = |degrees: f32| {
        let q = from_euler_zxy([degrees.to_radians(), 0.0, 0.0]);
        (crate::rotation::Rotation::splat(REST) * q).lane(0)
    };
    let simulated: Vec<_> = (0..60)
        .map(|k| at(if k % 4 == 0 { 9.96 } else { 5.0 }))
        .collect();
    let report = compare(REST, &truth, &simulated, Some(&ten)).unwrap();
    assert_eq!(report.share_at_limit, Some(0.25));
}

#[test]
fn d2_many_joints_are_the_median_joint() {
    let truth = swing(40, 1.0);
    let reports: Vec<_> = [1.1, 1.2, 4.0]
        .map(|scale| compare(REST, &truth, &swing(40, scale), None).unwrap())
        .into();
    let all = overall(&reports).unwrap();
    assert_eq!(all.median_error, reports[1].median_error);
    assert_eq!(all.scan[7], {
        let mut of: Vec<f64> = reports.iter().map(|report| report.scan[7]).collect();
        of.sort_by(f64::total_cmp);
        of[1]
    });
    assert!(matches!(overall(&[]), Err(MeasureError::Empty("joint"))));
    let short = compare(REST, &truth[..9], &truth[..9], None).unwrap();
    assert!(overall(&[reports[0].clone(), short]).is_err());
}

#[test]
fn what_cannot_be_compared_says_why() {
    let (four, five) = (swing(4, 1.0), swing(5, 1.0));
    let fault = |truth: &[[f32; 4]], simulated: &[[f32; 4]]| {
        compare(REST, truth, simulated, None)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        fault(&four, &five),
        "the simulation has 5 frames and the truth 4; expected as many"
    );
    assert_eq!(
        fault(&[], &[]),
        "nothing to measure; expected at least one frame"
    );
    let broken = [four[0], [0.0; 4], four[2], four[3]];
    assert_eq!(
        fault(&four, &broken),
        "frame 1 of the simulation is [0.0, 0.0, 0.0, 0.0]; expected a rotation"
    );
    assert!(compare([f32::NAN; 4], &four, &four, None).is_err());
}

#[test]
fn d1_lengths_and_signs_of_the_quaternions_do_not_matter() {
    let truth = swing(20, 1.0);
    let other: Vec<_> = swing(20, 1.3)
        .into_iter()
        .enumerate()
        .map(|(k, q)| q.map(|c| c * if k % 2 == 0 { -2.0 } else { 1e30 }))
        .collect();
    let a = compare(REST, &truth, &swing(20, 1.3), None).unwrap();
    let b = compare(REST, &truth, &other, None).unwrap();
    assert!((a.median_error - b.median_error).abs() < 1e-6);
    assert!((a.axis_angle.unwrap() - b.axis_angle.unwrap()).abs() < 1e-5);
}
