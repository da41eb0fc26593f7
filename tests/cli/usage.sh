#!/usr/bin/env bash
# Command lines that are wrong, and the commands that this version does not have.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null

t 2 '^usage: tilescope'
t 2 'needs a terminal' gmm m=4 k=4 n=4
t 2 'unknown parameter|no parameter|E_NAME' gmm m=4 k=4 n=4 q=1
t 0 '^tilescope [0-9]+\.[0-9]+' --version
t 0 '^tilescope [0-9]+\.[0-9]+' -V
t 0 '^usage: tilescope ' --help
for command in run show export ops meters machine studies tune expert study import records help; do
    t 0 "^usage: tilescope $command" $command --help
done
t 0 '^usage: tilescope run' help run

t 2 "no command, operator or file named 'rnu'" rnu
t 2 'fix: tilescope run' rnu
t 2 'fix: tilescope gmm' gmn m=4
t 2 'fix: tilescope c2d' c2dd m=4
t 2 'E_IO' missing.yaml
t 2 'E_IO' run missing.yaml
t 2 'E_IO' run "$dir"
t 2 'no session is given' run
t 2 'only one session can be given' run a.yaml b.yaml
t 2 'fix: tilescope bench compares' run a.yaml b.yaml
t 2 'fix: --baselines takes any of .*openblas' run a.yaml --baselines onednm
t 2 'unknown option --jsn' run "$gmm" --jsn
t 2 'fix: --json' run "$gmm" --jsn
t 2 'unknown option -z' run "$gmm" -z
t 2 'Try `tilescope run --help`' run "$gmm" --jsn
t 2 '--json takes no value' run "$gmm" --json=yes
t 2 '--threads needs a value' run "$gmm" --threads
t 2 '-o needs a value' export "$gmm" -o
t 2 'run takes no --what' run "$gmm" --what nest
t 2 'the screen takes no --json' "$gmm" --json
t 2 "ops takes no operand" ops conv
t 2 "fix: tilescope help maxpool" ops maxpool
t 2 '--threads 0: expected a whole number' run "$gmm" --threads 0
t 2 '--threads 2x: expected a whole number' run "$gmm" --threads=2x
t 2 '--seed -1: expected a whole number' run "$gmm" --seed -1
t 2 '--time soon: expected a number' run "$gmm" --time soon
t 2 '--time nan: expected a number' run "$gmm" --time nan
for v in inf -inf 0x1 1e999 1e-999 ' 1'; do
    t 2 "--time $v: expected a number" run "$gmm" --time "$v"
done
t 2 "no meter named 'clok'" run "$gmm" --meters clok
t 2 'fix: --meters clock' run "$gmm" --meters clok
t 2 'fix: any of clock,sim,perf,.*instructions.* or none' run "$gmm" --meters quartz
t 2 "no meter named ''" run "$gmm" --meters ''
t 2 '' run "$gmm" --cache 32X/8/64
t 2 '' run "$gmm" --cache 33K/7/64
t 2 '' run "$gmm" --cache ''
t 2 '--save needs a session file' run "$gmm" --save
t 2 '--what nets: expected nest' show "$gmm" --what nets
t 2 'cuda, ptx, sass' show "$gmm" --what sas
TILESCOPE_NVRTC=/nowhere t 3 'NVRTC cannot be loaded' show "$gmm" --what sass
t 2 '--tensor goes with --what layout' show "$gmm" --tensor A
t 2 '--tensor goes with --what layout' show "$gmm" --what nest --tensor A
t 2 "no tensor named 'D'" show "$gmm" --what layout --tensor D
for strategy in ppo evo sa q random exhaustive; do
    t 0 'Strategies .*evo, regularised' help $strategy
    t 0 "strategy NAME .*[ ,]*$strategy" tune --help
done
t 2 "no help on 'stpes'" help stpes
t 2 'fix: tilescope help steps' help stpes
t 2 '' run 'gmm m=4 k=4'
t 2 '' run 'gmm m=4 k=4 n=0'
t 2 '' run 'gmm m=4 k=4 n=4 n=4'
t 2 '' run 'c2d i=3 h=4 w=4 o=8 k=9'
t 2 '' run ''
t 2 '' show "$gmm" --step 1
t 2 '' show "$gmm" --step -1
t 2 '' show "$gmm" --branch other

t 2 'tune takes no --meters' tune "$gmm" --meters clock
t 2 'fix: random' tune "$gmm" --strategy rnadom
XDG_STATE_HOME=$dir/state t 2 'there is nothing to resume: .*study-alt.table3-.*json' \
    study alt.table3 --resume
printf '{"study": "x", "cells": []}' > "$dir/x.json"
t 2 'x.json is a report of x, not of alt.table3' study alt.table3 --resume "$dir/x.json"
t 2 'cannot|No such|Not a directory' study alt.table3 -o "$dir/x.json/report"
t 2 'a session can only be written to a file' tune "$gmm" -o -
t 2 'model.onnx' import model.onnx
t 2 'model.onnx' run model.onnx
t 2 'which model' import
printf 'no model' > "$dir/damaged.onnx"
t 2 'damaged.onnx is not an ONNX model' import "$dir/damaged.onnx"
t 2 'damaged.onnx is not an ONNX model' show "$dir/damaged.onnx" --what graph
t 0 '__global__' show "$gmm" --what cuda
t 0 'sim: +h200 as in its data sheet' run "$gmm" --target cuda --gpu h200
t 0 '"gpu": "h100,sms=16"' run "$gmm" --target cuda --gpu h100,sms=16 --json
t 2 'no loop is bound to blocks or threads' run "$gmm" --gpu h200
t 2 "no GPU named 'h2000' is known" run "$gmm" --target cuda --gpu h2000
t 3 'no-such-cc' run "$gmm" --compiler no-such-cc
printf '#!/bin/sh\necho "silent 1.0"\n' > "$dir/silent"
chmod +x "$dir/silent"
t 3 'succeeded but wrote no object' run "$gmm" --meters none --compiler "$dir/silent"
t 3 'GiB of memory, but only .* GiB are free' run 'gmm m=200000 k=2 n=200000' --meters none

t 0 'for' show -- "$gmm"
t 0 'for' --no-color show "$gmm" --what=nest
t 0 'for' show gmm m=24 k=16 n=32 -wnest
t 2 'E_IO' show -- --what

# A script is refused at its line and column, with a caret under the word.
printf 'layout set C "N M"\n\nloop splt C M 4\n' > "$dir/bad.steps"
t 2 "^$dir/bad.steps:3:6: error: " show "$gmm" --steps "$dir/bad.steps"
t 2 '^       \^' show "$gmm" --steps "$dir/bad.steps"
t 2 '^<stdin>:1:1: error: ' show "$gmm" --steps - <<< 'q!'
t 2 '^<stdin>:2:[0-9]+: error: .*\[E_' show "$gmm" --steps - <<< $'# fine\r\nloop split C Q 5\r'
t 2 'E_IO' show "$gmm" --steps "$dir/none.steps"
t 2 'there is no step "layuot"' show "$gmm" --steps - <<< 'layuot set C "N M"'
t 2 'fix: did you mean layout\?' show "$gmm" --steps - <<< 'layuot set C "N M"'
t 2 'fix: did you mean undo\?' show "$gmm" --steps - <<< 'udno'
t 2 '<stdin>:1:1: .*a command of the screen' show "$gmm" --steps - <<< 'threads 2'
t 2 'fix: .*--threads 2' show "$gmm" --steps - <<< 'set threads 2'
printf '# mine\n\ntilescope: 1\noperator: %s\n' "$gmm" > "$dir/session.yaml"
t 2 'is a session file' show "$gmm" --steps "$dir/session.yaml"
t 2 'fix: run it as `tilescope run .*session.yaml`' show "$gmm" --steps "$dir/session.yaml"
t 0 'for' show "$gmm" --steps <(echo 'loop parallel C M')
t 0 'for' show <(cat "$dir/session.yaml")
t 2 '--save needs a session file' run <(cat "$dir/session.yaml") --meters none --save
t 2 'NUL' show "$gmm" --steps - < <(printf 'loop\0split')
t 2 'cannot both come from standard input' run - --steps -

# A session that could not be opened again is not made.
awk 'BEGIN { while (i++ < 1001) print "loop parallel C M\nloop serial C M" }' > "$dir/many.steps"
t 2 "^$dir/many.steps:2001:1: error: a session has at most 2000 steps" \
    show "$gmm" --steps "$dir/many.steps" --what yaml
awk 'BEGIN { for (i = 0; i < 300; i++) print "branch b" i }' > "$dir/branches.steps"
t 2 "^$dir/branches.steps:256:1: error: a session has at most 256 branches" \
    show "$gmm" --steps "$dir/branches.steps" --what yaml
t 2 'fix: delete a branch' show "$gmm" --steps "$dir/branches.steps"
t 0 "" show "$gmm" --steps <(head -n 255 "$dir/branches.steps") -w yaml -o "$dir/many.yaml"
t 0 'for' show "$dir/many.yaml"

# A full disk is an error; a reader that has seen enough is not.
if [ -w /dev/full ]; then
    "$TILESCOPE" help steps > /dev/full 2> "$dir/full"
    same 'a full disk' 2 $?
fi
"$TILESCOPE" show "$gmm" --what c 2> "$dir/pipe" | head -n 1 > /dev/null
same 'a closed pipe says nothing' '' "$(cat "$dir/pipe")"
finish
