#!/usr/bin/env bash
# `make gpu-check`: everything that needs a GPU, in one report.
# tests/bench/gpu_check.sh BUILD OUT.md
#
# It needs a driver, NVRTC, and what was built; CUPTI, cuBLAS and cuDNN where they are.  What is
# missing is skipped with its reason.  Kernels are those of tests/bench/gpu.txt, or $CASES.  The
# exit code is 1 when a kernel fails, on the device or in its twin, else 0, whatever was skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build/release}
report=${2:-build/gpu-check.md}
cases=${CASES:-tests/bench/gpu.txt}
limit=${LIMIT:-500}                       # seconds after which nothing new begins
budget=${BUDGET:-48}                      # trials of the tuner
tilescope=$build/tilescope
export TILESCOPE_RUNNER=$build/tilescope-runner COLUMNS=1000 NO_COLOR=1 LC_ALL=C.UTF-8
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

say() { printf '%s\n' "$@" | tee -a "$report"; }

# field FILE PATH: a number or text of JSON as `run --json` prints it, a member a line.  PATH: the
# names on the way, "counters.cupti.l1_misses"; "" when it is absent or null.
field() {
    awk -v path="$2" '
        BEGIN { n = split(path, want, ".") }
        {
            match($0, /^ */); depth = RLENGTH / 2
            if (match($0, /^ *"[^"]*": /)) {
                name = $0; sub(/^ *"/, "", name); sub(/":.*/, "", name)
                at[depth] = name
                value = substr($0, RLENGTH + 1); sub(/,$/, "", value)
                if (depth != n) next
                for (i = 1; i <= n; i++) if (at[i] != want[i]) next
                gsub(/^"|"$/, "", value)
                if (value != "null") print value
                exit
            }
        }' "$1"
}

# total FILE NAME: the sum of counters.sim.by_tensor.*.NAME.
total() {
    awk -v name="\"$2\":" '
        /"by_tensor": \{/ { inside = 1 }
        inside && /^      \}/ { inside = 0 }
        inside && $1 == name { sub(/,$/, "", $2); sum += $2 }
        END { printf "%.0f\n", sum }' "$1"
}

ratio() {
    awk -v a="$1" -v b="$2" \
        'BEGIN { if (a != "" && b + 0 > 0) printf "%.3f", a / b; else printf "-" }'
}
# cells TEXT...: a row of a table.
cells() {
    local row='|' cell
    for cell; do row+=" $cell |"; done
    say "$row"
}
# "(reason)" in the place of a number that is missing.
or_why() { [ -n "$1" ] && printf '%s' "$1" || printf '(%s)' "${2:-not measured}"; }

split_cases() {
    awk -v work="$work" '
        /^#/ || /^$/ { next }
        /^= / { n++; print substr($0, 3) > (work "/" n ".spec") }
        /^= / { printf "" > (work "/" n ".steps"); next }
        { print > (work "/" n ".steps") }
        END { print n + 0 }' "$cases"
}

header() {
    : > "$report"
    say "# GPU check" "" "date: $(date -u '+%Y-%m-%d %H:%M:%S') UTC" \
        "tilescope: $("$tilescope" --version)" "compiler: $(${CC:-cc} --version | head -n 1)" ""
    "$tilescope" meters | awk '/^NVIDIA/ { on = 1; next }
        /^Event sets/ { on = 0 } on && NF { print "    " $0 }' | tee -a "$report"
    say ""
}

# run_case I: runs a case with everything; its JSON is $work/I.json, its messages $work/I.log.
run_case() {
    "$tilescope" run "$(cat "$work/$1.spec")" --steps "$work/$1.steps" --target cuda --json \
        --time 0.2 --meters clock,sim,cupti --baselines cublas,cudnn \
        > "$work/$1.json" 2> "$work/$1.log"
}

verify() {
    local i spec on verified why
    say "## Kernels, verified" "" "| kernel | host twin and reference | device | ms | GFLOP/s |" \
        "|---|---|---|---|---|"
    for i in $(seq "$1"); do
        spec="$(cat "$work/$i.spec") ($i)"
        if [ $SECONDS -gt "$limit" ]; then
            say "| $spec | left out: $limit s are over | | | |"
            continue
        fi
        run_case "$i"
        verified=$(field "$work/$i.json" verified)
        on=$(field "$work/$i.json" device.name)
        why=$(field "$work/$i.json" device.reason)
        [ "$verified" = true ] || failed=1
        [ "$verified" = true ] || why="$(field "$work/$i.json" reason) $(head -n 1 "$work/$i.log")"
        cells "$spec" "${verified:-no}" "$(or_why "$on" "skipped: $why")" \
            "$(field "$work/$i.json" latency_ms.median)" "$(field "$work/$i.json" gflops)"
    done
    say ""
}

# row I WHAT SIMULATED COUNTED WHY
row() {
    cells "$(cat "$work/$1.spec") ($1)" "$2" "$3" "$(or_why "$4" "skipped: $5")" \
        "$(ratio "$3" "$4")"
}

compare() {
    local i f why sectors
    say "## Simulated and counted by CUPTI" "" "| kernel | of | simulated | counted | ratio |" \
        "|---|---|---|---|---|"
    for i in $(seq "$1"); do
        f=$work/$i.json
        [ -s "$f" ] || continue
        why=$(field "$f" counters.cupti.reason)
        sectors=$(field "$f" counters.cupti.load_sectors)
        [ -z "$sectors" ] || sectors=$(awk -v a="$sectors" \
            -v b="$(field "$f" counters.cupti.store_sectors)" 'BEGIN { print a + b }')
        row "$i" sectors "$(total "$f" sectors)" "$sectors" "$why"
        row "$i" "bank conflicts" "$(total "$f" bank_conflicts)" \
            "$(field "$f" counters.cupti.shared_conflicts)" "$why"
        row "$i" "L1 misses" "$(field "$f" counters.sim.l1_misses)" \
            "$(field "$f" counters.cupti.l1_misses)" "$why"
    done
    say ""
}

bench() {
    local i f library median why
    say "## Beside cuBLAS and cuDNN, in turns" "" \
        "| kernel | library | its ms | its time / ours | implementation |" "|---|---|---|---|---|"
    for i in $(seq "$1"); do
        f=$work/$i.json
        [ -s "$f" ] || continue
        for library in cublas cudnn; do
            median=$(field "$f" baselines.$library.median)
            why=$(field "$f" baselines.$library.reason)
            [ -n "$median$why" ] || continue
            case $why in *'has no operator'*|*'multiplies matrices'*) continue ;; esac
            cells "$(cat "$work/$i.spec") ($i)" "$library" "$(or_why "$median" "skipped: $why")" \
                "$(field "$f" baselines.$library.ratio)" \
                "$(field "$f" baselines.$library.implementation)"
        done
    done
    say ""
}

tune() {
    say "## Tuning" ""
    if [ $SECONDS -gt "$limit" ]; then
        say "left out: $limit s are over" ""
        return
    fi
    timeout 120 "$tilescope" tune 'gmm m=512 n=512 k=512' --target cuda --budget "$budget" \
        --time 60 > "$work/tune" 2>&1 || say "skipped: tilescope tune ended with code $?"
    sed 's/^/    /' "$work/tune" | tail -n 30 | tee -a "$report"
    say ""
}

mkdir -p "$(dirname "$report")"
header
n=$(split_cases)
verify "$n"
compare "$n"
bench "$n"
tune
say "$SECONDS s in all; $([ $failed = 0 ] && echo 'no kernel failed' || echo 'A KERNEL FAILED')"
exit $failed
