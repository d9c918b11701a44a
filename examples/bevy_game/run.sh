#!/usr/bin/env bash
# Builds the game and runs it: `run.sh` in a window, `run.sh headless` without, judged.
#
# Headless it runs 300 frames twice, which must hold and give the same bits, and once more with flounce left in the dark
# about jumps: that must be seen, or the judge is asleep.
set -euo pipefail
cd "$(dirname "$0")"

# bevy 0.20.1 says it wants Rust 1.97.1; nightlies of 1.97 from before that release build it.
toolchain=${FLOUNCE_GAME_TOOLCHAIN:-nightly}
game() { cargo "+$toolchain" run --quiet --locked --ignore-rust-version -- "$@"; }

case "${1:-window}" in
window)
    game
    ;;
headless)
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
    cargo "+$toolchain" build --locked --ignore-rust-version
    game --headless --frames 300 | tee "$out/one"
    if ! game --headless --frames 300 >"$out/two"; then
        cat "$out/two"
        echo "FAILED  the second run, after a first that held"
        exit 1
    fi
    if ! diff <(grep hash "$out/one") <(grep hash "$out/two"); then
        echo "FAILED  the second run has other bits"
        exit 1
    fi
    echo "ok      the second run has the same bits"
    if game --headless --frames 300 --forget-teleports >"$out/forgetful"; then
        echo "FAILED  jumps that flounce is not told of go unnoticed"
        exit 1
    fi
    grep '^FAILED' "$out/forgetful" | sed 's/^FAILED  /ok      without `Teleport` it pops: /'
    ;;
*)
    echo "run.sh [window|headless]" >&2
    exit 2
    ;;
esac
