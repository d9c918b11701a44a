use super::*;

fn key(t: f32, c3: f32, c2: f32, c1: f32, v: f32) -> PolynomialKey {
    PolynomialKey { t, c3, c2, c1, v }
}

fn curve(keys: &[PolynomialKey]) -> PolynomialCurve {
    PolynomialCurve::new(keys.to_vec()).unwrap()
}

/// Rises to 1 within a second, then falls to −1 at once and holds.
fn step() -> PolynomialCurve {
    curve(&[key(0.0, 0.0, 0.0, 1.0, 0.0), key(1.0, 0.0, 0.0, 0.0, -1.0)])
}

#[test]
fn k2_beyond_the_ends_the_end_keys_hold_without_slope() {
    let c = curve(&[key(1.0, 1.0, 2.0, 3.0, 4.0), key(2.0, 9.0, 9.0, 9.0, 5.0)]);
    for (t, value, slope) in [
        (0.0, 4.0, 0.0),
        (1.0, 4.0, 3.0),
        (1.5, 6.125, 5.75),
        (2.0, 5.0, 0.0),
        (9.0, 5.0, 0.0),
        (f64::INFINITY, 5.0, 0.0),
        (f64::NAN, 4.0, 0.0),
    ] {
        assert_eq!((c.value(t), c.derivative(t)), (value, slope), "at {t}");
    }
}

#[test]
fn k2_a_jump_belongs_to_the_key_it_lands_on() {
    assert_eq!(step().value(1.0), -1.0);
    assert_eq!(step().value(1.0_f64.next_down()), 1.0);
}

#[test]
fn k2_a_jump_gets_a_key_before_it() {
    let keys = step().to_cubic_spline();
    let led = keys[1];
    assert_eq!(keys.len(), 3);
    assert!(f64::from(led.time) <= 1.0 - 1e-5 && f64::from(led.time.next_up()) > 1.0 - 1e-5);
    assert_eq!(
        (led.in_tangent, led.value, led.out_tangent),
        (1.0, led.time, 0.0)
    );
    let landed = SplineKey {
        time: 1.0,
        in_tangent: 0.0,
        value: -1.0,
        out_tangent: 0.0,
    };
    assert_eq!(keys[2], landed);
}

#[test]
fn k2_a_segment_that_is_too_short_gets_no_key() {
    let with_length = |length: f32| {
        let c = curve(&[
            key(0.0, 0.0, 0.0, 0.0, 0.0),
            key(length, 0.0, 0.0, 0.0, 1.0),
        ]);
        c.to_cubic_spline().len()
    };
    assert_eq!(with_length(1e-5), 2);
    assert_eq!(with_length(1.999e-5), 2);
    assert_eq!(with_length(2.001e-5), 3);
}

#[test]
fn k2_times_that_f32_cannot_tell_apart_get_no_key() {
    let late = 4096.0_f32;
    let c = curve(&[
        key(late, 0.0, 0.0, 0.0, 0.0),
        key(late.next_up(), 0.0, 0.0, 0.0, 1.0),
    ]);
    assert_eq!(c.to_cubic_spline().len(), 2);
}

#[test]
fn k2_a_difference_of_decimals_is_no_jump() {
    let to = |v: f32| curve(&[key(0.0, 0.0, 0.0, 1.0, 0.0), key(1.0, 0.0, 0.0, 0.0, v)]);
    assert_eq!(to(1.0 + 0.9e-6).to_cubic_spline().len(), 2);
    assert_eq!(to(1.0 + 2e-6).to_cubic_spline().len(), 3);
}

#[test]
fn k2_curves_of_one_sampler_share_all_times() {
    let other = curve(&[key(-1.0, 0.0, 0.5, 0.0, 2.0), key(3.0, 0.0, 0.0, 0.0, 10.0)]);
    let step = step();
    let (times, keys) = shared_cubic_spline(&[&step, &other]);
    assert_eq!(times.len(), 5);
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(keys.iter().all(|keys| keys.len() == 5));
    let of_other = SplineKey {
        time: 1.0,
        in_tangent: 2.0,
        value: 4.0,
        out_tangent: 2.0,
    };
    assert_eq!(keys[1][3], of_other);
    let still = |key: &SplineKey| (key.in_tangent, key.value, key.out_tangent);
    assert_eq!(still(&keys[0][0]), (0.0, 0.0, 0.0), "before its first key");
    assert_eq!(still(&keys[0][4]), (0.0, -1.0, 0.0), "after its last key");
}

#[test]
fn k2_a_straight_line_has_its_control_points_on_it() {
    let c = curve(&[key(0.0, 0.0, 0.0, 2.0, 1.0), key(3.0, 0.0, 0.0, 0.0, 7.0)]);
    assert_eq!(c.bezier(), [[[1.0, 3.0], [2.0, 5.0]]]);
    assert!(curve(&[PolynomialKey::default()]).bezier().is_empty());
}

#[test]
fn k2_a_fault_says_where_it_is() {
    let good = key(0.0, 0.0, 0.0, 0.0, 0.0);
    let fault = |keys: &[PolynomialKey]| PolynomialCurve::new(keys.to_vec()).unwrap_err();
    assert_eq!(fault(&[]), CurveFault::Empty);
    assert_eq!(
        fault(&[good, good]).to_string(),
        "key 1: time 0 does not come after 0, the time of the key before"
    );
    let infinite = fault(&[good, key(1.0, 0.0, f32::INFINITY, 0.0, 0.0)]);
    assert_eq!(
        infinite.to_string(),
        "key 1: c2 is inf; expected a finite number"
    );
    let steep = fault(&[key(0.0, 0.0, 0.0, 1e38, 0.0), key(10.0, 0.0, 0.0, 0.0, 0.0)]);
    assert!(
        matches!(steep, CurveFault::TooLarge { index: 0, .. }),
        "{steep}"
    );
}

#[test]
fn linear_keys_are_joined_by_straight_lines() {
    let keys = LinearKeys::new(vec![(1.0, 2.0), (3.0, 6.0), (4.0, 0.0)]).unwrap();
    for (t, value) in [
        (0.0, 2.0),
        (2.0, 4.0),
        (3.0, 6.0),
        (3.5, 3.0),
        (9.0, 0.0),
        (f64::NAN, 2.0),
    ] {
        assert_eq!(keys.value(t), value, "at {t}");
    }
    let fault = |keys: &[(f32, f32)]| LinearKeys::new(keys.to_vec()).unwrap_err();
    assert!(matches!(
        fault(&[(1.0, 0.0), (0.5, 0.0)]),
        CurveFault::Order { index: 1, .. }
    ));
    assert!(matches!(
        fault(&[(1.0, f32::NAN)]),
        CurveFault::NotFinite { field: "value", .. }
    ));
}

#[test]
fn k3_the_other_unit_is_an_error() {
    let curve = Curve {
        domain: Domain::Progress,
        keys: CurveKeys::Linear(LinearKeys::new(vec![(0.0, 0.0), (1.0, 2.0)]).unwrap()),
    };
    assert_eq!(curve.in_progress(0.25), Ok(0.5));
    assert_eq!(
        curve.in_seconds(0.25).unwrap_err().to_string(),
        "the curve is keyed in progress and was asked in seconds"
    );
}

#[test]
fn a_curve_in_degrees_becomes_one_in_radians() {
    let degrees = Curve {
        domain: Domain::Seconds,
        keys: CurveKeys::Polynomial(curve(&[
            key(0.0, 0.0, 90.0, 0.0, 90.0),
            key(1.0, 0.0, 0.0, 0.0, 180.0),
        ])),
    };
    let radians = degrees.scaled(1.0_f32.to_radians()).unwrap();
    for t in [0.0, 0.5, 1.0] {
        let expected = degrees.in_seconds(t).unwrap().to_radians();
        assert!((radians.in_seconds(t).unwrap() - expected).abs() < 1e-6);
    }
    assert!(degrees.scaled(f32::NAN).is_err());
}

#[cfg(feature = "rig_files")]
#[test]
fn curves_are_read_from_ron_and_checked_where_they_stand() {
    let linear: Curve =
        ron::from_str("(domain: progress, keys: linear([(0, 0.0), (1, 1.0)]))").unwrap();
    assert_eq!(linear.in_progress(0.5), Ok(0.5));
    let text = "(domain: seconds, keys: polynomial([(t: 0, c1: 1, v: 0), (t: 2, v: 2)]))";
    let cubic: Curve = ron::from_str(text).unwrap();
    assert_eq!(cubic.in_seconds(0.5), Ok(0.5));
    let written = ron::to_string(&cubic).unwrap();
    assert_eq!(ron::from_str::<Curve>(&written).unwrap(), cubic);
    let refused = [
        ("(domain: progress, keys: linear([]))", "at least one"),
        (
            "(domain: progress, keys: linear([(1, 0), (1, 0)]))",
            "key 1",
        ),
        ("(domain: frames, keys: linear([(1, 0)]))", "frames"),
        (
            "(domain: seconds, keys: polynomial([(t: 0, v: 0, c4: 1)]))",
            "c4",
        ),
    ];
    for (text, part) in refused {
        let fault = ron::from_str::<Curve>(text).unwrap_err().to_string();
        assert!(fault.contains(part), "{text}: {fault}");
    }
}
