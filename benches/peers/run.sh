#!/usr/bin/env bash
# Measures clips against their peers: builds all sides, lets them take turns, prints medians and ratios.
#
#   benches/peers/run.sh [ROUNDS]      appends to benches/results/clips-peers.csv
#
# flounce is a plain release build of the stable compiler; the peers need a nightly (ozz-animation-rs uses std::simd).
# CARGO_TARGET_DIR is respected; NIGHTLY names another nightly.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${1:-15}
target=${CARGO_TARGET_DIR:-$PWD/target}
nightly=${NIGHTLY:-nightly}

# ozz-animation-rs as published, but for one method that std::simd has renamed.
if [ ! -d patched/ozz-animation-rs ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir -p "$scratch/src" patched
    printf '[package]\nname = "scratch"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\nozz-animation-rs = "=0.11.0"\n[workspace]\n' > "$scratch/Cargo.toml"
    touch "$scratch/src/lib.rs"
    (cd "$scratch" && cargo "+$nightly" vendor --quiet vendor > /dev/null)
    rm -f "$scratch/vendor/ozz-animation-rs/rust-toolchain" "$scratch/vendor/ozz-animation-rs/.cargo-checksum.json"
    sed -i 's/\.to_int()/.to_simd()/' "$scratch"/vendor/ozz-animation-rs/src/*.rs
    mv "$scratch/vendor/ozz-animation-rs" patched/
fi

cargo "+$nightly" build --release --locked --target-dir "$target"
# The program of the bench is the executable that cargo names last.
ours=$(cd ../.. && cargo bench --no-default-features --bench clips --no-run --target-dir "$target" 2>&1 \
    | tee /dev/stderr | sed -n 's/.*Executable benches.*(\(.*\))/\1/p')
case $ours in /*) ;; *) ours=../../$ours ;; esac

lines=$(mktemp)
for ((round = 1; round <= rounds; round++)); do
    "$ours" --lines --rounds 1 >> "$lines"
    "$target/release/flounce-peers" round >> "$lines"
    echo "round $round of $rounds" >&2
done

commit=$(git rev-parse --short HEAD)
[ -z "$(git status --porcelain --untracked-files=no -- ../.. ':!../results')" ] || commit+=+
"$target/release/flounce-peers" table "$lines" "$(date -u +%F)" "$commit"
rm -f "$lines"
