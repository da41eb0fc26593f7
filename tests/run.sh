#!/usr/bin/env bash
# Runs every suite and adds up: `tests/run.sh [BUILD_DIR [WORD]]`, only names with WORD in them;
# =NAME runs the one of that name.
#
# A suite is a program that speaks TAP: a unit binary BUILD_DIR/tests/test_*, or a script here.
# Three run at a time, the longest first: "tests/run.sh: takes N s" in its source says how long a
# suite takes on an idle machine, and without such a line it takes little.  Three suites keep two
# cores busy: a suite waits for discs, clocks and ends of processes.  Those with "tests/run.sh:
# long" run only if they are named, or with TEST_LONG=1.
# A suite that crashes, hangs, prints no plan or leaves something in $TMPDIR counts as failed.
# TEST_TIMEOUT: seconds per suite.  TEST_TIMES=1 lists the slowest ten at the end.
# What a suite started ends with it, and suites end with this script at INT and TERM.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/release}
word=${2:-}
limit=${TEST_TIMEOUT:-300}
TEST_LONG=${TEST_LONG-}
jobs=3

work=$(mktemp -d "${TMPDIR:-/tmp}/ts.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
chmod 711 "$work"                         # test_records reads a file there as nobody
trap 'kill $(jobs -p) 2> /dev/null; exit 130' INT TERM
mkdir -p "$work/home"
export HOME=$work/home TZ=UTC LC_ALL=C.UTF-8 TERM=xterm-256color
export XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state XDG_CONFIG_HOME=$work/config
export XDG_DATA_HOME=$work/data
unset TILESCOPE_RECORDS TILESCOPE_HOME TILESCOPE_CFLAGS
export CMOCKA_MESSAGE_OUTPUT=TAP NO_COLOR=1
export BUILD=$PWD/$build TILESCOPE=$PWD/$build/tilescope
export TILESCOPE_RUNNER=$PWD/$build/tilescope-runner
export TILESCOPE_CUDA=/nowhere/libcuda.so       # what is printed depends on the GPU
export ASAN_OPTIONS=${ASAN_OPTIONS:-exitcode=99:detect_leaks=1:allocator_may_return_null=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
unset CC TILESCOPE_IDLE_FD COLUMNS LINES

# name<TAB>command<TAB>source, one suite per line.
list_suites() {
    local f t
    for f in tests/unit/test_*.c; do
        t=$(basename "$f" .c)
        printf '%s\t%s\t%s\n' "$t" "$build/tests/$t" "$f"
    done
    for f in tests/cli/*.sh tests/screen/*.sh tests/golden/*.sh; do
        [ -x "$f" ] && printf '%s\t%s\t%s\n' "${f#tests/}" "$f" "$f"
    done
    for f in layers width; do
        printf '%s\ttests/%s.sh\ttests/%s.sh\n' "$f" "$f" "$f"
    done
}

# Reads TAP and the exit status of its program: "passed failed skipped".
count() {
    awk -v rc="$2" '
        /^1\.\.[0-9]+/ { split($0, p, /\.\./); plan += p[2]; planned = 1 }
        /^(not )?ok / {
            if ($0 ~ /# *(SKIP|skip)/) skip++
            else if ($1 == "ok") pass++
            else fail++
        }
        END {
            lost = plan - pass - fail - skip
            if (!planned) fail++
            else if (lost > 0) fail += lost
            else if (rc != 0 && fail == 0) fail++
            print pass + 0, fail + 0, skip + 0
        }' "$1"
}

run_suite() {
    local name=$1 command=$2 base=$work/${1//\//_} rc left
    local -x TMPDIR=$base.tmp
    local TIMEFORMAT='%R %U %S'
    mkdir "$TMPDIR"
    # The leak checker cannot stop the threads of an OpenMP runtime that came with a kernel.
    [ "$name" = test_gen ] && local -x ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
    { time setpriv --pdeathsig TERM timeout -k 5 "$limit" setpriv --pdeathsig KILL "$command" \
        > "$base.out" 2>&1 < /dev/null; } 2> "$base.time"
    rc=$?
    [ $rc = 124 ] && echo "# no end after $limit s" >> "$base.out"
    # What a tilescope that was killed leaves does not count.
    left=$(find "$TMPDIR" -mindepth 1 -maxdepth 1 ! -name 'tilescope-run-*' | head -n 3)
    [ -z "$left" ] || echo "not ok 0 - it leaves" $left >> "$base.out"
    local counts
    counts=$(count "$base.out" $rc)
    echo "$counts" > "$base.count"
    report "$name" "$base.out" $rc "$counts" "$(sed -n '$s/ .*//p' "$base.time")" > "$base.say"
    cat "$base.say"
    [ "$(wc -l < "$base.say")" -gt 1 ] && mv "$base.say" "$base.bad"
}

# One line per suite; when something failed, what it said about it.
report() {
    local name=$1 out=$2 rc=$3 seconds=$5 pass fail skip
    read -r pass fail skip <<< "$4"
    local text
    text=$(printf '%-28s %5d passed' "$name" "$pass")
    [ "$fail" -gt 0 ] && text+=", $fail FAILED"
    [ "$skip" -gt 0 ] && text+=", $skip skipped"
    printf '%-60s %8.1f s\n' "$text" "$seconds"
    [ "$fail" = 0 ] && return
    if grep -q '^not ok' "$out"; then
        grep -v -E '^ *ok |^1\.\.' "$out" | grep -B 40 -A 4 -E 'not ok [0-9]' | head -n 90 \
            | sed 's/^/    /'
    elif grep -q -E 'Sanitizer|runtime error' "$out"; then
        grep -m 1 -A 15 -E 'ERROR: |runtime error' "$out" | sed 's/^/    /'
    else
        tail -n 25 "$out" | sed 's/^/    /'
    fi
    [ "$rc" = 0 ] || echo "    (exit status $rc)"
}

# Sorts lines of list_suites.
longest_first() {
    awk -F '\t' -v OFS='\t' '
        FILENAME != "-" { sub(/:.* takes /, "\t"); split($0, p); takes[p[1]] = p[2]; next }
        { print takes[$3] + 0, $0 }' \
        <(grep -oHE 'tests/run.sh:.* takes [0-9]+' tests/cli/*.sh tests/unit/*.c) - \
        | sort -s -k 1,1nr | cut -f 2-
}

# The wall-clock and the CPU time of the slowest suites, and of all.
slowest() {
    local f
    for f in "$work"/*.time; do
        echo "$(tail -n 1 "$f") $(basename "$f" .time)"
    done | sort -rn | awk '
        NR == 1 { print "-- the slowest: seconds, and how many of them computing --" }
        NR <= 10 { printf "%-28s %8.1f s %8.1f s\n", $4, $1, $2 + $3 }
        { wall += $1; cpu += $2 + $3 }
        END { printf "%-28s %8.1f s %8.1f s\n", NR " suites", wall, cpu }'
}

case $word in
=*) suites=$(list_suites | awk -F '\t' -v name="${word#=}" '$1 == name') ;;
*)  suites=$(list_suites | grep -F -e "$word") ;;
esac
if [ -z "$word$TEST_LONG" ]; then
    late=$(grep -lsE 'tests/run.sh:.* long' tests/cli/*.sh tests/unit/*.c)
    suites=$(grep -v -F -e "$late" <<< "$suites")
fi
suites=$(longest_first <<< "$suites")
running=0
while IFS=$'\t' read -r name command _; do
    [ -n "$name" ] || continue
    if [ $running -ge $jobs ]; then
        wait -n
        running=$((running - 1))
    fi
    run_suite "$name" "$command" &
    running=$((running + 1))
done <<< "$suites"
wait

# Again what failed: it may be far up, and a log may keep only its end.
if [ -n "$(ls "$work"/*.bad 2> /dev/null)" ] && [ "$(ls "$work"/*.count | wc -l)" -gt 1 ]; then
    echo "-- what failed --"
    cat "$work"/*.bad
fi
[ -z "${TEST_TIMES-}" ] || slowest
cat "$work"/*.count 2> /dev/null | awk '
    { pass += $1; fail += $2; skip += $3 }
    END {
        printf "%d passed, %d failed, %d skipped\n", pass, fail, skip
        exit fail > 0 || pass == 0
    }'
