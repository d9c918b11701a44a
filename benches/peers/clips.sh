# Workload C: flounce, bevy_animation and ozz-animation-rs, each a program that measures one round of all its cases.
# Read by run.sh.

# ozz-animation-rs as published, but for one method that std::simd has renamed; and a copy whose sampling forgets, as
# the C++ original does, which keys it has unpacked already.
patch_ozz() {
    local at=$scratch/ozz
    rm -rf patched
    mkdir -p "$at/src" patched
    printf '[package]\nname = "scratch"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\nozz-animation-rs = "=0.11.0"\n[workspace]\n' > "$at/Cargo.toml"
    touch "$at/src/lib.rs"
    (cd "$at" && cargo "+$nightly" vendor --quiet vendor > /dev/null)
    rm -f "$at/vendor/ozz-animation-rs/rust-toolchain" "$at/vendor/ozz-animation-rs/.cargo-checksum.json"
    sed -i 's/\.to_int()/.to_simd()/' "$at"/vendor/ozz-animation-rs/src/*.rs
    mv "$at/vendor/ozz-animation-rs" patched/published
    cp -r patched/published patched/mended
    sed -i 's/let mut outdated = args.outdated\[j\];/let mut outdated = mem::take(\&mut args.outdated[j]);/' patched/mended/src/sampling_job.rs
}

build_clips() {
    [ -d patched/mended ] || patch_ozz
    local copy
    for copy in published mended; do
        rm -rf patched/ozz-animation-rs
        cp -r "patched/$copy" patched/ozz-animation-rs
        cargo "+$nightly" build --release --locked --target-dir "$target"
        cp "$target/release/flounce-peers" "$target/release/flounce-peers-$copy"
    done
    clips=$(build_ours clips)
}

measure_clips() {
    local rounds=${1:-15} round lines=$scratch/clips
    for ((round = 1; round <= rounds; round++)); do
        "$clips" --lines --rounds 1 >> "$lines" || fail "flounce's clips stopped in round $round"
        "$target/release/flounce-peers-published" round >> "$lines" || fail "the peers' clips stopped in round $round"
        "$target/release/flounce-peers-mended" round mended >> "$lines" || fail "the mended peer's clips stopped in round $round"
        echo "clips: round $round of $rounds" >&2
    done
    # Ratios to flounce as it is called without a choice of lanes.
    print_table list "$lines" "flounce rows 4 lanes" clips-peers "ns per joint"
}
