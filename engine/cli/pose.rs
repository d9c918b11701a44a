//! `flounce pose`: one pose, joint by joint.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bevy_math::{Quat, Vec3};
use clap::Args;
use flounce::additive::Side;
use flounce::assets::import::{self, Model};
use flounce::assets::layers::{ClipFileRule, KindRule, LayerRule, MaskRule, ReferenceRule};
use flounce::assets::library::Library;
use flounce::assets::patch::{self, PatchOptions, patch};
use flounce::assets::pose::{self, PoseQuestion, Posed};
use flounce::assets::{Error, container::Container};
use flounce::channel::{ChannelKind, ChannelLayout};
use flounce::euler::to_euler_zxy;
use flounce::layer::Missing;

use super::{show_warnings, table};

/// Show one pose: a clip at a time, with layers over it.
///
/// Prints each joint that is not at rest: its translation and rotation against its parent, and what each layer did to
/// it. With -o the pose is written: .csv and .json hold all joints, .glb, .vrm and .gltf the model with the pose as a
/// clip of one key.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce pose scenes/models/Fox.glb --clip Walk --at 0.5\n  \
    flounce pose scenes/models/Fox.glb --clip Walk --at 0.5 --additive Survey --weight 0.5 --mask b_Neck_04\n  \
    flounce pose scenes/models/Fox.glb --clip Walk --at 0.5 --joint b_Head_05 --model-space\n  \
    flounce pose scenes/models/RiggedFigure.glb --clips-from scenes/models/CesiumMan.glb --bindings\n  \
    flounce pose scenes/models/Fox.glb --clip Walk --at 0.5 --layer '(clip: \"Run\", weight: 0.3)' -o pose.glb")]
pub struct PoseArguments {
    /// The model (.glb, .gltf or .vrm)
    model: PathBuf,
    /// The clip: its name, or #3 for the file's animation 3; without it the rest pose
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Seconds
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    at: f32,
    /// Clips hold their ends; else they repeat, as in scenes
    #[arg(long)]
    once: bool,
    /// Adds this clip to the pose: what it differs from --reference, on the joint's own side
    #[arg(long, value_name = "CLIP", conflicts_with = "replace")]
    additive: Option<String>,
    /// Lays this clip over the pose
    #[arg(long = "override", value_name = "CLIP")]
    replace: Option<String>,
    /// How much of it, 0 to 1 [default: 1]
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    weight: Option<f32>,
    /// Which joints it reaches: these and what is below them (repeatable)
    #[arg(long, value_name = "JOINT")]
    mask: Vec<String>,
    /// Which joints it does not reach: these and what is below them (repeatable)
    #[arg(long, value_name = "JOINT")]
    except: Vec<String>,
    /// What an additive clip is compared with: rest, a time of its own in seconds, or CLIP@SECONDS [default: rest]
    #[arg(long, value_name = "WHAT")]
    reference: Option<String>,
    /// Puts the difference of an additive clip on the parent's side, which is another kind of layer
    #[arg(long)]
    parent_side: bool,
    /// What has no track counts as at rest; else it stays as it is below the layer
    #[arg(long)]
    missing_rest: bool,
    /// A further layer in RON, as in scenes (repeatable)
    #[arg(long, value_name = "RON")]
    layer: Vec<String>,
    /// A file whose clips can be named as well, bound by the names of joints (repeatable)
    #[arg(long, value_name = "FILE")]
    clips_from: Vec<PathBuf>,
    /// Clips of --clips-from turn joints from their own rest, for rigs whose joints rest along other axes
    #[arg(long, requires = "clips_from")]
    from_rest: bool,
    /// How the tracks of --clips-from found joints: index, the file's joint, the model's joint and its parent
    #[arg(long, requires = "clips_from")]
    bindings: bool,
    /// Only these joints (repeatable)
    #[arg(long, value_name = "NAME")]
    joint: Vec<String>,
    /// All joints, also those at rest
    #[arg(long)]
    all: bool,
    /// Model space in place of the parent's: metres from the character's origin
    #[arg(long)]
    model_space: bool,
    /// Where to write the pose: .csv, .json, .glb, .vrm or .gltf
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the output
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(arguments: &PoseArguments) -> Result<ExitCode, Error> {
    let (model, container) = import::read_model(&arguments.model)?;
    show_warnings(&model.warnings);
    let mut library = Library::new(&model);
    for file in &arguments.clips_from {
        let rule = ClipFileRule {
            file: file.to_string_lossy().into_owned(),
            from_rest: arguments.from_rest,
            ..ClipFileRule::default()
        };
        library.add(&rule, Path::new(""), &model.rig)?;
    }
    show_warnings(&library.warnings);
    if arguments.bindings {
        print_bindings(&model, &library);
        return Ok(ExitCode::SUCCESS);
    }
    let question = PoseQuestion {
        clip: arguments.clip.clone(),
        at: arguments.at,
        repeats: !arguments.once,
        layers: layers(arguments)?,
        folder: PathBuf::new(),
    };
    let posed = pose::pose(&model, &library, &question)?;
    if let Some(out) = &arguments.output {
        write(arguments, &model, &container, &posed, out)?;
        println!("{}", out.display());
        return Ok(ExitCode::SUCCESS);
    }
    let shown = shown_joints(arguments, &model, &posed)?;
    print!("{}", joints(arguments, &model, &posed, &shown));
    print_invalid(&model, &posed);
    print_channels(&model, &posed);
    print_layers(&model, &posed, &shown);
    Ok(ExitCode::SUCCESS)
}

/// The layer that the options spell out, then those in RON.
fn layers(arguments: &PoseArguments) -> Result<Vec<LayerRule>, Error> {
    refuse_idle(arguments)?;
    let mut layers = Vec::new();
    for (index, text) in arguments.layer.iter().enumerate() {
        layers.push(pose::layer(&format!("--layer {}", index + 1), text)?);
    }
    let Some(clip) = arguments.additive.as_ref().or(arguments.replace.as_ref()) else {
        return Ok(layers);
    };
    let mut own = LayerRule {
        clip: Some(clip.clone()),
        kind: kind(arguments)?,
        weight: arguments.weight.unwrap_or(1.0),
        repeats: !arguments.once,
        mask: MaskRule {
            roots: arguments.mask.clone(),
            except: arguments.except.clone(),
            ..MaskRule::default()
        },
        missing: if arguments.missing_rest {
            Missing::Rest
        } else {
            Missing::Base
        },
        ..LayerRule::default()
    };
    if layers.iter().any(|layer| layer.called() == clip) {
        // Names are one of a kind, and this one cannot be given another.
        own.name = format!("{clip} of the options");
    }
    layers.insert(0, own);
    Ok(layers)
}

fn kind(arguments: &PoseArguments) -> Result<KindRule, Error> {
    if arguments.additive.is_none() {
        return Ok(KindRule::Override);
    }
    let written = arguments.reference.as_deref();
    Ok(KindRule::Additive {
        side: if arguments.parent_side {
            Side::Parent
        } else {
            Side::Own
        },
        reference: written.map_or(Ok(ReferenceRule::Rest), reference)?,
        continuous: false,
    })
}

/// Refuses options that would not act: whoever writes one means something by it.
fn refuse_idle(arguments: &PoseArguments) -> Result<(), Error> {
    let layered = arguments.additive.is_some() || arguments.replace.is_some();
    let refuse = |what: &str| Err(Error::Request(what.to_owned()));
    let of_layers = arguments.weight.is_some()
        || arguments.missing_rest
        || !(arguments.mask.is_empty() && arguments.except.is_empty());
    if of_layers && !layered {
        return refuse(
            "--weight, --mask, --except and --missing-rest belong to --additive or --override; in --layer write \
             weight: …, mask: (roots: […])",
        );
    }
    if arguments.additive.is_none() && (arguments.reference.is_some() || arguments.parent_side) {
        return refuse("--reference and --parent-side belong to --additive");
    }
    let of_printing = arguments.all || arguments.model_space || !arguments.joint.is_empty();
    if of_printing && arguments.output.is_some() {
        return refuse(
            "--joint, --all and --model-space choose what is printed; --output writes every joint",
        );
    }
    Ok(())
}

/// `rest`, `0.5` or `Idle@0.5`.
fn reference(text: &str) -> Result<ReferenceRule, Error> {
    if text == "rest" {
        return Ok(ReferenceRule::Rest);
    }
    if let Ok(at) = text.parse() {
        return Ok(ReferenceRule::At(at));
    }
    let clip_at = text
        .rsplit_once('@')
        .and_then(|(clip, at)| Some((clip, at.parse().ok()?)));
    let (clip, at) = clip_at.ok_or_else(|| {
        Error::Request(format!(
            "--reference: found \"{text}\", expected rest, seconds such as 0.5, or CLIP@SECONDS"
        ))
    })?;
    Ok(ReferenceRule::Clip {
        clip: clip.to_owned(),
        at,
    })
}

/// How the clips of other files found the model's joints. `[L5]`
fn print_bindings(model: &Model, library: &Library) {
    for bound in &library.bound {
        println!("{}: clip \"{}\"", bound.file.display(), bound.clip);
        let describe = |joint: Option<usize>| {
            joint.map_or_else(|| "-".to_owned(), |joint| model.rig.describe(joint))
        };
        let head = [
            "track",
            "joint of the file",
            "joint of the model",
            "its parent",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(bound.binding.tracks.iter().map(|track| {
            vec![
                track.track.to_string(),
                track.source.clone(),
                describe(track.target),
                describe(track.target_parent),
            ]
        }));
        print!("{}", table(&rows));
        let unmatched = bound.binding.unmatched_target.iter();
        let unmatched: Vec<String> = unmatched.map(|&joint| model.rig.describe(joint)).collect();
        println!(
            "joints of the file without one of the model: {}",
            listed(&bound.unmatched)
        );
        println!(
            "joints of the model that no track moves: {}\n",
            listed(&unmatched)
        );
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// The joints to print: those asked for, else those that are not at rest.
fn shown_joints(
    arguments: &PoseArguments,
    model: &Model,
    posed: &Posed,
) -> Result<Vec<usize>, Error> {
    if !arguments.joint.is_empty() {
        let find = |name: &String| pose::find_joint(&model.rig, name);
        return arguments.joint.iter().map(find).collect();
    }
    let moved =
        |&joint: &usize| arguments.all || posed.local[joint] != model.rig.joints[joint].rest;
    Ok((0..posed.local.len()).filter(moved).collect())
}

/// Six decimals; what rounds to zero has no sign.
fn number(value: f32) -> String {
    let text = format!("{value:.6}");
    if text == "-0.000000" {
        "0.000000".to_owned()
    } else {
        text
    }
}

fn numbers(values: impl IntoIterator<Item = f32>) -> impl Iterator<Item = String> {
    values.into_iter().map(number)
}

/// Translation, rotation and Euler angles of each joint.
fn joints(arguments: &PoseArguments, model: &Model, posed: &Posed, shown: &[usize]) -> String {
    let space = if arguments.model_space {
        "model space"
    } else {
        "parent's space"
    };
    let head = ["x", "y", "z", "qx", "qy", "qz", "qw", "ZXY x°", "y°", "z°"];
    let mut rows = vec![
        [format!("joint ({space})")]
            .into_iter()
            .chain(head.map(str::to_owned))
            .collect::<Vec<_>>(),
    ];
    for &joint in shown {
        let (translation, rotation) = placed(arguments, posed, joint);
        let euler = to_euler_zxy(rotation.into()).map(f32::to_degrees);
        let mut row = vec![model.rig.describe(joint)];
        row.extend(numbers(translation.to_array()));
        row.extend(numbers(rotation.to_array()));
        row.extend(euler.map(|angle| format!("{angle:.3}")));
        rows.push(row);
    }
    if shown.is_empty() {
        return "every joint is at rest; --all shows them\n".to_owned();
    }
    table(&rows)
}

fn placed(arguments: &PoseArguments, posed: &Posed, joint: usize) -> (Vec3, Quat) {
    if arguments.model_space {
        let rigid = posed.model[joint].rigid;
        (rigid.t.into(), rigid.r.into())
    } else {
        (posed.local[joint].translation, posed.local[joint].rotation)
    }
}

/// Joints whose animation is not finite.
fn print_invalid(model: &Model, posed: &Posed) {
    for &joint in &posed.invalid {
        println!(
            "{} is not finite and took its rest pose",
            model.rig.describe(joint)
        );
    }
}

/// Morph weights and fields of view.
fn print_channels(model: &Model, posed: &Posed) {
    let layout = ChannelLayout::new(&model.rig.channels);
    if layout.sets().is_empty() {
        return;
    }
    println!();
    for (index, set) in layout.sets().iter().enumerate() {
        let values = &posed.channels[layout.range(index)];
        let joint = model.rig.describe(set.joint);
        match set.kind {
            ChannelKind::Morph => {
                let values: Vec<String> = numbers(values.iter().copied()).collect();
                println!("morph weights of {joint}: {}", values.join(" "));
            }
            ChannelKind::Fov => {
                println!(
                    "field of view of {joint}: {} rad, {:.3}°",
                    number(values[0]),
                    values[0].to_degrees()
                );
            }
        }
    }
}

/// What each layer did to the joints that are shown.
fn print_layers(model: &Model, posed: &Posed, shown: &[usize]) {
    for layer in &posed.layers {
        println!("\nlayer \"{}\", weight {}", layer.name, layer.weight);
        let mut rows = Vec::new();
        for moved in layer
            .joints
            .iter()
            .filter(|moved| shown.contains(&moved.joint))
        {
            rows.push(vec![
                model.rig.describe(moved.joint),
                format!("turned {:.3}°", moved.turned.to_degrees()),
                format!("moved {:.6}", moved.moved),
                format!("scaled {:.6}", moved.scaled),
            ]);
        }
        if rows.is_empty() && layer.channels == 0.0 {
            println!("changes none of these joints");
        }
        print!("{}", table(&rows));
        if layer.channels > 0.0 {
            println!(
                "morph weights and fields of view changed by up to {}",
                number(layer.channels)
            );
        }
        if let Some(action) = &layer.action {
            let ahead = &action.feed_forward;
            println!(
                "action at {:.3} of its way; the body is about to move at {:.4} m/s, {:.4} m/s²",
                action.time.progress,
                ahead.velocity.length(),
                ahead.acceleration.length()
            );
        }
        for &joint in &layer.kept {
            println!(
                "{} keeps the pose below: the layer's is not finite",
                model.rig.describe(joint)
            );
        }
    }
}

fn write(
    arguments: &PoseArguments,
    model: &Model,
    container: &Container,
    posed: &Posed,
    out: &Path,
) -> Result<(), Error> {
    patch::refuse_same(out, &arguments.model)?;
    patch::check_folder(out)?;
    let extension = out.extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str() {
        Some("csv") => patch::write_file(out, posed.to_csv(model).as_bytes(), arguments.force),
        Some("json") => patch::write_file(out, posed.to_json(model).as_bytes(), arguments.force),
        Some("glb" | "gltf" | "vrm") => {
            let clip = posed.clip(&model.rig, "pose");
            if clip.tracks.is_empty() {
                return Err(Error::Request(
                    "every joint is at rest: there is no pose to write as a clip".to_owned(),
                ));
            }
            let patched = patch(container, &[clip], PatchOptions::default(), out)?;
            show_warnings(&patched.warnings);
            let written = patch::write(&patched, out, arguments.force)?;
            show_warnings(&written.warnings);
            if posed.moves_lenses(&model.rig) {
                show_warnings(&[
                    "the clip leaves out fields of view, for which glTF has no channel".to_owned(),
                ]);
            }
            Ok(())
        }
        _ => Err(Error::Request(format!(
            "{}: found no ending that says what to write, expected .csv, .json, .glb, .vrm or .gltf",
            out.display()
        ))),
    }
}
