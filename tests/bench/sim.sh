#!/usr/bin/env bash
# L1 misses of the simulator and of cachegrind, and what each took: the same AVX2 kernel, the same
# cache (32K/8/64, LRU, no prefetching), the same addresses; an access that misses two lines counts
# once, as cachegrind has it.  Exit 1 when a kernel is not verified
# or a count differs by more than 1 %.  WORD: only the kernels with it in their line.
set -u
cd "$(dirname "$0")/../.." || exit 1
bin=${TILESCOPE:-build/release/tilescope}
word=${1:-}
row='%-4s %-44s %12s %12s %8s %9s %9s %7s\n'
total=0 bad=0 within=0
ratios=$(mktemp) && trap 'rm -f "$ratios"' EXIT

# The number of KEY in the object METER of counters, as `run --json` indents it.
value() {
    awk -v meter="\"$1\": {" -v key="\"$2\":" '
        /^    "/ { here = index($0, meter) == 5 }
        here && $1 == key && /^      "/ { gsub(",", "", $2); print $2; exit }' <<< "$json"
}

# shellcheck disable=SC2059
printf "$row" '' operator 'sim misses' cachegrind differ 'sim s' 'cg s' ratio
while IFS='|' read -r spec steps; do
    known=
    [[ $spec == ~* ]] && known=${spec#\~ } && IFS='|' read -r spec steps <<< "$steps"
    [[ $spec == \#* || -z $spec || "$spec|$steps" != *"$word"* ]] && continue
    spec=$(xargs <<< "$spec")
    json=$(tr ';' '\n' <<< "$steps" | sed 's/^ *//' |
           "$bin" run "$spec" --steps - --isa avx2 --cache 32K/8/64 --limit 120 \
                  --meters sim,cachegrind --json 2>&1)
    sim=$(value sim l1_misses) straddled=$(value sim straddled) cg=$(value cachegrind d1_misses)
    sim_s=$(value sim seconds) cg_s=$(value cachegrind seconds)
    [ -n "$known" ] || total=$((total + 1))
    [[ -z $sim ]] || sim=$((sim - straddled))
    if [[ -z $sim || -z $cg || -z $sim_s || -z $cg_s ]]; then
        bad=$((bad + 1))
        printf '%s: not counted\n%s\n' "$spec" "$(grep -E 'error|reason|outcome' <<< "$json")"
        continue
    fi
    read -r differ ratio ok < <(awk -v a="$sim" -v b="$cg" -v s="$sim_s" -v t="$cg_s" 'BEGIN {
        d = 100 * (a - b) / b
        printf "%+.3f%% %.1f %d\n", d, t / s, (d <= 1 && d >= -1) }')
    [ -n "$known" ] || within=$((within + ok)) bad=$((bad + 1 - ok))
    [ -n "$known" ] || echo "$ratio" >> "$ratios"
    # shellcheck disable=SC2059
    printf "$row" "${spec%% *}" "${spec#* }" "$sim" "$cg" "$differ" "$(printf %.4f "$sim_s")" \
           "$(printf %.3f "$cg_s")" "$ratio${known:+ ~ $known}"
done < tests/bench/sim.txt
sort -n "$ratios" | awk -v n=$total -v within=$within '
    { r[NR] = $1; sum += log($1) }
    END { printf "%d kernels, %d within 1 %% of cachegrind; faster by %.1f to %.1f, " \
                 "geometric mean %.1f\n", n, within, r[1], r[NR], exp(sum / NR) }'
[ "$bad" = 0 ]
