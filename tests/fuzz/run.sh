#!/usr/bin/env bash
# tests/fuzz/run.sh BUILD_DIR RUNS SECONDS TARGET...: runs each target for RUNS executions or
# SECONDS, whichever ends first, from its corpus and the regression files, and prints what it did.
# New inputs go to BUILD_DIR/fuzz/work/TARGET and are used again; crashes to .../crash-TARGET-*.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$1 runs=$2 seconds=$3
shift 3

work=$build/fuzz/work
export XDG_STATE_HOME=$PWD/$work/state XDG_CACHE_HOME=$PWD/$work/cache LC_ALL=C.UTF-8
export OMP_NUM_THREADS=1
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
declare -A longest=([yaml]=3000 [command]=900 [spec]=400 [notation]=400 [onnx]=1500 [records]=4000
                    [study]=2500 [expert]=2500 [weights]=400 [machine]=4000 [cgen]=500)
# What one allocation may take, in MiB: inputs are small, and so is what is made of them.
most_mib=256

# The number behind WORD in the last line of the log that has one.
number() {
    sed -n "s/.*$1[: ]*\([0-9][0-9]*\).*/\1/p" "$2" | tail -n 1
}

fuzz() {
    local target=$1 log=$work/$1.log crashes
    mkdir -p "$work/$target" "$work/seeds-$target"
    cp tests/fuzz/corpus/"$target"/* "$work/seeds-$target"
    find tests/regress sessions/examples -name "*.$target" -exec cp {} "$work/seeds-$target" \;
    rm -f "$work/crash-$target"-*
    "$build/fuzz/$target" -runs="$runs" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -malloc_limit_mb="$most_mib" \
        -max_len="${longest[$target]}" -dict=tests/fuzz/dict/"$target".dict -print_final_stats=1 \
        -artifact_prefix="$work/crash-$target-" "$work/$target" "$work/seeds-$target" \
        > "$log" 2>&1
    local rc=$?
    crashes=$(find "$work" -maxdepth 1 -name "crash-$target-*" | wc -l)
    printf '%-10s %9s executions  %6s edges  %7s features  %2d crashes\n' "$target" \
        "$(number stat::number_of_executed_units "$log")" "$(number 'cov' "$log")" \
        "$(number 'ft' "$log")" "$crashes"
    [ $rc = 0 ] && [ "$crashes" = 0 ] && return
    grep -m 1 -A 12 -E 'fatal:|ERROR: |runtime error' "$log" | sed 's/^/    /'
    find "$work" -maxdepth 1 -name "crash-$target-*" | sed 's/^/    /'
    return 1
}

status=0
for target in "$@"; do
    fuzz "$target" || status=1
done
exit $status
