#!/usr/bin/env bash
# run: what it prints, checks, asserts and saves.
# tests/run.sh: takes 24 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
quick=(--time 0.02)
cat > "$dir/tiled.steps" <<'S'
layout set C "M N/16 16n"
loop reorder C K N.1
loop vectorize C N.1
S

t 0 '^verified: true' run "$gmm" "${quick[@]}"
t 0 '^latency: ' run "$gmm" "${quick[@]}" --meters clock
t 0 '^sim: ' run "$gmm" --meters sim
t 0 '^sim: +4K/2/64' run "$gmm" --meters sim --cache 4K/2/64
t 0 '^sim: +64K/4/64,prefetch=lines:4' run "$gmm" --meters sim --cache cortex-a76,levels=1
t 0 '^ +L3 ' run "$gmm" --meters sim --cache zen3
t 2 'column 10.*prefetch' run "$gmm" --meters sim --cache 32K/8/64,prefetch=some
t 0 'cortex-a76' help caches
t 0 'compulsory +capacity +conflict' run "$gmm" --meters sim --sim-detail
t 0 'misses along' run "$gmm" --meters sim --sim-detail
t 0 'no detail: ' run "$gmm" --meters sim --sim-detail --sim-budget 100
t 0 '"causes"' run "$gmm" --meters sim --sim-detail --json
t 0 '' run "$gmm" --meters sim --sim-detail --cache host,levels=1 \
    --assert 'counters.sim.detail.causes.compulsory <= counters.sim.l1_misses'
t 0 'simulated, misses within' run 'gmm m=192 n=192 k=96' --meters sim --cache 4K/4/64 \
    --sim-budget 1.8e6
t 0 'sim: .*; simulated a sample of .*, more than the budget of 100: a sample cannot be smaller' \
    run 'gmm m=192 n=192 k=96' --meters sim --sim-budget 100
t 0 '"beyond_budget": "simulated all 2.53e\+04 accesses, more than the budget of 100: ' \
    run "$gmm" --meters sim --sim-budget 100 --json
t 0 '"beyond_budget": null' run "$gmm" --meters sim --json
t 0 '^ +A +[·░▒▓█]+  most [0-9]+ in [0-9]+ lines?$' run "$gmm" --meters sim --sim-detail
t 0 '^ +\(sets\) +[·░▒▓█]+  most [0-9]+ in 1 set$' \
    run "$gmm" --meters sim --sim-detail
t 0 '^ +A +[.:+%#]+  most [0-9]+ in [0-9]+ lines?$' \
    run "$gmm" --meters sim --sim-detail --no-unicode

# An option of a meter that was left out is a contradiction; of one that nobody spoke of, it asks
# for that meter.
t 2 '--sim-detail needs the meter sim, but --meters clock leaves it out' \
    run "$gmm" --time 500 --meters clock --sim-detail
t 2 'fix: --meters clock,sim$' run "$gmm" --time 500 --meters clock --sim-detail
t 2 '--sim-budget needs the meter sim' run "$gmm" --meters none --sim-budget 100
t 2 '--cache needs the meter sim or cachegrind' run "$gmm" --meters perf --cache 4K/2/64
t 2 '--cold needs the meter clock' run "$gmm" --meters sim --cold
t 2 '--baselines needs the meter clock' run "$gmm" --meters sim --baselines
t 0 'compulsory +capacity +conflict' run "$gmm" --check --sim-detail
same 'and only that one' 0 "$(grep -cE '^(latency|perf): ' <<< "$out")"

# A terminal of 80 columns, unless it has more.
t 0 '^latency: +[0-9.]+ ns best' run 'gmm m=2 k=2 n=2' "${quick[@]}" --meters clock
wide=$(COLUMNS='' "$TILESCOPE" run "$gmm" "${quick[@]}" --sim-detail --baselines \
    --meters clock,sim,perf,perf-sw,papi,cachegrind,instructions,cupti)
same 'a run fits 80 columns' '' "$(grep -E '^.{81,}' <<< "$wide")"
same 'all of it is there' 1 "$(grep -c '^perf-sw: ' <<< "$wide")"
narrow=$(COLUMNS=40 "$TILESCOPE" run "$gmm" "${quick[@]}" --meters clock,perf)
same 'prose fits 40 columns' '' "$(grep -E '^.{41,}' <<< "$narrow")"
t 0 '' run "$gmm" --meters sim --cache zen3 \
    --assert 'counters.sim.levels.0.misses == counters.sim.l1_misses'
t 0 '' run "$gmm" --meters sim --cache zen3 --assert 'counters.sim.dram_bytes >= 64'
t 0 '^perf: ' run "$gmm" --meters perf
t 0 '^verified: true' run "$gmm" --meters none
same 'not asked, not told' 0 "$(grep -cE '^(latency|sim|perf):' <<< "$out")"
t 0 'branch main, step 1 of 3' run "$gmm" --steps "$dir/tiled.steps" --step 1 --meters none
t 0 '2 threads' run "$gmm" "${quick[@]}" --meters clock --threads 2
t 0 '^verified: true' run gmm m=24 k=16 n=32 --meters none --seed 7
t 0 '^verified: true' run "$gmm" --meters none --compiler gcc
if command -v clang > /dev/null; then
    t 0 '^verified: true' run "$gmm" --meters none --compiler clang
fi

t 0 '^checked 4 programs, 0 wrong' run "$gmm" --steps "$dir/tiled.steps" --check
same 'a line per step' 4 "$(grep -cE '^ +[0-9]  ok ' <<< "$out")"
t 1 '' run "$gmm" --steps "$dir/tiled.steps" --check --assert 'verified == false'
same 'a step is reported before what comes behind it' '   0  ok' \
    "$(head -n 1 <<< "$out" | cut -c 1-8)"
t 0 '^checked 4 programs, 0 wrong' run "$gmm" --steps "$dir/tiled.steps" --check
same 'a check alone does not time' 0 "$(grep -cE '^latency:' <<< "$out")"
t 0 '^   0  ok .* [mun]s  ' run "$gmm" "${quick[@]}" --steps - --meters clock < <(
    printf 'measure\nloop split C N 8\n')

t 0 '' run "$gmm" "${quick[@]}" --assert verified --assert 'latency_ms.median > 0'
t 0 '' run "$gmm" --meters sim --assert 'counters.sim.loads > 0 && counters.sim.l1_misses >= 1'
t 0 '' run "$gmm" --meters sim --assert 'counters.sim.by_tensor.A.l1_misses > 0'
t 1 'assertion failed: latency_ms.median < 0' run "$gmm" "${quick[@]}" \
    --assert 'latency_ms.median < 0' --assert verified
t 1 'assertion failed: verified && gflops < 0 \(verified is true, gflops is [0-9.]+\)' \
    run "$gmm" "${quick[@]}" --assert 'verified && gflops < 0'
t 2 'sim was not requested, so it is not available' run "$gmm" --meters none \
    --assert 'counters.sim.loads > 0'
t 2 'error: ' run "$gmm" --time 500 --assert 'latency_ms.median <'
t 2 'onednn was not requested, so it is not available' run "$gmm" --time 500 \
    --assert 'verified && baselines.onednn.ratio > 1'
t 2 'fix: --baselines onednn$' run "$gmm" --time 500 --assert 'baselines.onednn.ratio > 1'
t 2 'fix: --baselines openblas$' run "$gmm" --time 500 --baselines onednn \
    --assert 'baselines.openblas.ratio > 1'
t 2 'fix: add perf-sw to --meters' run "$gmm" --time 500 \
    --assert 'counters.perf_sw.page_faults < 9'
t 2 'latency_ms was not requested, so it is not measured' run "$gmm" --meters none \
    --assert 'latency_ms.min < 1'
t 2 'fix: add clock to --meters' run "$gmm" --meters sim --assert 'verified && gflops > 1'
t 2 'fix: --cold$' run "$gmm" --time 500 --assert 'cold_latency_ms.min < latency_ms.min'
t 2 'fix: --huge-pages$' run "$gmm" --time 500 --assert 'huge_pages.bytes > 0'
t 0 '' run "$gmm" --meters none --assert 'outcome == "ok" && "gflops" != "latency_ms.min"'
t 0 '' run "$gmm" --meters none \
    --assert '!counters.perf.available || counters.perf.cycles > 0'
t 2 'error: ' run "$gmm" --time 500 --assert verified --assert '(gflops > 1'
t 2 'error: ' run "$gmm" "${quick[@]}" --assert 'latency.median < 1'
t 0 '"verified": ?true' run "$gmm" --json --meters none
same 'JSON is all there is on stdout' '{}' \
    "$("$TILESCOPE" run "$gmm" --json --meters none --check 2> /dev/null \
       | tr -d '\n' | sed -E 's/^(.).*(.)$/\1\2/')"

# Vendor libraries: timed, or a reason; none unless asked for.
t 0 '^onednn: +([0-9.]+ [mun]?s best.* times this kernel|not available: .+)' \
    run "$gmm" "${quick[@]}" --meters clock --baselines
same 'all of them' 3 "$(grep -cE '^(onednn|onednn_plain|openblas): ' <<< "$out")"
t 0 '^openblas: ' run --baselines openblas "$gmm" "${quick[@]}" --meters clock
same 'only those' 0 "$(grep -cE '^onednn' <<< "$out")"
t 0 '^verified: true' run "$gmm" "${quick[@]}" --meters clock
same 'none unless asked for' 0 "$(grep -cE '^(onednn|openblas)' <<< "$out")"
t 2 "no baseline named 'onedn'" run "$gmm" --baselines=onedn
t 0 'not available: OpenBLAS has no operator for convolution 3x3' \
    run 'c2d n=1 i=2 h=6 w=6 o=4 k=3' "${quick[@]}" --meters clock --baselines openblas
t 2 'openblas is not available' run 'act n=1 c=9 f=relu' "${quick[@]}" --meters clock \
    --baselines openblas --assert 'baselines.openblas.ratio >= 1'
if [ -e "$(dirname "$TILESCOPE")/tilescope-onednn.so" ]; then
    t 0 '' run "$gmm" "${quick[@]}" --meters clock --baselines onednn \
        --assert 'baselines.onednn.verified && baselines.onednn.ratio > 0'
fi

# Meters, limits, and what is legal but hardly meant.
t 0 '^perf-sw:  +(task_clock_ns|not available)' run "$gmm" "${quick[@]}" --meters clock,perf-sw
t 0 '"perf-sw": \{' run "$gmm" --json --meters perf-sw
t 0 '^note: +the tiles of the output C overlap: it is stored as M:24 N.0:2 N.1:17, 1.06 times' \
    run "$gmm" --meters none --steps - <<< 'layout set C "M N/16 17n"'
t 0 '"the tiles of the output C overlap' run "$gmm" --json --meters none \
    --steps - <<< 'layout set C "M N/16 17n"'
same 'nothing to note' 0 "$("$TILESCOPE" run "$gmm" --meters none | grep -c '^note:')"
t 1 'the kernel did not end within 0.01 s; `tilescope run --limit SECONDS` allows more' \
    run 'gmm m=900 k=900 n=900' --meters none --limit 0.01
t 2 '--limit 0: expected a number' run "$gmm" --limit 0

# Built for another instruction set; what this CPU lacks is refused.
t 0 '^compiler: .*, plain' run "$gmm" --meters none --isa plain
t 0 '"isa": "plain"' run "$gmm" --json --meters none --isa plain
t 2 'no instruction set named .avx3.' run "$gmm" --meters none --isa avx3
if [ "$(uname -m)" = x86_64 ]; then
    t 3 'this CPU has no neon' run "$gmm" --meters none --isa neon
fi

# Every operator alone, where its name is the kernel's, and on tensors without dimensions.
for op in relu relu6 sigmoid tanh gelu gelu_tanh silu hardswish softplus exp erf neg abs \
    identity; do
    for dims in 'n=9' ''; do
        t 0 '^verified: true' run "x = input $dims; y = $op(x)" --meters none
    done
done
for op in add sub mul div max min; do
    t 0 '^verified: true' run "x = input n=9; z = input n=9; y = $op(x, z)" --meters none
    t 0 '^verified: true' run "x = input; z = const value=3; y = $op(x, z)" --meters none --seed 2
done
t 0 '^verified: true' run 'x = input n=9; y = reduce_sum(x) axes=0 keep=0' --meters none

# Event sets: the system's counts work everywhere, a PMU's with a reason; files of the user's own.
t 0 '^perf-sw: .*page_faults .*event set sw' run "$gmm" --meters none --events sw
if "$TILESCOPE" run "$gmm" --meters none --events papi-sw --json \
    | grep -q 'its perf_event component is disabled: '; then
    pass 'PAPI counts the system'\''s events # SKIP its libpfm4 does not know this CPU'
else
    t 0 '^papi: .*task_clock_ns .*event set papi-sw' \
        run "$gmm" --meters none --events sw,papi-sw
    t 0 '' run "$gmm" --meters none --events papi-sw \
        --assert 'counters.papi.metrics.cpus_used.value > 0'
fi
t 0 '' run "$gmm" --meters papi --assert \
    '!counters.papi.available || counters.papi.papi_tot_ins > 0'
t 2 'there is no event set .l9.' run "$gmm" --events l9
t 2 'both counted by the meter perf' run "$gmm" --events l1,tlb
t 2 '--events needs an event set here: --events l1' run "$gmm" --events
t 2 'fix: tilescope meters --events' run "$gmm" --events
t 0 '^papi-sw +papi ' meters
t 0 'misprediction_rate \[%\] += 100 \* branch_misses / branches' meters --events
t 0 'l1d_load_misses' meters --events l1
same 'one set only' 1 "$("$TILESCOPE" meters --events l1 | grep -c '^  meter ')"
t 0 '"formula": "100 \* l1d_load_misses' meters --events l1 --json
echo 'loop parallel C M' > "$dir/parallel.steps"
same 'too few descriptors are told' 1 "$(ulimit -n 30
    "$TILESCOPE" run "$gmm" --steps "$dir/parallel.steps" --threads 8 --events sw 2>&1 \
        | grep -c '^perf-sw: .*ulimit -n')"
mkdir -p "$dir/config/tilescope/events"
printf '%s\n' 'SHORT mine' 'METER perf-sw' EVENTSET 'faults page_faults' METRICS \
    'per_s = faults / time_s' LONG 'Mine.' > "$dir/config/tilescope/events/mine.txt"
printf '%s\n' 'SHORT broken' 'METER perf' EVENTSET cycels > "$dir/config/tilescope/events/bad.txt"
(
    export XDG_CONFIG_HOME=$dir/config
    "$TILESCOPE" run "$gmm" --meters none --events mine
    "$TILESCOPE" meters
    "$TILESCOPE" run "$gmm" --events bad
) > "$dir/mine" 2>&1
same 'the code of a broken set' 2 $?
same 'a set of the user counts' 1 \
    "$(grep -cE '^perf-sw: +faults [0-9.]+ .event set mine' "$dir/mine")"
same 'it is listed' 1 "$(grep -c '^mine .*(yours)$' "$dir/mine")"
same 'the broken one is pointed at' 2 \
    "$(grep -c 'bad.txt:4:1: error: there is no event cycels' "$dir/mine")"
same 'with a suggestion' 2 "$(grep -c '  fix: cycles' "$dir/mine")"

# Valgrind as a second opinion, or why there is none.
if "$TILESCOPE" meters | grep -qE '^cachegrind +yes'; then
    t 0 ' d1_misses [0-9]' run "$gmm" --meters cachegrind
    t 0 '[(]valgrind-.* variant, 1 thread, D1 [0-9]+K/' run "$gmm" --meters cachegrind
    t 0 '' run "$gmm" --meters sim,cachegrind --isa plain \
        --assert 'counters.cachegrind.d1_misses > 0.99 * counters.sim.l1_misses' \
        --assert 'counters.cachegrind.instructions > counters.cachegrind.loads'
    t 0 '^cachegrind: not available: cachegrind needs a number of sets that is a power of two' \
        run "$gmm" --meters cachegrind --cache 24K/8/64
else
    t 0 '^cachegrind: not available: valgrind' run "$gmm" --meters cachegrind
fi

# Instructions by kind, of this CPU's best instruction set, or why not.
if "$TILESCOPE" meters | grep -qE '^instructions +yes'; then
    t 0 '^instructions: instructions [0-9].*, loads [0-9]' run "$gmm" --meters instructions
    t 0 '' run "$gmm" --meters instructions \
        --assert 'counters.instructions.branches > 0' \
        --assert 'counters.instructions.metrics.scalar_share.value > 0'
else
    t 0 '^instructions: not available: ' run "$gmm" --meters instructions
fi

# --save and -o: the numbers are in the file, the rest of it is as it was.
t 0 '^verified: true' run "$gmm" "${quick[@]}" --steps "$dir/tiled.steps" --meters clock \
    -o "$dir/s.yaml"
t 0 '^measured:' show "$dir/s.yaml" --what yaml
t 0 '^>? *.*loop vectorize C N.1 .* [mun]s' show "$dir/s.yaml" --what steps
t 0 '^before: ' run "$dir/s.yaml" "${quick[@]}" --meters clock --save
t 0 'step 1 of 3' run "$dir/s.yaml" --meters none --step 1 --save
t 0 'step 3$' run "$dir/s.yaml" --meters none
t 2 'E_IO' run "$gmm" --meters none -o "$dir/none/s.yaml"

# The time of a held step is that of the step before it.
cat > "$dir/held.yaml" << 'S'
tilescope: 1
operator: gmm m=24 k=16 n=32
steps:
  - loop unroll C K
  - held: loop reorder C N.1 N.0
S
t 0 '^held: ' run "$dir/held.yaml" "${quick[@]}" --meters clock --save
t 0 '^ +1  loop unroll C K .* [mun]s' show "$dir/held.yaml" --what steps

# What this run did not ask for stays in the file, or nothing is saved.
clean() {
    "$TILESCOPE" show "$1" --what yaml |
        grep -oE '(latency_ms: .{16}|(sim|perf-sw): .available: true)'
}
t 0 '^verified: true' run "$gmm" "${quick[@]}" --meters clock,sim -o "$dir/k.yaml"
before=$(clean "$dir/k.yaml")
same 'the time and the simulation are there' 2 "$(grep -c . <<< "$before")"
t 0 '^checked' run "$dir/k.yaml" --check --save
same 'a check leaves them' "$before" "$(clean "$dir/k.yaml")"
t 0 '' run "$dir/k.yaml" --meters none --save
same 'no meter leaves them' "$before" "$(clean "$dir/k.yaml")"
t 0 '' run "$dir/k.yaml" --meters perf-sw --save
same 'another meter is added' "$before" "$(clean "$dir/k.yaml" | grep -v perf-sw)"
same 'and is there' 1 "$(clean "$dir/k.yaml" | grep -c perf-sw)"
cp "$dir/k.yaml" "$dir/k0.yaml"
t 2 "k.yaml holds numbers of clock,sim,perf-sw \(1 thread, .*\), but this run used 2 threads, " \
    run "$dir/k.yaml" --meters none --threads 2 --save
t 2 'fix: --meters clock,sim,perf-sw measures all of it again' \
    run "$dir/k0.yaml" --meters sim --isa plain --save
same 'as it was' "$(cat "$dir/k0.yaml")" "$(cat "$dir/k.yaml")"
t 0 '' run "$dir/k.yaml" --meters none --threads 2 -o "$dir/k2.yaml"
same 'the copy has what was measured' '' "$(clean "$dir/k2.yaml")"
sed -i 's/^machine: .*/machine: another one/' "$dir/k.yaml"
t 2 'another machine\), but this run used' run "$dir/k.yaml" --meters none --save

# A file is of one machine.
t 0 '^verified' run "$gmm" "${quick[@]}" --steps "$dir/tiled.steps" --meters clock -o "$dir/m.yaml"
t 0 '' run "$dir/m.yaml" "${quick[@]}" --meters clock --step 1 --save
sed -i 's/^machine: .*/machine: another one/' "$dir/m.yaml"
before=$(cat "$dir/m.yaml")
t 2 'measurements of another machine for 1 other step, and a file can hold only one machine' \
    run "$dir/m.yaml" "${quick[@]}" --meters clock --save
same 'and what can be done' '  fix: -o FILE.yaml writes a new file without them' \
    "$(grep fix: <<< "$out")"
same 'nothing was' "$before" "$(cat "$dir/m.yaml")"
t 0 '' run "$dir/m.yaml" "${quick[@]}" --meters clock -o "$dir/m2.yaml"
same 'the copy has its own numbers only' 1 "$(clean "$dir/m2.yaml" | grep -c latency_ms)"

# What a killed run of the screen has left is named.
state=${XDG_STATE_HOME:-}
export XDG_STATE_HOME=$dir/state
mkdir -p "$dir/state/tilescope/autosave"
t 0 '' run "$gmm" --meters none -o "$dir/left.yaml"
sed "1i # autosave of process 1 1\\n# original: $dir/left.yaml\\n# title: gmm" "$dir/left.yaml" \
    > "$dir/state/tilescope/autosave/left-000000000000.yaml"
t 0 'note: an earlier run left unsaved changes of .*left.yaml' show "$dir/left.yaml"
sed -i '3a # file: 0000000000000000\n# measurements only' \
    "$dir/state/tilescope/autosave/left-000000000000.yaml"
t 0 '^for' show "$dir/left.yaml"
same 'measurements alone are not' 0 "$(grep -c '^note' <<< "$out")"
t 0 '^for' show "$gmm"
same 'nor for others' 0 "$(grep -c '^note' <<< "$out")"
export XDG_STATE_HOME=$state

# A slower time does not replace a faster one, unless it is asked for.
t 0 '' run "$gmm" "${quick[@]}" --meters clock -o "$dir/best.yaml"
sed -i -E 's/min: [0-9.e-]+/min: 1.25e-07/' "$dir/best.yaml"
t 0 'the file keeps the faster time of step 0, 1.25e-07 ms \(--fresh replaces it\)' \
    run "$dir/best.yaml" "${quick[@]}" --meters clock --save
same 'it was kept' 1 "$(grep -c 'min: 1.25e-07' "$dir/best.yaml")"
same 'and counted' 1 "$(grep -c 'measurements: 2' "$dir/best.yaml")"
t 0 '' run "$dir/best.yaml" "${quick[@]}" --meters clock --save --fresh
same 'it was replaced' 0 "$(grep -c 'min: 1.25e-07' "$dir/best.yaml")"

# A time of code that other flags or another version made is no rival.
sed -i -E 's/min: [0-9.e-]+/min: 1.25e-07/; s/code: [^,}]*/code: 00000000/' "$dir/best.yaml"
t 0 '' run "$dir/best.yaml" "${quick[@]}" --meters clock --save
same 'other code was replaced' 0 "$(grep -c 'min: 1.25e-07' "$dir/best.yaml")"

# What a limit cut short takes nothing away.
t 0 '^verified' run 'gmm m=900 k=900 n=900' --meters sim --sim-budget 1000 -o "$dir/slow.yaml"
t 2 'slow.yaml holds numbers of sim .*, but this run ended in "timeout"' \
    run "$dir/slow.yaml" --meters clock --limit 0.01 --save
t 0 'available: true' show "$dir/slow.yaml" --what yaml

# `measure` where the script did not stay.
printf 'loop parallel C M\nmeasure\nundo\nloop unroll C K\n' > "$dir/left.steps"
t 0 '^ +1  ok .*loop parallel C M$' run "$gmm" --steps "$dir/left.steps" "${quick[@]}" \
    --meters clock
printf 'tune budget=300\n' > "$dir/tune.steps"
t 2 'this is a command of the screen' run "$gmm" --steps "$dir/tune.steps"

# A bad file changes nothing and says where.
printf 'tilescope: 1\noperator: %s\nsteps:\n  - loop split C Q 4\n' "$gmm" > "$dir/bad.yaml"
t 2 "^$dir/bad.yaml:4:[0-9]+: error: " run "$dir/bad.yaml"
printf 'tilescope: 1\noperator: %s\ncolour: red\n' "$gmm" > "$dir/key.yaml"
t 2 "^$dir/key.yaml:3:1: error: " run "$dir/key.yaml"
printf 'tilescope: [1\n' > "$dir/open.yaml"
t 2 "^$dir/open.yaml:[0-9]+:[0-9]+: error: " run "$dir/open.yaml"
printf 'tilescope: 1\noperator: gmm m=4\n' > "$dir/op.yaml"
t 2 "^$dir/op.yaml:2:[0-9]+: error: " run "$dir/op.yaml"
head -c 4096 /dev/urandom > "$dir/noise.yaml"
t 2 'error: ' run "$dir/noise.yaml"
: > "$dir/empty.yaml"
t 2 'error: ' run "$dir/empty.yaml"

# A kernel that is right at first is neither verified nor timed when a later call fails.
for case in 'lazy:wrong result:was never written' 'corrupt:wrong result:after 5 calls C' \
    'input:crash:the kernel may only read'; do
    IFS=: read -r name outcome reason <<< "$case"
    "$(dirname "$0")/../miscompile.sh" make "$name" "$dir/$name"
    t 1 "\"outcome\": \"$outcome\"" run "$gmm" --json -m clock --time 0.1 -c "$dir/$name/gcc" --cold
    same "$name: not verified" 1 "$(grep -c '"verified": false' <<< "$out")"
    same "$name: no time" 1 "$(grep -c '"latency_ms": null' <<< "$out")"
    same "$name: why" 1 "$(grep -c "\"reason\": \".*$reason" <<< "$out")"
    t 1 '^verified: false' run "$gmm" -m clock --time 0.1 -c "$dir/$name/gcc"
    same "$name: no latency" 0 "$(grep -c '[0-9]. best' <<< "$out")"
done
# The same name and version earlier in PATH: its objects are its own.
PATH="$dir/lazy:$PATH" t 1 'wrong result' run "$gmm" -m clock --time 0.1
t 0 '^verified: true' run "$gmm" -m clock --time 0.1

# SIGINT ends a long measurement at once, with the shell's code for it.
"$TILESCOPE" run "$gmm" --time 60 --meters clock > "$dir/int" 2>&1 &
child=$!
sleep 1
kill -INT $child
began=$SECONDS
wait $child
same 'SIGINT: exit 130' 130 $?
[ $((SECONDS - began)) -le 3 ] && pass 'SIGINT: at once' || flunk 'SIGINT: at once'

# Somebody edits the file while the kernel is being built: the edit and the numbers both stay, under
# any name of the file.
printf '#!/bin/sh\necho "# edited" >> "%s/shared.yaml"\nexec gcc "$@"\n' "$dir" > "$dir/slow-cc"
chmod +x "$dir/slow-cc"
ln -s shared.yaml "$dir/link.yaml"
for to in --save "-o $dir/./shared.yaml" "-o $dir/link.yaml"; do
    cp "$dir/s.yaml" "$dir/shared.yaml"
    rm -f "$dir"/*-2.yaml
    # shellcheck disable=SC2086
    t 2 'another program changed .*/(shared|link).yaml.*this session is in .*-2.yaml .E_CHANGED' \
        run "$dir/shared.yaml" --meters none --compiler "$dir/slow-cc" $to
    same 'the edit is still there' '# edited' "$(tail -n 1 "$dir/shared.yaml")"
    t 0 '^measured:' show "$dir"/*-2.yaml --what yaml
done
# What another file held when it began counts as well.
cp "$dir/s.yaml" "$dir/shared.yaml"
t 2 'this session is in .*/shared-2.yaml' \
    run "$gmm" --meters none --compiler "$dir/slow-cc" -o "$dir/shared.yaml"
t 0 '' run "$gmm" --meters none -o "$dir/shared.yaml"
same 'it is written over else' '' "$(grep edited "$dir/shared.yaml")"

# What cannot be written is found before anything is compiled.
printf '#!/bin/sh\ntouch "%s/compiled"\nexec gcc "$@"\n' "$dir" > "$dir/noting-cc"
chmod +x "$dir/noting-cc"
for to in "$dir/none/s.yaml" "$dir" -; do
    t 2 'E_IO' run "$gmm" --meters none --compiler "$dir/noting-cc" -o "$to"
done
same 'nothing was compiled' no "$([ -e "$dir/compiled" ] && echo yes || echo no)"

# A limit on the size of files is an error like any other; what was there stays.
for i in $(seq 500); do echo "# a long comment of a session, line $i"; done >> "$dir/s.yaml"
cp "$dir/s.yaml" "$dir/big.yaml"
"$TILESCOPE" show "$dir/big.yaml" --what yaml > "$dir/big.txt"
got=$(ulimit -f 0; "$TILESCOPE" show "$dir/big.yaml" --what yaml -o "$dir/big.yaml" 2>&1)
same 'a file that may not grow: exit 2' 2 $?
same 'and it says so' 1 "$(grep -c 'cannot write .*: File too large' <<< "$got")"
same 'the file is as it was' "$(cat "$dir/s.yaml")" "$(cat "$dir/big.yaml")"
same 'nothing is left beside it' '' "$(ls "$dir" | grep tilescope-lock)"

# The memory that is free is what the control group has left, not what it may have.
limited() {                               # MIB_IN_USE ARGS...: tilescope in a group of 400 MiB
    local used=$1
    shift
    sh -c 'echo $$ > "$0/cgroup.procs" && { head -c "$1" /dev/zero; sleep 20; } | tail -c "$1"' \
        "$group" "$((used << 20))" > "$dir/held" &
    local holder=$!
    for _ in $(seq 200); do
        [ "$(cat "$group"/memory.current "$group"/memory.usage_in_bytes 2> /dev/null)" -ge \
            $((used << 20)) ] && break
        sleep 0.05
    done
    sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$group" "$TILESCOPE" "$@" 2>&1
    xargs -r kill < "$group/cgroup.procs"
    wait "$holder"
}
group=/sys/fs/cgroup/memory/tilescope-test.$$ file=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/tilescope-test.$$ file=memory.max
if mkdir "$group" 2> /dev/null && { echo 400M > "$group/$file"; } 2> /dev/null; then
    large='gmm m=3072 k=4 n=3072'
    same 'it fits a group of its own' 1 \
        "$(limited 0 run "$large" --meters clock --time 0.01 | grep -c '^latency: ')"
    same 'too large for what is left of the group' 1 \
        "$(limited 250 run "$large" --meters clock --time 0.01 | grep -c 'too large: measuring')"
else
    pass 'a group with little memory # SKIP no control group can be made'
fi
for _ in $(seq 40); do                    # until what was killed is gone
    [ ! -d "$group" ] || rmdir "$group" 2> /dev/null || sleep 0.05
done

finish
