#!/usr/bin/env bash
# L1 misses of the simulator and of cachegrind, and what each took: the same AVX2 kernel, the same
# cache (32K/8/64, LRU, no prefetching), the same addresses; an access that misses two lines counts
# once, as cachegrind has it.  Each is timed REPEAT times (3), the simulator, which is over
# in a moment, thrice as often, and the fastest counts.  The last line sums up: exit 1 when a kernel
# is not verified, a count differs by more than 1 %, or the simulator is not 10 times faster.
# WORD: only the kernels with it in their line.  KERNELS: another list than sim.txt; SPEED: 10, or
# how many times faster the simulator must be (short kernels say nothing about that).
set -u
cd "$(dirname "$0")/../.." || exit 1
bin=${TILESCOPE:-build/release/tilescope}
word=${1:-} repeat=${REPEAT:-3}
kernels=${KERNELS:-tests/bench/sim.txt} speed=${SPEED:-10}
row='%-4s %-44s %12s %12s %8s %9s %9s %7s\n'
total=0
judged=$(mktemp) && trap 'rm -f "$judged"' EXIT      # "RATIO SIM CACHEGRIND" of each kernel

# The number of KEY in the object METER of counters, as `run --json` indents it.
value() {
    awk -v meter="\"$1\": {" -v key="\"$2\":" '
        /^    "/ { here = index($0, meter) == 5 }
        here && $1 == key && /^      "/ { gsub(",", "", $2); print $2; exit }' <<< "$json"
}

# SPEC STEPS METERS: the session, verified and counted.
counted() {
    tr ';' '\n' <<< "$2" | sed 's/^ *//' |
        "$bin" run "$1" --steps - --isa avx2 --cache 32K/8/64 --limit 120 --meters "$3" --json 2>&1
}

# The smaller of two numbers; the first when there is no second.
least() {
    awk -v a="$1" -v b="$2" 'BEGIN { print b != "" && b < a ? b : a }'
}

# shellcheck disable=SC2059
printf "$row" '' operator 'sim misses' cachegrind differ 'sim s' 'cg s' ratio
while IFS='|' read -r spec steps; do
    known=
    [[ $spec == ~* ]] && known=${spec#\~ } && IFS='|' read -r spec steps <<< "$steps"
    [[ $spec == \#* || -z $spec || "$spec|$steps" != *"$word"* ]] && continue
    spec=$(xargs <<< "$spec")
    json=$(counted "$spec" "$steps" sim,cachegrind)
    sim=$(value sim l1_misses) straddled=$(value sim straddled) cg=$(value cachegrind d1_misses)
    sim_s=$(value sim seconds) cg_s=$(value cachegrind seconds)
    [ -n "$known" ] || total=$((total + 1))
    [[ -z $sim ]] || sim=$((sim - straddled))
    if [[ -z $sim || -z $cg || -z $sim_s || -z $cg_s ]]; then
        printf '%s: not counted\n%s\n' "$spec" "$(grep -E 'error|reason|outcome' <<< "$json")"
        continue
    fi
    for ((i = 1; i < repeat; i++)); do
        json=$(counted "$spec" "$steps" sim,cachegrind)
        sim_s=$(least "$sim_s" "$(value sim seconds)")
        cg_s=$(least "$cg_s" "$(value cachegrind seconds)")
    done
    for ((i = 0; i < 2 * repeat; i++)); do
        json=$(counted "$spec" "$steps" sim)
        sim_s=$(least "$sim_s" "$(value sim seconds)")
    done
    read -r differ ratio < <(awk -v a="$sim" -v b="$cg" -v s="$sim_s" -v t="$cg_s" \
        'BEGIN { printf "%+.3f %.1f\n", 100 * (a - b) / b, int(10 * t / s) / 10 }')
    [ -n "$known" ] || echo "$ratio $sim $cg" >> "$judged"
    # shellcheck disable=SC2059
    printf "$row" "${spec%% *}" "${spec#* }" "$sim" "$cg" "$differ%" "$(printf %.4f "$sim_s")" \
           "$(printf %.3f "$cg_s")" "$ratio${known:+ ~ $known}"
done < <(cat $kernels)
sort -n "$judged" | awk -v n=$total -v speed="$speed" '
    { ratio[NR] = $1; sum += log($1); fast += $1 >= speed
      off = 100 * ($2 - $3) / $3; off = off < 0 ? -off : off
      worst = off > worst ? off : worst; within += off <= 1 }
    END { if (NR == 0) { print "no kernel was counted"; exit 1 }
          printf "%d of %d kernels agree within 1 %% (worst %.3f %%); " \
                 "%d of %d at least %g times faster (slowest %.1f, geometric mean %.1f)\n",
                 within, n, worst, fast, n, speed, ratio[1], exp(sum / NR)
          exit !(within == n && fast == n) }'
