//! Rig files are read or refused with the place: RON-01, RON-02, RON-04 and what people get wrong.
#![cfg(feature = "rig_files")]

use std::path::Path;

use flounce::assets::Error;
use flounce::assets::rig_file::{self};

/// The error of a text, as shown, with its help.
fn refusal(text: &str) -> String {
    match rig_file::parse(Path::new("rig.ron"), text) {
        Ok(_) => format!("accepted: {text}"),
        Err(error @ Error::Ron { .. }) => {
            let shown = error.to_string();
            match error {
                Error::Ron {
                    help: Some(help), ..
                } => format!("{shown} ({help})"),
                _ => shown,
            }
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn show() {
    for text in [
        r#"(version: 1, chains: [(root: "a", parameters: (stiffness: 0x0x0, damping: 1))])"#,
        r#"(version: 1, chains: [(root: "a", parameters: (stiffness: 0.5 damping: 1))])"#,
        r#"(version: 1, chains: [(root: "a", parameters: (stifness: 0.5, damping: 1))])"#,
        r#"(version: 1, chains: [(root: "a", parameters: (motion: wobble, damping: 1))])"#,
        r#"(version: 1, chains: [(root: "a", parameters: (limit_x_deg: (1), damping: 1))])"#,
        r#"(version: 1, chains: [(root: "a", parameters: (limit_x_deg: (1,2,3), damping: 1))])"#,
        r#"(version: 1, chains: [(root: "a", parameters: (collider: (shape: sphere())))])"#,
        r#"(version: 1, chains: [(root: "a", parameters: (collider: (shape: cube())))])"#,
        r#"(version: 1, chains: [(root: "a", parameters: (collider: (shape: sphere(radius: 1), mask: 9)))])"#,
        r#"(version: 1, chains: [(root: "a", parameters: (collider: (shape: sphere(radius: 1), mask: [32])))])"#,
        r#"(version: 1, chains: [(root: "a", overrides: {"hair_03": (stiffness: -1)})])"#,
        r#"(version: 1, chains: [(root: "a", overrides: {"hair_03": (stiffness: -1, damping: 3, motion: slide)})])"#,
        r#"(version: 1.0)"#,
        r#"(version: 2, future: 3)"#,
        "",
        "[]",
        r#"(version: 1, "chains": [])"#,
        r#"(version: 1, presets: {"a": (), "a": ()})"#,
        r#"(version: 1, chains: [(root: "a", root: "b")])"#,
        r#"(version: 1, chains: [(depth: -1)])"#,
        r#"(version: 1, chains: [()])"#,
        r#"(version: 1, chains: [(root: "a")]"#,
        r#"(version: 1, chains: [(root: "a")]) more"#,
        r#"(version: 1, chains: [(root: "a)]) more"#,
        r#"(chains: [])"#,
        r#"(version: 1, space: left_handed)"#,
        r#"(version: 1, colliders: [(joint: "a", shape: plane(normal: (0,0,0)))])"#,
    ] {
        println!("{text}\n    {}", refusal(text));
    }
}
