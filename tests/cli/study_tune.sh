#!/usr/bin/env bash
# study with variants that the tuner finishes: reports, records, weights, errors.
# tests/run.sh: long
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/r.db
cat > "$dir/two.yaml" <<'S2'
study: 1
id: two
title: two searches
operator: gmm m={M} k=8 n=16
cases:
- {id: "m{M}", for: {M: [8, 24], size: small}}
variants:
- {id: random, tune: {strategy: random}}
- {id: loops, steps: ['layout set B "N K"'], tune: {strategy: evo, loop_only: true}}
tune: {budget: 100, experts: 0, seeds: [1, 2]}
metrics:
- {id: best, unit: ms, value: tune.best_ms, base: random}
- {id: latency, unit: ms, value: latency_ms.min}
findings:
- {text: loops, each: random.best / loops.best, combine: geomean, unit: x, paper: 0.5, by: size}
measure: {meters: clock}
scale: {budget: 9}
S2
two=$dir/two.yaml
number() { sed -n "s/^ *\"$1\": \([0-9.e+-]*\),*\$/\1/p" <<< "$out" | head -n 1; }

sed 's/evo/eve/' "$two" > "$dir/bad.yaml"
t 2 'bad.yaml:9:63: error: there is no strategy "eve"' study "$dir/bad.yaml"
t 0 '^  alt.fig9 +46 ' studies
t 0 '^  alt.fig11 +2 ' studies

t 0 '^  alt.fig12 +2 +4 ' studies
t 0 '^  alt.fig13 +41 +3 ' studies

# A graph of two convolutions is tuned one by one; the variant says where it converts.
cat > "$dir/parts.yaml" <<'S3'
study: 1
id: parts
title: two convolutions
operator: x = input n=1 i=4 h=5 w=5; c1 = c2d(x) o=8 k=3 p=1; c2 = c2d(c1) o=8 k=1
cases: [{id: one}]
variants:
- {id: alt, steps: ['layout set c1 "N O/4 H W 4o"', 'layout set c2.Inp "N H W O"'], tune: {}}
- {id: fp, steps: [set variant fp, 'layout set c1 "N O/4 H W 4o"'], tune: {}}
- {id: bp, steps: [set variant bp, 'layout set c2.Inp "N H W O"'], tune: {}}
- {id: loops, steps: [set variant fp, 'layout set c1 "N H W O"'], tune: {loop_only: true}}
tune: {budget: 8, experts: 0, strategy: evo}
metrics: [{id: n, value: conversions}]
findings: [{text: where, each: alt.n == 1 && fp.n == 0 && bp.n == 0 && loops.n == 0}]
measure: {meters: none}
S3
t 0 'holds in all measured cases \(1 of 1\)' study "$dir/parts.yaml"
t 0 'layout set c1 ."N O/4 H W 4o."' study "$dir/parts.yaml" --json
grep -q 'loop [a-z]* c2 ' <<< "$out" && grep -q 'loop [a-z]* c1 ' <<< "$out" \
    && pass 'loops of both' || flunk 'loops of both' "$out"

# A case that is a network: variants as `tune MODEL --variant`, and the schedules as they are.
cat > "$dir/net.yaml" <<'S4'
study: 1
id: net
title: a network
cases: [{id: conv, model: nowhere/conv.onnx}]
variants:
- {id: instant}
- {id: loops, tune: {variant: loops}}
- {id: alt, tune: {variant: alt}}
tune: {budget: 8}
metrics:
- {id: latency, unit: ms, value: latency_ms.min, base: loops}
- {id: conversions, value: conversions}
- {id: tuned, unit: ms, value: tune.best_ms}
findings: [{text: gain, each: loops.latency / alt.latency, combine: geomean, unit: x}]
measure: {meters: clock, time: 0.01}
S4
t 0 '^ +conv +instant +[0-9.e-]+ +[0-9.]+x$' study "$dir/net.yaml" --models tests/fuzz/corpus/onnx
grep -qE '^ +conv +loops +evo +1 x 8 ' <<< "$out" && grep -qE '^ +measured +[0-9.]+ x,' <<< "$out" \
    && pass 'a tuned network' || flunk 'a tuned network' "$out"
t 0 '^  alt.fig10 +5 +5 ' studies
t 2 'fix: --models FOLDER says where' study "$dir/net.yaml"
sed 's/variant: alt/variant: ansor/' "$dir/net.yaml" > "$dir/bad.yaml"
t 2 'bad.yaml:8:29: error: there is no variant "ansor"' study "$dir/bad.yaml"
sed 's/{id: instant}/{id: instant, steps: [set variant fp]}/' "$dir/net.yaml" > "$dir/bad.yaml"
t 2 'bad.yaml:6:3: error: a variant of networks has no steps' study "$dir/bad.yaml"
sed 's/conversions}/convertions}/' "$dir/net.yaml" > "$dir/bad.yaml"
t 2 'bad.yaml:12:28: .*convertions' study "$dir/bad.yaml"
sed 's/tune: {strategy: random}/tune: {variant: alt}/' "$two" \
    > "$dir/bad.yaml"
t 2 'only a case with a `model` has variants' study "$dir/bad.yaml"
sed 's/^cases: .*/operator: gmm m=8 k=8 n=8\ncases: [{id: a}, {id: conv, model: a.onnx}]/' \
    "$dir/net.yaml" > "$dir/bad.yaml"
t 2 'every case of a study is a network, or none' study "$dir/bad.yaml"

t 0 'auto-tuner: the best so far in ms' study "$two" --scale 0.01 -o "$dir/report"
grep -qE 'm8 +random +random +1 x 9 ' <<< "$out" && pass 'a row for each search' \
    || flunk 'a row for each search' "$out"
grep -qE '^ +small +[0-9.e-]+ x +1 case$' <<< "$out" && pass 'geometric means by size' \
    || flunk 'by size' "$out"
grep -q '<svg' "$dir/report/two.curve.m8.svg" && pass 'curves' || flunk 'curves'
t 0 '1 x 10 ' study "$two" --scale 0.01 --budget 10
t 2 'study alt.table2 has no variant that is tuned' study alt.table2 --budget 10000000
t 2 '--budget 10000001: expected a whole number' study alt.table2 --budget 10000001
t 0 'left out +loops' study "$two" --scale 0.01 --variants random --cases 'm8*'
grep -q '^findings' <<< "$out" && grep -q 'loops,' <<< "$out" && flunk 'no finding without loops' \
    "$out" || pass 'no finding without loops'
t 2 'has no variant "randon"' study "$two" --variants randon
t 2 'study two has no case "m9"' study "$two" --cases m9
t 0 'reused +2 cells' study "$two" --scale 0.01 --resume "$dir/report/two.json"
t 0 '2 searches are from the records' study "$two" --scale 0.01
t 0 '"answered": true' study "$two" --scale 0.01 --json
same 'the schedule is measured anew' true "$(grep -o '"interleaved": true' <<< "$out" |
    head -n 1 | grep -o true)"
t 0 '^verified: true' run 'gmm m=8 k=8 n=16' --steps <(sed -n '/"steps": \[$/,/\]/p' <<< "$out" |
    sed -n '1,/\]/s/^ *"\(l.*\)",*$/\1/p' | sed 's/\\"/"/g')

sed 's/strategy: random/weights: none.weights/' "$two" > "$dir/w.yaml"
t 0 'none.weights: No such file' study "$dir/w.yaml" --scale 0.01
t 2 '.search. and .tune. exclude each other' study - < <(
    sed 's/tune: {strategy: random}/tune: {}, search: {a: [1]}/' "$two")

# kill -9, and the same line again: what was measured is there.
records() { "$TILESCOPE" records export 2> /dev/null | grep -c '"kind": "record"'; }
had=$(records)
"$TILESCOPE" study "$two" --scale 0.4 > /dev/null 2>&1 &
pid=$!
for ((i = 0; i < 400; i++)); do
    [ "$(records)" -ge $((had + 12)) ] && break
    kill -0 $pid 2> /dev/null || break
    sleep 0.02
done
kill -9 $pid 2> /dev/null && killed=yes || killed=no
wait $pid 2> /dev/null
if [ $killed = yes ]; then
    t 0 'killed' records runs
    cp "$TILESCOPE_RECORDS" "$dir/other.db"
    TILESCOPE_RECORDS=$dir/other.db t 0 '1 x 12 ' study "$two" --scale 0.4 --budget 12
    t 0 '^two: two searches$' study "$two" --scale 0.4
    same 'each trial is there once, and the winners' $((had + 2 * 41)) "$(records)"
    t 0 'finished' records runs
    grep -q killed <<< "$out" && flunk 'the killed one went on' "$out" || pass 'and went on'
else
    pass '# SKIP it was done before it could be killed'
fi
finish
