#!/usr/bin/env bash
# Do the tests see it when the program is wrong?  Makes one random change at a time in a copy of the
# sources, and runs the suites that execute the changed line until one fails:
#
#     tests/mutants.sh [N [SEED [FOLDER...]]]
#
# prints a line per change, then how many of each room were killed; what survived lies as diffs in
# build/mutants/survivors.  MUTANT_SECONDS=S asks no further suite about a change once S seconds of
# suites have passed with it (all are asked otherwise).  Changes that do not compile, or that
# compile to the same code, are drawn again (tests/mutate.awk).  The same seed draws the same
# changes of the same sources.
#
# The suites are built with sanitizers, which see what is read out of bounds or never freed.  Those
# that fail under them without a change as well are not counted.
#
# Which suites execute a line says a build with gcov, made once and again when a source differs.
# A line that it has no count for (a table, a macro) goes to all suites that enter its file.
set -u
cd "$(dirname "$0")/.." || exit 1
count=${1:-20} seed=${2:-1}
shift $(($# < 2 ? $# : 2))
rooms=(kernels profile explorer sessions app)
folders=("${@:-${rooms[@]}}")
if ! [[ "$count $seed" =~ ^[1-9][0-9]*\ [0-9]+$ ]]; then
    echo "usage: $0 [N [SEED [FOLDER...]]]"
    exit 2
fi
unset MAKEFLAGS MAKELEVEL MFLAGS
# Asked once: an answer that changes would build everything anew.
isl=$(pkg-config --exists isl && echo -lisl)

work=$PWD/build/mutants
src=$work/src
map=$work/coverage.txt                    # FILE LINE SUITE...; LINE 0: of all of the file
times=$work/times.txt                     # SUITE SECONDS LINES; LINES: how many it executes
most=${MUTANT_SECONDS:-1000000}
mkdir -p "$src" "$work/survivors"

# What make runs for the two builds: one that counts, one that is changed.  A process that ends by
# _exit has counts as well, and so has a runner, which is killed: up to its last reply (send).
build_counting() {
    local head=$work/count.h
    cat > "$head.new" << 'END'
#include <unistd.h>
void __gcov_dump(void);
void __gcov_reset(void);
#define _exit(status) (__gcov_dump(), _exit(status))
#ifdef COUNT_REPLIES
#include <sys/socket.h>
#undef MSG_NOSIGNAL
#define MSG_NOSIGNAL (__gcov_dump(), __gcov_reset(), 0x4000)
#endif
END
    cmp -s "$head.new" "$head" || mv "$head.new" "$head"
    make -s -j"$(nproc)" CC=gcc CONFIG=coverage ISL="$isl" OPT="-O1 --coverage" \
         EXTRA="-w -include $head \$(if \$(filter %/server.o,\$@),-DCOUNT_REPLIES)" "$@" \
         > "$work/build.log" 2>&1
}
build_changed() {
    make -s CC=gcc CONFIG=mutants ISL="$isl" \
         OPT="-O2 -fsanitize=address,undefined -fno-sanitize-recover=undefined" \
         EXTRA="-Werror=incompatible-pointer-types -Werror=int-conversion" "$@" \
         > "$work/build.log" 2>&1
}

# Only files that differ are copied, with the time of the copy, so that make builds what differs:
# also where the object of an earlier run is newer than the source.
copy_sources() {
    [ -f "$work/changed" ] && rm -f "$src/$(cat "$work/changed")" "$work/changed"
    local here=$work/here.txt file
    find . -type f ! -path './build/*' ! -path './.git*' | sort > "$here"
    (cd "$src" && find . -type f ! -path './build/*' | sort) | comm -13 "$here" - \
        | (cd "$src" && xargs -r -d '\n' rm -f)
    while IFS= read -r file; do
        cmp -s "$file" "$src/$file" && continue
        mkdir -p "$src/${file%/*}"
        cp -P "$file" "$src/$file"
    done < "$here"
}

sources() { find "${folders[@]}" -name '*.c' | sort; }

# --- Which suites execute a line -----------------------------------------------------------------

# One suite in the counting build, unless the programs are those that it was counted with.
count_suite() {
    local name=$1 at=$work/counts/${1//\//_} own=tests/$1 key began=$EPOCHREALTIME
    [[ $name = test_* ]] && own=build/coverage/tests/$name
    key=$(cat "$own" build/coverage/tilescope build/coverage/tilescope-runner | cksum)
    [ "$key" = "$(cat "$at/key" 2> /dev/null)" ] && return
    rm -rf "$at"
    mkdir -p "$at"
    GCOV_PREFIX=$at GCOV_PREFIX_STRIP=$(tr -cd / <<< "$src" | wc -c) \
        TEST_TIMEOUT=600 setpriv --pdeathsig TERM \
        tests/run.sh build/coverage "=$name" > "$at/out" 2>&1
    awk -v name="$name" -v took="$EPOCHREALTIME $began" \
        'BEGIN { split(took, t, " "); printf "%s %.1f\n", name, t[1] - t[2] }' > "$at/time"
    cp -rs "$src/build/coverage/." "$at/build/coverage" 2> /dev/null
    find "$at" -name '*.gcda' -path '*/coverage/*' ! -path '*/tests/*' -print0 \
        | xargs -0 -r gcov -t 2> /dev/null \
        | awk -F: -v name="$name" '
            $3 == "Source" { file = $4; room = file ~ /^(kernels|profile|explorer|sessions|app)\// }
            room && $1 !~ /[-#=]/ && $2 > 0 { print file, $2 + 0, name }
            room && $1 ~ /#|=/ { print file, $2 + 0 }' > "$at/lines"
    rm -rf "$at/build"
    echo "$key" > "$at/key"
    echo "$(cat "$at/time")  $(tail -n 1 "$at/out")"
}

count_all() {
    local suites at
    build_counting all tests || { tail "$work/build.log"; exit 1; }
    suites=$(basename -s .c tests/unit/test_*.c
             find tests/cli -name '*.sh' -perm -u+x -printf 'cli/%f\n')
    export -f count_suite
    export work src
    xargs -P "$(nproc)" -I{} setpriv --pdeathsig TERM bash -c 'count_suite "$1"' - {} <<< "$suites"
    for at in "$work"/counts/*; do
        grep -qxF "${at##*/}" <<< "${suites//\//_}" || rm -rf "$at"       # a suite that is gone
    done
    awk 'FILENAME ~ /time$/ { seconds[$1] = $2 }
         FILENAME ~ /lines$/ && $3 != "" { lines[$3]++ }
         END { for (suite in seconds) print suite, seconds[suite], lines[suite] + 1 }' \
        "$work"/counts/*/time "$work"/counts/*/lines > "$times"
    awk '{ line = $1 " " $2; suites[line] = suites[line] ($3 == "" ? "" : " " $3)
           if ($3 != "" && !seen[$1, $3]++) whole[$1] = whole[$1] " " $3 }
         END { for (line in suites) print line suites[line]
               for (file in whole) print file, 0 whole[file] }' "$work"/counts/*/lines > "$map"
}

# FILE LINE: the suites that execute it and their seconds, first those that are likely to see a
# change soon: quick ones, of whose executed lines many are in this file.
suites_of() {
    awk -v file="$1" -v line="$2" '
        FNR == NR { if ($1 != file) next
                    if ($2 == line || $2 == 0) { known[$2] = 1; list[$2] = $0 }
                    if ($2 > 0) for (i = 3; i <= NF; i++) here[$i]++
                    next }
        !n { n = split(list[known[line] ? line : 0], part, " ")
             for (i = 3; i <= n; i++) asked[part[i]] = 1 }
        asked[$1] { print $1, $2, ($2 + 0.5) * $3 / (here[$1] + 1) }' "$map" "$times" \
        | sort -k 3g | cut -d ' ' -f 1,2
}

# --- One change ----------------------------------------------------------------------------------

# SUITE SECONDS: 0 passes, 1 fails, 2 is killed for taking too long.
run_suite() {
    case $1 in
    test_*) build_changed "build/mutants/tests/$1" || return 1 ;;
    esac
    TEST_TIMEOUT=$(awk -v s="$2" 'BEGIN { t = 20 + 4 * s; print int(t < 180 ? t : 180) }') \
        setpriv --pdeathsig TERM tests/run.sh build/mutants "=$1" > "$work/out.txt" 2>&1 && return 0
    grep -q 'no end after' "$work/out.txt" && return 2
    return 1
}

# A suite that fails now may only have been unlucky, or fail without the change as well.
declare -A sound
is_sound() {
    [ -n "${sound[$1]:-}" ] || {
        restore
        build_changed all && run_suite "$1" "$2" && sound[$1]=yes || sound[$1]=no
        change && build_changed all
    }
    [ "${sound[$1]}" = yes ]
}

change() {
    awk -v at="$line" -v with="$work/new.txt" \
        'NR == at { getline < with } { print }' "$work/old.c" > "$file"
}

# The object of before comes back as well, newer than its source.
restore() {
    cp -p "$work/old.c" "$file"
    cp "$work/old.o" "$object"
}

# Sets by: the suite that failed, or nothing; asked: how many there were.
find_killer() {
    local suite seconds rc began=$SECONDS
    by= asked=0
    while [ $((SECONDS - began)) -lt "$most" ] && read -r suite seconds; do
        asked=$((asked + 1))
        run_suite "$suite" "$seconds"
        rc=$?
        if [ $rc = 0 ]; then
            sound[$suite]=yes
        elif is_sound "$suite" "$seconds" && { [ $rc = 2 ] || ! run_suite "$suite" "$seconds"; }
        then
            by=$suite
            [ $rc = 2 ] && by+=" (no end)"
            return
        fi
    done < <(suites_of "$file" "$line")
}

trim() { sed 's/^ *//' <<< "$1"; }

# Draws again what does not compile or changes no code; 1 when nothing was to be seen.
try() {
    local old
    object=build/mutants/${file%.c}.o
    [ -f "$object" ] || return 1
    cp -p "$file" "$work/old.c"
    cp "$object" "$work/old.o"
    old=$(sed -n "${line}p" "$file")
    printf '%s\n' "$new" > "$work/new.txt"
    echo "$object" > "$work/changed"
    change
    if ! build_changed "$object" || cmp -s "$object" "$work/old.o"; then
        restore
        return 1
    fi
    n=$((n + 1))
    if build_changed all; then find_killer; else by="the linker"; fi
    printf '%3d  %s:%d  %s  ->  %s  %s\n' "$n" "$file" "$line" "$(trim "$old")" "$(trim "$new")" \
        "${by:+killed by }${by:-SURVIVED $asked suites}"
    echo "${file%%/*} ${by:+killed}" >> "$work/verdicts.txt"
    [ -n "$by" ] || diff -u --label "a/$file" --label "b/$file" "$work/old.c" "$file" \
        > "$work/survivors/$(printf %03d "$n").diff"
    restore
}

table() {
    awk '{ of[$1]++; killed[$1] += $2 == "killed"; all += $2 == "killed" }
         END { for (room in of) printf "%-10s %4d killed of %d\n", room, killed[room], of[room]
               printf "%-10s %4d killed of %d\n", "all", all, NR }' "$work/verdicts.txt"
}

copy_sources
cd "$src" || exit 1
for folder in "${folders[@]}"; do
    [ -d "$folder" ] || { echo "$folder: no such folder"; exit 2; }
done
key=$(find "${rooms[@]}" tests Makefile -type f -exec cksum {} + | sort | cksum)
if [ "$key" != "$(cat "$work/coverage.key" 2> /dev/null)" ]; then
    count_all
    echo "$key" > "$work/coverage.key"
fi
build_changed -j"$(nproc)" all tests || { tail "$work/build.log"; exit 1; }
rm -f "$work"/survivors/*.diff "$work/verdicts.txt"
n=0
while [ $n -lt "$count" ] && IFS=$'\t' read -r file line new <&3; do
    try
done 3< <(sources | xargs awk -v count=$((4 * count)) -v seed="$seed" -f tests/mutate.awk)
table
