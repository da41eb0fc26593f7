#!/usr/bin/env bash
# What is shown is what runs: plain loops are compiled as the nest says, unless autovectorize is on.
# tests/run.sh: takes 13 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
big='gmm m=64 k=96 n=80'
printf 'set autovectorize on\n' > "$dir/on.steps"
printf 'set autovectorize off\n' > "$dir/off.steps"
free=(--steps "$dir/on.steps")

t 0 'fno-tree-loop-vectorize' show "$big" --what c
grep -q 'may vectorize and reorder' <<< "$out" && flunk 'not free' "$out" || pass 'not free'
t 0 '#pragma GCC optimize \("tree-loop-vectorize", "tree-loop-distribute' show "$big" \
    --what c "${free[@]}"
t 0 'The compiler may vectorize and reorder these loops' show "$big" --what c "${free[@]}"
t 0 'set autovectorize on' show "$big" --what yaml "${free[@]}"
t 2 'the setting autovectorize takes one of off, on' show "$big" \
    --steps <(echo 'set autovectorize maybe')

# Every simulated figure of such a program says whose it is.
t 0 'of the source: the compiler may run other loops' run "$big" --meters sim "${free[@]}"
t 0 '"of_source": true' run "$big" --meters sim --json "${free[@]}"
t 0 '"of_source": false' run "$big" --meters sim --json --steps "$dir/off.steps"
t 0 '"skips_prefetches": false' run "$big" --meters sim --json
t 0 '"skips_prefetches": true' run "$big" --meters sim --json \
    --steps <(echo 'loop prefetch C B at=K')
t 0 'prefetches of the schedule are not simulated' run "$big" --meters sim \
    --steps <(echo 'loop prefetch C B at=K')
grep -q 'of the source' <<< "$("$TILESCOPE" run "$big" --meters sim)" && flunk 'its own' \
    || pass 'its own'

t 0 '"no-tree-loop-vectorize"' export "$big" "${free[@]}" -o -
grep -q 'optimize ("tree-loop-vectorize"' <<< "$out" && pass 'exported' || flunk 'exported' "$out"

# The same source under both settings is two objects: vector arithmetic only in one of them.
if "$TILESCOPE" run "$big" --meters none --isa avx2 > /dev/null 2>&1; then
    t 0 'vfmadd[0-9]*ss|mulss' show "$big" --what asm --isa avx2
    grep -qE 'fmadd[0-9]*ps' <<< "$out" && flunk 'scalar' "$out" || pass 'scalar'
    t 0 'vfmadd[0-9]*ps' show "$big" --what asm --isa avx2 "${free[@]}"

    # Loops of two stay loops as well: three of them around four sums.
    printf '%s\n' 'loop split C K 2 2 2 8' 'loop split C M 2 4' 'loop split C N 2 8' \
        'loop reorder C M.0 N.0 K.0 K.1 K.2 K.3 M.1 N.1' 'loop cache_write C at=N.0' \
        'loop unroll C M.1' 'loop vectorize C N.1' > "$dir/pairs.steps"
    t 0 'vfmadd' show gmm m=8 k=64 n=16 --what asm --isa avx2 --steps "$dir/pairs.steps"
    same 'loops of two' 4 "$(grep -c 'vfmadd' <<< "$out")"
fi

# Copies are vector loops, and the nest shows them.
t 0 'for w in vectorize\(28\)' show 'c2d n=1 i=4 h=28 w=28 o=4 k=3 p=1'
t 0 'for w in range\(1, 29\)' show 'c2d n=1 i=4 h=28 w=28 o=4 k=3 p=1' "${free[@]}"
t 0 'for w in vectorize.64.' show 'c2d n=1 i=2 h=8 w=128 o=2 k=3 p=1 s=2'
t 0 '^verified: true' run 'c2d n=2 i=70 h=9 w=200 o=2 k=3 p=1' --meters none \
    --steps <(echo 'layout set Inp "N H W I"')

# The simulator against cachegrind, as `make bench-sim` does it.
if grep -q __asan_init "$TILESCOPE"; then
    pass '# SKIP valgrind cannot run what was built with address sanitizer'
elif command -v valgrind > /dev/null; then
    for word in 'm=64 k=96' ${TEST_LONG:+'t2d '} 'dep '; do
        out=$(KERNELS=tests/bench/unscheduled.txt SPEED=0 REPEAT=1 tests/bench/sim.sh "$word" 2>&1)
        rc=$?
        same "the simulator and cachegrind agree: $word" 0 $rc
        [ $rc = 0 ] || awk '{ print "# " $0 }' <<< "$out"
    done
fi
finish
