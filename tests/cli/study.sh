#!/usr/bin/env bash
# study and studies: exit codes, reports, and files of one's own.
# tests/run.sh: takes 32 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
cat > "$dir/rows.yaml" <<'S'
study: 1
id: rows
title: lanes or not
operator: gmm m={M} k=8 n=32
cases:
- {id: "m{M}", for: {M: [4, 8, 12, 16]}}
variants:
- id: plain
- {id: lanes, steps: ["loop reorder C K N", "loop vectorize C N"]}
metrics:
- {id: loads, value: counters.sim.loads, base: plain, paper: {plain: 10, lanes: 1}}
- {id: latency, unit: ms, value: latency_ms.min, base: plain}
findings:
- {text: lanes load less, each: lanes.loads < plain.loads}
measure:
  meters: sim
S
rows=$dir/rows.yaml

t 0 '^  alt.table3 ' studies
t 0 '"id": "alt.table3"' studies --json
narrow=$(COLUMNS=80 "$TILESCOPE" studies)
same 'the list fits 80 columns' '' "$(grep -E '^.{81,}' <<< "$narrow")"
same 'titles use the whole width' '' "$(grep -E '^ {40,}' <<< "$narrow")"
same 'each title is there' "$("$TILESCOPE" studies | wc -l)" \
    "$(grep -cE '^  (study|[^ ]+\.)' <<< "$narrow")"
t 2 'which study' study
t 2 'which study' study alt.table3 alt.table2
t 2 'did you mean alt.table3' study alt.tabel3
t 2 'No such file' study "$dir/none.yaml"
t 2 'expected a number from' study "$rows" --scale 2
t 2 'at least one' study "$rows" --meters none
t 2 'no meter named' study "$rows" --meters clok
t 2 'study takes no --save' study "$rows" --save
printf 'study: 1\nid: x\ncaes: []\n' > "$dir/bad.yaml"
t 2 "bad.yaml:3:1: error: unknown key \"caes\"" study "$dir/bad.yaml"

t 0 '^rows: lanes or not$' study "$rows"
grep -qE 'lanes +[0-9 ]+0\.[0-9]+x +\| +1 +0.10x +\| +agrees in sign' <<< "$out" \
    && pass 'measured, paper and verdict in one row' || flunk 'one row' "$out"
grep -qE 'holds in all measured cases \(4 of 4\)' <<< "$out" && pass 'the finding' \
    || flunk 'the finding' "$out"
grep -qF 'in 8 of 8 cells: "latency_ms.min" has no value: latency_ms was not' <<< "$out" \
    && pass 'what was not measured says so' || flunk 'not measured' "$out"
t 0 'scale +0.5: 2 of 4 cases' study "$rows" --scale 0.5
t 0 '"study": "rows"' study "$rows" --json -o "$dir/report"
same 'text in the folder' 'rows: lanes or not' "$(head -n 1 "$dir/report/rows.txt")"
cmp -s <(echo "$out") "$dir/report/rows.json" \
    && pass 'the same JSON' || flunk 'the same JSON'
grep -q '<svg' "$dir/report/rows.loads.svg" && pass 'a chart' || flunk 'a chart'
(
    mkdir "$dir/bin"
    for tool in gcc as ld grep; do ln -s "$(command -v $tool)" "$dir/bin/"; done
    PATH=$dir/bin "$TILESCOPE" study "$rows" -o "$dir/undrawn" > "$dir/undrawn.out" 2>&1
)
same 'without gnuplot: said before anything is measured' 1 \
    "$(grep -c 'error: gnuplot is not installed, so no chart can be drawn' "$dir/undrawn.out")"
same 'nothing but that' 0 "$(grep -c 'lanes or not' "$dir/undrawn.out")"
same 'no chart of what was not measured' '' "$(find "$dir/report" -name 'rows.latency.svg')"
t 0 'reused +8 cells' study "$rows" --resume "$dir/report/rows.json"
mkdir -p "$dir/taken/rows.txt"
t 2 'rows.txt: it is not a regular file' study "$rows" -o "$dir/taken"
same 'nothing was measured' 0 "$(grep -c 'lanes or not' <<< "$out")"

# Somebody else writes the report meanwhile: both stay.
echo mine > "$dir/r.json"
printf '#!/bin/sh\ncase $1 in --version|-print*) ;; *) echo edited >> "%s/r.json";; esac
exec gcc "$@"\n' "$dir" > "$dir/slow-cc"
chmod +x "$dir/slow-cc"
t 2 'another program changed .*r.json in the meantime, .* in .*/r-2.json' \
    study "$rows" --scale 0.5 --compiler "$dir/slow-cc" -o "$dir/r.json"
same 'the edit is there' edited "$(tail -n 1 "$dir/r.json")"
t 0 'reused +4 cells' study "$rows" --scale 0.5 --compiler "$dir/slow-cc" \
    --resume "$dir/r-2.json" -o "$dir/r.json"
same 'it is written over else' 0 "$(grep -c edited "$dir/r.json")"

out=$(timeout --foreground --preserve-status -s INT 2 "$TILESCOPE" study alt.fig1.c2d 2> "$dir/err")
same 'Ctrl-C: exit 130' 130 $?
grep -q '^PARTIAL' <<< "$out" && grep -q 'left out: cancelled' <<< "$out" \
    && pass 'and a partial report' || flunk 'a partial report' "$(head -n 5 <<< "$out")"
same 'and a word about it' 'cancelled: the report is partial' "$(sed 's/; the same.*//' "$dir/err")"

# kill -9: what was measured by then is taken over, and gone when the study is finished.
state=${XDG_STATE_HOME:-}
export XDG_STATE_HOME=$dir/state
sed 's/^  meters: sim/  meters: clock\n  time: 0.7/' "$rows" > "$dir/slow.yaml"
kept() { find "$dir/state" -name "study-rows-*.json" 2> /dev/null; }
"$TILESCOPE" study "$dir/slow.yaml" --seed 3 --threads 1 > /dev/null 2>&1 &
pid=$!
while [ -z "$(kept)" ] && kill -0 $pid 2> /dev/null; do sleep 0.02; done
kill -9 $pid
wait $pid 2> /dev/null
t 2 'is a report of rows, not of alt.table3' study alt.table3 --resume "$(kept)"
cp "$(kept)" "$dir/kept.json"
t 0 'scale +0.5: 2 of 4 cases' study "$dir/slow.yaml" --scale 0.5
cmp -s "$(kept)" "$dir/kept.json" && pass 'other options leave it' || flunk 'other options leave it'
timeout --preserve-status -s INT 0.2 "$TILESCOPE" study "$dir/slow.yaml" --seed 3 --threads 1 \
    > /dev/null 2>&1
cmp -s "$(kept)" "$dir/kept.json" && pass 'so does a false start' || flunk 'a false start'
t 0 'reused +[2-8] cells' study "$dir/slow.yaml" --resume --threads 1 --seed 3    # in any order
same 'it is gone when the study is finished' '' "$(kept)"
t 2 'there is nothing to resume' study "$dir/slow.yaml" --resume
export XDG_STATE_HOME=$state

# SPEC I.1: a miss that fetches four lines predicts 512 T / 64; rows of 1000 floats miss more.
rows() {
    grep -A 1 -E "^  512 x $1  +contiguous" <<< "$out" \
        | grep -oE '(contiguous|1000) +[0-9 ]+ ' | tr -d ' \n'
}
t 0 '^alt.table2: ' study alt.table2 --meters sim
same '512 x 4' contiguous321000512 "$(rows 4)"
same '512 x 16' contiguous1281000516 "$(rows 16)"
same '512 x 64' contiguous5121000780 "$(rows 64)"
same '512 x 256' contiguous204810002352 "$(rows 256)"
same 'every finding holds' 3 "$(grep -c '  holds in all measured cases (8 of 8)' <<< "$out")"
t 0 'R18 conv1' study alt.table3 --meters sim --scale 0.1
finish
