# Workload S: flounce, three-vrm and bevy_vrm1. Peers build their characters once per case, which takes longer than a
# round at 10,000 characters, then measure a round for each line they are sent. Read by run.sh.

# Characters x colliders, in the order of the table; CASES="1x8 100x8" measures these alone.
read -ra cases <<< "${CASES:-1x0 100x0 10000x0 1x8 100x8 10000x8 1x24 100x24 10000x24}"
many() { [ "${1%x*}" -ge 10000 ]; }
# Rounds of a case: fewer where a round of the slowest side takes seconds.
rounds_of() { if many "$1" && [ "$2" -gt 3 ]; then echo 3; else echo "$2"; fi; }
# The side of flounce whose ratios are printed.
claimed="flounce wide lane"

node=(node --expose-gc --max-old-space-size=16000 --initial-old-space-size=8000)
# 10,000 characters of three-vrm are six gigabytes. Collecting what is new walks all of them, so it has to be rare: with
# Node's own 16 MB a joint update takes eight times as long. With few characters 16 MB is faster.
node_of_many=("${node[@]}" --min-semi-space-size=512 --max-semi-space-size=512)
vrm=("$target/release/flounce-peer-bevy-vrm1")

build_springs() {
    need node "three-vrm runs in Node 20 or later"
    need npm "it installs three-vrm"
    [ three_vrm/node_modules/.package-lock.json -nt three_vrm/package-lock.json ] \
        || (cd three_vrm && npm ci --no-audit --no-fund --loglevel=error) || fail "npm cannot install three-vrm"
    # Bevy asks for a later compiler than the nightlies say they are.
    (cd bevy_vrm1 && cargo "+$nightly" build --release --locked --ignore-rust-version --target-dir "$target")
    springs=$(build_ours springs)
}

declare -A to from

# Starts a peer and waits until its characters swing: `start SIDE CASE COMMAND…`.
start() {
    local side=$1 case=$2 to_side from_side
    mkfifo "$scratch/to" "$scratch/from"
    "${@:3}" < "$scratch/to" > "$scratch/from" &
    running[$side]=$!
    exec {to_side}> "$scratch/to" {from_side}< "$scratch/from"
    rm "$scratch/to" "$scratch/from"
    to[$side]=$to_side from[$side]=$from_side
    [ "$(hear "$side" "$case")" = ready ] || fail "$side did not start in case $case"
}

# The next line that a peer says.
hear() {
    local line
    IFS= read -r -t 600 -u "${from[$1]}" line || fail "$1 stopped in case $2; its message is above"
    echo "$line"
}

# One round of a peer.
turn() {
    echo >&"${to[$1]}" || fail "$1 stopped before a round of case $2; its message is above"
    hear "$1" "$2"
}

stop() {
    local to_side=${to[$1]} from_side=${from[$1]}
    exec {to_side}>&- {from_side}<&-
    wait "${running[$1]}" || fail "$1 ended with an error in case $2"
    unset "running[$1]"
}

measure_case() {
    local case=$1 rounds=$2 lines=$3 round node=("${node[@]}")
    if many "$case"; then node=("${node_of_many[@]}"); fi
    start three-vrm "$case" "${node[@]}" three_vrm/bench.mjs "$case"
    start bevy_vrm1 "$case" "${vrm[@]}" "$case"
    for ((round = 1; round <= rounds; round++)); do
        turn three-vrm "$case" >> "$lines"
        turn bevy_vrm1 "$case" >> "$lines"
        "$springs" --lines --rounds 1 --case "$case" >> "$lines" || fail "flounce's springs stopped in case $case"
    done
    # The last one first: it holds the inputs of those before it open.
    stop bevy_vrm1 "$case"
    stop three-vrm "$case"
    echo "springs: $case, $rounds rounds" >&2
}

measure_springs() {
    local lines=$scratch/springs case
    # A peer that has stopped is told by its missing answer, not by a signal to this script.
    trap '' PIPE
    for case in "${cases[@]}"; do
        measure_case "$case" "$(rounds_of "$case" "${1:-7}")" "$lines"
    done
    print_table grid "$lines" "$claimed" springs-peers "ns per joint update"
}
