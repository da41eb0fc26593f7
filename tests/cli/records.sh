#!/usr/bin/env bash
# records: tables, JSON, export and import, merging, pruning, damaged files, and kill -9.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/r.db
db=$TILESCOPE_RECORDS
here=$("$TILESCOPE" records list --json | sed -n 's/.*"machine": "\([^"]*\)".*/\1/p')
there='Some CPU | avx2 | 8 cores'

# lines ID N MACHINE THREADS STATE: a run with N records; every fifth one is a timeout.
lines() {
    awk -v id="$1" -v n="$2" -v machine="$3" -v threads="$4" -v state="$5" -v spec="$gmm" '
    BEGIN {
        task = sprintf("\"spec\": \"%s\", \"threads\": %d, \"isa\": \"avx2\", \"machine\": \"%s\"",
                       spec, threads, machine)
        printf "{\"format\": 1, \"kind\": \"run\", \"run\": \"%s\", %s, \"strategy\": \"ppo\"," \
               " \"seed\": 7, \"budget\": %d, \"options\": {\"joint\": 300}," \
               " \"started\": \"2026-11-20T10:00:00Z\", \"ended\": null, \"state\": \"%s\"}\n",
               id, task, n, state
        for (i = 1; i <= n; i++) {
            printf "{\"format\": 1, \"kind\": \"record\", \"run\": \"%s\", \"trial\": %d," \
                   " \"strategy\": \"ppo\", \"seed\": 1, %s," \
                   " \"steps\": [\"loop split C N %d\", \"loop parallel C M\"], ",
                   id, i, task, i % 16 + 1
            if (i % 5 == 4)
                printf "\"outcome\": \"timeout\", \"reason\": \"no end after 2 s\"," \
                       " \"latency_ms\": null, \"gflops\": null, \"verified\": false," \
                       " \"max_rel_err\": null"
            else
                printf "\"outcome\": \"ok\", \"reason\": null, \"latency_ms\": {\"median\": %.6g," \
                       " \"min\": %.6g, \"spread\": 0.02, \"runs\": 20}, \"gflops\": %.6g," \
                       " \"verified\": true, \"max_rel_err\": 1e-06", 11 / i, 10 / i, i
            printf ", \"compile_s\": 0.04, \"measure_s\": 0.01, \"features\": null," \
                   " \"version\": \"0.1.0\", \"date\": \"2026-11-20T10:%02d:%02dZ\"}\n",
                   int(i / 60) % 60, i % 60
        }
    }'
}
lines 0123456789abcdef 30 "$here" 1 finished > "$dir/a.jsonl"
lines f123456789abcdef 12 "$there" 1 stopped > "$dir/b.jsonl"
lines aaaa456789abcdef 7 "$here" 2 running > "$dir/c.jsonl"

t 0 'no records yet' records
t 0 '"tasks": \[\]}' records list --json
[ -e "$db" ] && flunk 'looking makes no file' || pass 'looking makes no file'
t 2 'no measurement of task 1' records show 1
t 0 'added 30 records in 1 new run$' records import "$dir/a.jsonl"
t 0 'added 0 records in 0 new runs; 30 were there already' records import "$dir/a.jsonl"
t 0 'added 12 records' records import - < "$dir/b.jsonl"
t 0 '1 thread, avx2: 30 records, 24 right, best 0.333 ms \(30.0 GFLOP' records
t 0 'another machine: Some CPU' records
t 0 '"records": 30, "right": 24, "runs": 1' records --json

# Of another machine only: that is said.
export TILESCOPE_RECORDS=$dir/other.db
t 0 'added 12 records' records import "$dir/b.jsonl"
t 2 "no measurement of $gmm that this machine measured .E_NAME" records show "$gmm"
t 2 'fix: use --machine all' records show "$gmm"
export TILESCOPE_RECORDS=$db

# Texts of a stranger: no escape reaches a terminal, not from the records nor from a file's name.
evil='\\u001b]0;owned\\u0007\\u009b31m\\u001b[1mx\\u007f'
bad=$(lines eeee456789abcdef 5 "$here" 1 stopped |
    sed "s/no end after 2 s/$evil/; s/0\\.1\\.0/$evil/; s/ppo/$evil/")
TILESCOPE_RECORDS=$dir/evil.db t 0 'added 5 records' records import - <<< "$bad"
for what in "show 1 -n 5" runs list "list --json" "show 1 --json" "best 1" export "runs --json"; do
    # shellcheck disable=SC2086
    TILESCOPE_RECORDS=$dir/evil.db t 0 '' records $what
    same "no control characters: records $what" 0 \
        "$(LC_ALL=C grep -c -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' <<< "$out")"
done
TILESCOPE_RECORDS=$dir/evil.db t 0 ']0;owned' records show 1 -n 5
if command -v script > /dev/null; then
    out=$(TILESCOPE_RECORDS=$dir/evil.db TERM=xterm NO_COLOR='' \
        script -qc "'$TILESCOPE' records show 1 -n 5" /dev/null < /dev/null)
    same 'nor with colours' 0 \
        "$(LC_ALL=C grep -c -P '\x1b\]|\x1b\[1mx|\xc2[\x80-\x9f]' <<< "$out")"
fi
t 2 '^error: .*a\?\[31mb\.yaml' run "$dir/"$'a\e[31mb.yaml'

# show and best: this machine's only, unless asked.
t 0 '24 ok, 6 timeout' records show $gmm
t 0 'the last 4 of 30' records show 1 -n 4
t 0 'trial 29: no end after 2 s' records show "$gmm" -n 4
t 0 '01234567 +30 +ppo' records best 1
same 'not of another machine' 0 "$(grep -c f1234567 <<< "$out")"
t 0 'f1234567 +12 +ppo' records best 1 --machine Some
t 2 'the records have no machine Other' records best 1 --machine Other
t 0 '  loop parallel C M' records best 1
t 0 '"trial": 30,' records best 1 -n 1 --json
t 0 'wrote ' records best 1 -o "$dir/best.yaml"
t 0 'loop parallel C M' show "$dir/best.yaml" --what steps
grep -q 'run 0123456789abcdef, trial 30' "$dir/best.yaml" && pass 'and says where it is from' \
    || flunk 'and says where it is from' "$(cat "$dir/best.yaml")"
t 0 '^  01234567 +finished +30 +30' records runs
t 0 '^  f1234567 .*1\*$' records runs
t 0 '"state": "finished", "task": 1, "records": 30' records runs --json
t 0 'added 7 records' records import "$dir/c.jsonl"
t 0 'aaaa4567 +killed' records runs
t 2 'have 2 tasks of this operator, so the choice is not clear' records best "$gmm"
t 2 'give a task number: 1 \(1 thread, avx2\), [23] \(2 threads, avx2\)' records best "$gmm"
t 0 'aaaa4567 +7' records best "$gmm" --threads 2
same 'every line fits a screen' 0 \
    "$(for v in list 'show 1' 'best 1' runs; do "$TILESCOPE" records $v; done | grep -cE '.{81}')"

# Wrong words.
t 2 "records has no command 'lsit'" records lsit
t 2 'fix: tilescope records list' records lsit
t 2 'no task is given' records show
t 2 'no measurement of gmm' records show gmm m=1 k=1 n=1
t 2 'no run 9999' records show 1 --run 9999
t 2 'expected a date' records show 1 --before yesterday
t 2 "there is no such outcome" records show 1 --outcome tiemout
t 2 'fix: --outcome "timeout"' records show 1 --outcome tiemout
t 2 'takes one file' records import
t 2 'E_IO' records import "$dir/none.jsonl"
t 2 'E_IO' records merge "$dir/none.db"
t 2 'run takes no --keep' run "$gmm" --keep 3

# Out and in again, in another file; twice is once.
t 0 'wrote 49 records' records export -o "$dir/all.jsonl"
same 'a line for each run and record' 52 "$(wc -l < "$dir/all.jsonl")"
export TILESCOPE_RECORDS=$dir/second.db
t 0 'added 49 records in 3 new runs' records import "$dir/all.jsonl"
same 'the same export' "$(cat "$dir/all.jsonl")" "$("$TILESCOPE" records export)"
t 0 '49 were there already' records merge "$db"
export TILESCOPE_RECORDS=$dir/third.db
t 0 'added 49 records in 3 new runs' records merge "$db"
same 'merged: the same export' "$(cat "$dir/all.jsonl")" "$("$TILESCOPE" records export)"
same 'one task exported' 8 "$("$TILESCOPE" records export "$gmm" --threads 2 | wc -l)"

# A wrong line: its place, and nothing is applied.
sed '21s/"verified": true/"verified": 1/; s/0123456789abcdef/bbbb456789abcdef/' "$dir/a.jsonl" \
    > "$dir/bad.jsonl"
t 2 'bad.jsonl:21:[0-9]+: error: "verified" is neither true nor false' \
    records import "$dir/bad.jsonl"
same 'an error fits a screen' 0 "$(grep -v bad.jsonl <<< "$out" | grep -cE '.{81}')"
same 'and shows the place' 1 "$(grep -c '^  \.\.\."verified": 1' <<< "$out")"
same 'nothing is half applied' 52 "$("$TILESCOPE" records export | wc -l)"

# Rows that are left out are spoken of; a program gets every run.
for i in $(seq 10 31); do lines "dddd456789abcd$i" 0 "$here" 1 finished; done > "$dir/runs.jsonl"
TILESCOPE_RECORDS=$dir/runs.db t 0 'in 22 new runs' records import "$dir/runs.jsonl"
TILESCOPE_RECORDS=$dir/runs.db t 0 '^the last 20 of 22; -n 0 shows all' records runs
same 'all of them as JSON' 22 "$(TILESCOPE_RECORDS=$dir/runs.db "$TILESCOPE" records runs --json |
    grep -c '"kind": "run"')"

# An option that a verb would ignore.
t 2 'records list takes no --count' records list -n 5
t 2 'records runs takes no --failed' records runs --failed
t 2 'records show takes no --output' records show 1 -o "$dir/none"
t 2 'records check takes no --yes' records check --yes

# Prune says what it would do first.
t 2 'prune needs a filter' records prune
t 0 'would delete 0 records and 0 runs' records prune --threads 77
t 0 'would delete 0 records and 0 runs' records prune --isa sse
t 2 'expected a date as' records prune --before soon
for date in 2026-13-01 2026-02-29 2026-11-00 2026-11-21T24:00 2026-11-21T06:19:75; do
    t 2 'expected a date as' records prune --before $date
done
t 0 'would delete 0 records and 0 runs' records prune --before 2024-02-29T23:59:59Z
t 0 'would delete 7 records and 0 runs; --yes does it' records prune --failed
t 0 'deleted 7 records' records prune --failed --yes
t 0 'would delete 12 records and 1 run' records prune --machine Some
t 0 '"records": 12, "runs": 1, "deleted": true' records prune --machine Some --yes --json
t 0 'deleted 22 records and 0 runs' records prune --keep 2 --yes --before 0d --threads 1
t 0 'sound$' records check
if command -v sqlite3 > /dev/null; then
    cp "$db" "$dir/odd.db"
    sqlite3 "$dir/odd.db" "UPDATE record SET steps = 'loop split C' || char(10) || 'lop' \
        WHERE id = (SELECT max(id) FROM record)"
    TILESCOPE_RECORDS=$dir/odd.db t 2 'file is intact, but trial [0-9]+ of run [0-9a-z]+ is not' \
        records check
fi

# Damaged: said, kept, and moved only when asked.
head -c 3000 /dev/urandom > "$dir/third.db"
rm -f "$dir/third.db-wal" "$dir/third.db-shm"
sum=$(cksum < "$dir/third.db")
t 2 'are damaged' records
t 2 'tilescope records aside' records import "$dir/a.jsonl"
same 'it stays as it is' "$sum" "$(cksum < "$dir/third.db")"
t 2 'aside takes no operand' records aside "$dir/other.db"
t 2 'check takes no operand' records check "$dir/other.db"
same 'nothing was moved' "$sum" "$(cksum < "$dir/third.db")"
t 0 'moved to .*third.db.aside-1' records aside
same 'and is still there' "$sum" "$(cksum < "$dir/third.db.aside-1")"
t 0 'added 30 records' records import "$dir/a.jsonl"
t 2 'is intact' records aside
t 2 'fix: tilescope records aside --yes' records aside
t 0 'sound$' records check
cp "$dir/third.db" "$dir/fourth.db"
TILESCOPE_RECORDS=$dir/fourth.db t 0 'moved to .*fourth.db.aside-1' records aside --yes
TILESCOPE_RECORDS=$dir t 2 'is a folder' records
TILESCOPE_RECORDS=$dir t 2 'is a folder' records aside
TILESCOPE_RECORDS=$dir t 2 'is a folder' records aside --yes
TILESCOPE_RECORDS=$dir/none.db t 2 'there are no records' records aside
if command -v sqlite3 > /dev/null; then
    sqlite3 "$dir/mine.db" 'CREATE TABLE mine(x)'
    TILESCOPE_RECORDS=$dir/mine.db t 2 'a database of another program' records aside
    same 'which stays where it is' "$dir/mine.db" "$(ls "$dir"/mine.db*)"
fi

# kill -9 while an import writes: all of it or nothing, and the file is sound.  $RANDOM is seeded.
RANDOM=${TS_SEED:-1}
lines cccc456789abcdef 4000 "$here" 4 finished > "$dir/big.jsonl"
export TILESCOPE_RECORDS=$dir/killed.db
"$TILESCOPE" records import "$dir/a.jsonl" > /dev/null
began=$(date +%s%N)
"$TILESCOPE" records import "$dir/big.jsonl" > /dev/null
whole=$(( ($(date +%s%N) - began) / 1000000 + 1 ))
half='' all=0
for i in $(seq 12); do
    rm -f "$dir"/killed.db*
    "$TILESCOPE" records import "$dir/a.jsonl" > /dev/null
    "$TILESCOPE" records import "$dir/big.jsonl" > /dev/null 2>&1 &
    sleep "$(awk "BEGIN { print $((RANDOM % whole)) / 1000 }")"
    kill -9 $! 2> /dev/null
    wait $! 2> /dev/null
    got=$("$TILESCOPE" records check --json | grep -o '"records": [0-9]*')
    case $got in
    '"records": 30') ;;
    '"records": 4030') all=$((all + 1)) ;;
    *) half="$half $i:$got" ;;
    esac
done
same "kill -9 in an import of 4000 records: all or nothing (TS_SEED=${TS_SEED:-1})" '' "$half"
echo "# $all of 12 imports were complete before the kill"
t 0 'added (0|4 000) records' records import "$dir/big.jsonl"
t 0 '4 threads, avx2: 4 000 records' records list

# Two processes import at once: nobody loses anything.
export TILESCOPE_RECORDS=$dir/two.db
"$TILESCOPE" records import "$dir/big.jsonl" > "$dir/one.out" 2>&1 &
"$TILESCOPE" records import "$dir/a.jsonl" > "$dir/two.out" 2>&1
wait
t 0 '4 030 records, sound' records check

# Where SQLite cannot keep its lock file, as in a folder that cannot be written to, the file is
# read as it is; but not without a log that it has.
rm -f "$dir"/two.db-*
ln -s none "$dir/two.db-shm"
t 0 '4 threads, avx2: 4 000 records' records list
printf x > "$dir/two.db-wal"
t 2 'was not closed properly, and its folder cannot be written to' records list
t 2 'fix: copy it together with .*two.db-wal' records list
finish
