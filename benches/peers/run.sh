#!/usr/bin/env bash
# Measures flounce against its peers: builds all sides, lets them take turns, prints medians and ratios.
#
#   benches/peers/run.sh [clips|springs|all] [ROUNDS]
#
# Appends to benches/results/clips-peers.csv and springs-peers.csv. flounce is a plain release build of the stable
# compiler; the peers in Rust need a nightly; three-vrm needs Node. CARGO_TARGET_DIR is respected, NIGHTLY names another
# nightly. The network is needed for the first build only.
set -euo pipefail
caller=$PWD
cd "$(dirname "$0")"

usage() { echo "usage: benches/peers/run.sh [clips|springs|all] [ROUNDS]" >&2; exit 2; }
case ${1:-all} in clips | springs | all) parts=${1:-all} ;; *) usage ;; esac
[ $# -le 2 ] && [[ ${2:-1} =~ ^[1-9][0-9]*$ ]] || usage

target=${CARGO_TARGET_DIR:-$PWD/target}
case $target in /*) ;; *) target=$caller/$target ;; esac
nightly=${NIGHTLY:-nightly}

fail() { echo "run.sh: $*" >&2; exit 1; }
need() { command -v "$1" > /dev/null || fail "$1 is not here; $2"; }

# Builds a bench of flounce and prints its path: the executable that cargo names last.
build_ours() {
    local path
    path=$(cd ../.. && cargo bench --locked --no-default-features --bench "$1" --no-run --target-dir "$target" 2>&1 \
        | tee >(cat >&2) | sed -n 's/.*Executable benches.*(\(.*\))/\1/p') || fail "flounce's bench $1 does not build"
    case $path in /*) echo "$path" ;; ?*) echo "../../$path" ;; *) fail "cargo names no executable of the bench $1" ;; esac
}

# Prints the table of a part and appends its medians: `print_table list|grid ROUNDS OURS BENCH FIGURE`.
print_table() {
    "$target/release/flounce-peers-table" "$1" "$2" "$3" "../results/$4.csv" "$5" "$(date -u +%F)" "$(commit)"
}

# The commit that is measured, with a + when files are changed.
commit() {
    local commit
    commit=$(git rev-parse --short HEAD)
    [ -z "$(git status --porcelain --untracked-files=no -- ../.. ':!../results')" ] || commit+=+
    echo "$commit"
}

scratch=$(mktemp -d)
# Peers that run beside this script, by side; they end with it.
declare -A running
clean() {
    [ ${#running[@]} -eq 0 ] || kill "${running[@]}" 2> /dev/null || true
    rm -rf "$scratch"
}
trap clean EXIT
need cargo "see https://rustup.rs"

(cd table && cargo build --quiet --release --locked --target-dir "$target")

for part in clips springs; do
    [ "$parts" = all ] || [ "$parts" = $part ] || continue
    # shellcheck source=clips.sh source=springs.sh
    . "./$part.sh"
    "build_$part"
    "measure_$part" "${2:-}"
done
