#!/usr/bin/env bash
# All of a command line is checked before any long work: nothing is measured when it is refused.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 1
exec < /dev/null
model=$OLDPWD/sessions/examples/resnet8.onnx
quick=(--time 0.02)
nothing() {
    same 'nothing was measured' 0 \
        "$(grep -cE '^(verified|latency|sim|trials|prepared):' <<< "$out")"
}

# Names in --assert.
t 2 'the result has no "latncy_ms.min"' run "$gmm" "${quick[@]}" --assert 'latncy_ms.min < 3'
nothing
t 2 'did you mean latency_ms.min' run "$gmm" "${quick[@]}" --assert 'latncy_ms.min < 3'
t 2 'the result has no "counters.sim.l1_mises"' \
    run "$gmm" --meters sim --assert 'counters.sim.l1_mises < 3'
nothing
t 0 '' run "$gmm" --meters sim --assert 'counters.sim.by_tensor.A.loads > 0' \
    --assert 'counters.sim.levels.0.misses > 0' --assert 'verified' \
    --cache zen3 --assert 'counters.sim.dram_bytes > 0'
t 2 'the result has no "counters.sim.by_tensor.X.loads"' \
    run "$gmm" --meters sim --assert 'counters.sim.by_tensor.X.loads > 0'
t 2 'the result has no "contenders.C.gflops"' \
    bench "$gmm" "$gmm" "${quick[@]}" --assert 'contenders.C.gflops > 0'
same 'nothing was timed' 0 "$(grep -c median <<< "$out")"
t 0 '' bench "$gmm" "$gmm" "${quick[@]}" --assert 'contenders.B.ratio.value > 0'
printf 'loop unroll C N\n' > one.steps
t 0 '' run "$gmm" --steps one.steps --meters none -o one.yaml
t 2 'the result has no "withot' bench --ablate one.yaml "${quick[@]}" --assert 'withot.0.step == 1'
t 0 '' bench --ablate one.yaml "${quick[@]}" --assert 'without.0.step == 1'
t 2 'the result has no "latency_ms.mean"' run "$model" --assert 'latency_ms.mean < 9'
nothing

# The file of -o: a folder that is not there, or is none.
for command in run show tune expert export snapshot; do
    t 2 'cannot write|No such file|Not a directory' $command "$gmm" -o none/there.c
    nothing
done
t 2 'No such file|cannot write' records export -o none/records.jsonl
t 2 'No such file|cannot write' import "$model" -o none/model.yaml
t 2 'No such file|cannot write' pretrain -o none/agents.weights
touch file
t 2 'Not a directory|cannot' export "$model" -o file/lib
nothing
finish
