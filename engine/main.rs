//! The program `flounce`.
#![expect(
    clippy::print_stdout,
    reason = "a program prints what it was asked for"
)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use flounce::instruction_set::InstructionSet;

mod cli;

/// Secondary motion for characters: hair, skirts, tails and sleeves that swing.
#[derive(Parser)]
#[command(
    name = "flounce",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 failed (a file could not be read or written, an expectation did not hold), 2 misuse.\n\
                  Log level: FLOUNCE_LOG=warn|info|debug (default warn).\n\
                  Instructions: FLOUNCE_ISA=scalar|sse2|avx2|avx512 (default the widest of this processor; all give the same bits)."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bake(cli::bake::BakeArguments),
    Batch(Box<cli::batch::BatchArguments>),
    Plan(cli::plan::PlanArguments),
    Merge(cli::merge::MergeArguments),
    Check(cli::check::CheckArguments),
    Run(cli::run::RunArguments),
    Sweep(cli::sweep::SweepArguments),
    Explain(cli::explain::ExplainArguments),
    Pose(cli::pose::PoseArguments),
    Skin(cli::skin::SkinArguments),
    Farm(cli::farm::FarmArguments),
}

fn main() -> ExitCode {
    cli::start_log();
    let arguments = Arguments::parse();
    if let Err(fault) = InstructionSet::from_environment() {
        cli::show_error(&flounce::assets::Error::Request(fault.to_string()));
        return ExitCode::from(2);
    }
    let outcome = match arguments.command {
        Command::Bake(arguments) => cli::bake::run(&arguments),
        Command::Batch(arguments) => cli::batch::run(&arguments),
        Command::Plan(arguments) => cli::plan::run(&arguments),
        Command::Merge(arguments) => cli::merge::run(&arguments),
        Command::Check(arguments) => cli::check::run(&arguments),
        Command::Run(arguments) => cli::run::run(&arguments),
        Command::Sweep(arguments) => cli::sweep::run(&arguments),
        Command::Explain(arguments) => cli::explain::run(&arguments),
        Command::Pose(arguments) => cli::pose::run(&arguments),
        Command::Skin(arguments) => cli::skin::run(&arguments),
        Command::Farm(arguments) => cli::farm::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        cli::show_error(&error);
        ExitCode::FAILURE
    })
}
