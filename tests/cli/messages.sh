#!/usr/bin/env bash
# What is refused before anything is measured: the sentence and its fix, both as a whole.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/records.db XDG_STATE_HOME=$dir/state
net='x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8'

# m TEXT FIX ARGS...: refused with this sentence and this fix, whose lines end with them.
m() {
    local text=$1 fix=$2 rc
    shift 2
    out=$("$TILESCOPE" "$@" 2>&1)
    rc=$?
    if [ $rc = 2 ] && grep -qF -e "$text" <<< "$out" \
        && { [ -z "$fix" ] || grep -qxF -e "  fix: $fix" <<< "$out"; }; then
        pass "refused: $*"
    else
        flunk "says $text / $fix: tilescope $*" "exit $rc, and it said:"$'\n'"$out"
    fi
}

# run
m 'error: --cache needs the meter sim or cachegrind, but --meters none leaves it out [E_SYNTAX]' \
    '--meters sim' run "$gmm" --meters none --cache zen3
m 'error: --sim-detail needs the meter sim, but --meters clock leaves it out [' \
    '--meters clock,sim' run "$gmm" --meters clock --sim-detail
m 'error: --sim-budget needs the meter sim, but --meters clock leaves it out [' \
    '--meters clock,sim' run "$gmm" --meters clock --sim-budget 1e4
m 'error: --cold needs the meter clock, but --meters sim leaves it out [' '--meters sim,clock' \
    run "$gmm" --meters sim --cold
m 'error: --baselines needs the meter clock, but --meters sim leaves it out [' \
    '--meters sim,clock' run "$gmm" --meters sim --baselines onednn
m 'error: --events needs an event set here: --events l1, --events sw,papi-sw [' \
    'tilescope meters --events explains the sets there are' run "$gmm" --events
m 'error: --sim-budget 0.5: expected a number from 1 to 1e+15 [E_RANGE]' '' \
    run "$gmm" --sim-budget 0.5
m 'error: --limit 0.009: expected a number from 0.01 to 86400 [E_RANGE]' '' run "$gmm" --limit 0.009

# tune, expert
m 'error: -o -: a session can only be written to a file [E_IO]' '' tune "$gmm" -o -
m 'error: -o: the name has 606 bytes; at most ' '' \
    tune "$gmm" -o "$(printf './%.0s' {1..300})x.yaml"
m 'error: --fresh and --resume exclude each other: one starts again, the other continues [' \
    'leave out one of the two' tune "$gmm" --fresh --resume
m 'error: --weights is only for the agents of ppo; strategy sa has none [' \
    'use --strategy ppo, or leave --weights out' tune "$gmm" --strategy sa --weights "$dir/none"
m 'error: --objective fast: expected measured or simulated [' '' tune "$gmm" --objective fast
m 'error: --gpu names a GPU to simulate, but without --objective simulated the candidates are' \
    '--objective simulated --gpu h200' tune "$gmm" --gpu h200
m 'error: --objective simulated is for a GPU: ' \
    'leave it out, and candidates are timed; or --target cuda' tune "$gmm" --objective simulated
m 'error: --levels is for the layout templates of CPUs [' '' \
    tune "$gmm" --target cuda --objective simulated --levels 2
m 'error: --variant is for networks, and this is one operator [' \
    '--loop-only leaves its layouts as they are' tune "$gmm" --variant ol
m 'error: networks are tuned for CPUs, not for a GPU [' '--kernel K tunes one kernel of it alone' \
    tune "$net" --target cuda
m 'error: networks are tuned for CPUs, not for a GPU [' '--kernel K tunes one kernel of it alone' \
    tune "$net" --objective simulated
m 'error: --pin "loop parallel C M": a loop step cannot be pinned [' \
    'use `layout`, `all-layouts`, or a layout, set or algorithm step' \
    tune "$gmm" --pin 'loop parallel C M'
m 'error: the layouts of the session are fixed, but "layout set A "K M"" is not one of its steps' \
    'apply it to the session first, or pin it without --loop-only and all-layouts' \
    tune "$gmm" --loop-only --pin 'layout set A "K M"'
m 'error: the layouts of the session are fixed, but "layout set A "K M"" is not one of its steps' \
    '' tune "$gmm" --pin all-layouts --pin 'layout set A "K M"'
m 'error: --gpu: the schedule is for a CPU [' '--target cuda --gpu h200' expert "$gmm" --gpu h200
m 'error: --search 65: expected a whole number from 1 to 64 [' '' expert "$gmm" --search 65

# study
m 'error: which study? one name or file [' 'tilescope study --help' study
m 'error: which study? one name or file [' 'tilescope study --help' study alt.table3 alt.table2
m 'error: --meters none: a study needs at least one meter [' '' study alt.table3 --meters none
m 'error: --scale 1.5: expected a number from 1e-06 to 1 [' '' study alt.table3 --scale 1.5
m 'error: --seed 0: expected a whole number from 1 to ' '' study alt.table3 --seed 0
m 'error: --budget: study alt.table3 has no variant that is tuned [' '' \
    study alt.table3 --budget 5
fix='leave --resume out to start the study, or name another report: --resume REPORT.json'
m 'error: there is nothing to resume: ' "$fix" study alt.table3 --resume
printf 'study: 1\nid: a\ntitle: b\ncases:\n- {id: c, model: d.onnx, operator: %s}\n%s\n' "'$gmm'" \
    'variants: [{id: v}]' > "$dir/both.yaml"
m '`model` and `operator` exclude each other: every case of a study is a network, or none [' '' \
    study "$dir/both.yaml"

# records
fix='TASK, --failed, --outcome, --before, --run, --machine, --threads, --isa, or --keep 100:'
m 'error: prune needs a filter: without one it would delete every record of this machine [' \
    "$fix all but the 100 fastest of each task" records prune
m "error: records has no command 'quux' [" \
    'use list, show, best, runs, export, import, merge, prune, check or aside' records quux
m 'error: --keep 0: expected a whole number from 1 to 2147483647 [' '' records prune --keep 0
m 'error: --count -1: expected a whole number from 0 to 2147483647 [' '' records runs -n -1

# show, snapshot, bench, help
m 'error: --of d: expected nest, c or asm [' '' show -w compare "$gmm" "$gmm" --of d
m 'error: this step of the session was not measured [' \
    '`tilescope run FILE.yaml --save` measures it and keeps the numbers' show "$gmm" -w profile
for option in branch step steps tensor threads cache; do
    m "error: --what compare takes no --$option: name each state as FILE#BRANCH@STEP [" \
        'tilescope show --help' show -w compare "$gmm" "$gmm" --$option 1
done
for ending in png pdf jpg jpeg gif eps ps; do
    m "error: $dir/a.$ending: a picture is written as .svg, anything else as text [" \
        "-o $dir/a.svg; rsvg-convert or inkscape makes $ending of it" \
        snapshot "$gmm" -o "$dir/a.$ending"
done
for size in 29x6 30x5 1001x6 30x1001 80x24x2 80; do
    m "error: --size $size: expected columns and rows, as in 80x24, at least 30x6 [" '' \
        snapshot --size $size
done
same 'the least size' 6 "$("$TILESCOPE" snapshot "$gmm" --size 30x6 | wc -l)"
m 'error: --ablate: a network has no steps of its own [' \
    '--ablate --kernel K takes one of its kernels' \
    bench sessions/examples/resnet8.onnx --ablate
m "error: no help on 'quux' [" 'tilescope help lists the topics' help quux

# What a session and a list of workloads cannot have.
cat > "$dir/module.yaml" << 'Y'
tilescope: 1
operator: |
  x = input m=8 k=8
  a = gmm(x) n=8
  b = gmm(a) n=8
steps:
- loop parallel a M
module:
- module join a b
Y
m 'error: a graph with steps is one program: it takes no module steps [' '' \
    run "$dir/module.yaml" -m none
printf 'pretrain: 1\nbudget: 8\nworkloads: []\n' > "$dir/none.yaml"
m 'error: workloads: there are 0; 1 to ' '' pretrain "$dir/none.yaml"
finish
