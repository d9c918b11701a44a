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

# ozz-animation-rs as published, but for one method that std::simd has renamed; and a copy whose sampling forgets, as
# the C++ original does, which keys it has unpacked already.
if [ ! -d patched/mended ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    rm -rf patched
    mkdir -p "$scratch/src" patched
    printf '[package]\nname = "scratch"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\nozz-animation-rs = "=0.11.0"\n[workspace]\n' > "$scratch/Cargo.toml"
    touch "$scratch/src/lib.rs"
    (cd "$scratch" && cargo "+$nightly" vendor --quiet vendor > /dev/null)
    rm -f "$scratch/vendor/ozz-animation-rs/rust-toolchain" "$scratch/vendor/ozz-animation-rs/.cargo-checksum.json"
    sed -i 's/\.to_int()/.to_simd()/' "$scratch"/vendor/ozz-animation-rs/src/*.rs
    mv "$scratch/vendor/ozz-animation-rs" patched/published
    cp -r patched/published patched/mended
    sed -i 's/let mut outdated = args.outdated\[j\];/let mut outdated = mem::take(\&mut args.outdated[j]);/' patched/mended/src/sampling_job.rs
fi

for copy in published mended; do
    rm -rf patched/ozz-animation-rs
    cp -r "patched/$copy" patched/ozz-animation-rs
    cargo "+$nightly" build --release --locked --target-dir "$target"
    cp "$target/release/flounce-peers" "$target/release/flounce-peers-$copy"
done
# The program of the bench is the executable that cargo names last.
ours=$(cd ../.. && cargo bench --no-default-features --bench clips --no-run --target-dir "$target" 2>&1 \
    | tee /dev/stderr | sed -n 's/.*Executable benches.*(\(.*\))/\1/p')
case $ours in /*) ;; *) ours=../../$ours ;; esac

lines=$(mktemp)
for ((round = 1; round <= rounds; round++)); do
    "$ours" --lines --rounds 1 >> "$lines"
    "$target/release/flounce-peers-published" round >> "$lines"
    "$target/release/flounce-peers-mended" round mended >> "$lines"
    echo "round $round of $rounds" >&2
done

commit=$(git rev-parse --short HEAD)
[ -z "$(git status --porcelain --untracked-files=no -- ../.. ':!../results')" ] || commit+=+
"$target/release/flounce-peers" table "$lines" "$(date -u +%F)" "$commit"
rm -f "$lines"
