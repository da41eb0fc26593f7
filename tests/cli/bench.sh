#!/usr/bin/env bash
# bench: sessions against each other.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
quick=(--time 0.02)
cat > "$dir/tiled.yaml" <<'S'
tilescope: 1
operator: gmm m=24 k=16 n=32
steps:
- loop reorder C M K N
- loop vectorize C N
S

t 0 '^B  tiled.yaml +[0-9.]+ [mun]s ' bench "$gmm" "$dir/tiled.yaml" "${quick[@]}"
t 0 '^A  gmm m=24 k=16 n=32 +[0-9.]+ [mun]s ' bench "$gmm" "$gmm" "${quick[@]}"
verdict='(faster|slower|no difference|undecided|the same code)'
same 'the first has no verdict' 0 "$(grep -cE "^A .*$verdict" <<< "$out")"
same 'the second has one' 1 "$(grep -cE '^B .*  the same code$' <<< "$out")"
t 0 '^[0-9]+ rounds in [0-9]+ epochs, 2 threads' bench "$gmm" "$gmm" "${quick[@]}" --threads 2
t 0 '^Single calls with cold caches' bench "$gmm" "$gmm" "${quick[@]}" --cold
t 0 '^note: [0-9.]+ of the [0-9.]+ MiB of the buffers are in huge pages' \
    bench "$gmm" "$gmm" "${quick[@]}" --huge-pages
t 0 'note: B is another operator than A \(0.02458 and 0.008192 MFLOP\), so .* of one operator$' \
    bench 'gmm m=16 k=16 n=16' "$gmm" "${quick[@]}"
t 0 '^B .* faster' bench 'gmm m=128 k=128 n=128' 'gmm m=4 k=4 n=4' "${quick[@]}"
same 'a small ratio has digits' 0 "$(grep -c ' 0\.000 ' <<< "$out")"
t 0 '' bench "$gmm" "$dir/tiled.yaml" "${quick[@]}" \
    --assert 'contenders.A.verified && contenders.B.ratio.low <= contenders.B.ratio.value'
t 1 'assertion failed: contenders.B.ratio.high < 0' bench "$gmm" "$gmm" "${quick[@]}" \
    --assert 'contenders.B.ratio.high < 0'
t 0 '"verdict": "' bench "$gmm" "$gmm" "${quick[@]}" --json
t 1 '^A .* timeout: the kernel did not end within 0.02 s' \
    bench 'gmm m=900 k=900 n=900' "$gmm" "$gmm" --limit 0.02 "${quick[@]}"
same 'the others are timed' 1 "$(grep -cE "^C .*$verdict" <<< "$out")"

# places: FILE#BRANCH@STEP
cat > "$dir/two.yaml" <<'S'
tilescope: 1
operator: gmm m=24 k=16 n=32
branch: main
branches:
  main: {steps: [loop reorder C M K N, loop vectorize C N]}
  plain: {steps: []}
S
t 0 '^B  two.yaml#plain ' bench "$dir/two.yaml" "$dir/two.yaml#plain" "${quick[@]}"
t 0 '^A  two.yaml@1 ' bench "$dir/two.yaml@1" "$dir/two.yaml#main@2" "${quick[@]}"
t 0 'vectorize' show "$dir/two.yaml#main"
same 'FILE@STEP is shown' 1 "$("$TILESCOPE" show "$dir/two.yaml@1" | grep -c vectorize)"    # zeros
t 0 'branch plain, step 0' run "$dir/two.yaml#plain" --meters none
t 2 'there is no branch "plan".*' bench "$dir/two.yaml#plan" "$gmm"
t 2 'did you mean "plain"' show "$dir/two.yaml#plan"
t 2 'branch plain has no step 3' show "$dir/two.yaml#plain@3"
t 2 'behind @ stands the number of a step, not "x"' show "$dir/two.yaml@x"
t 2 'the branch is given twice' show "$dir/two.yaml#main" --branch plain
cat > "$dir/given.txt" <<'S'
set input_layout given
layout set A "K M"
S
"$TILESCOPE" show "$gmm" --steps "$dir/given.txt" --what yaml -o "$dir/given.yaml"
t 0 'note: B has another contract than A: A arrives as KM instead of MK' \
    bench "$gmm" "$dir/given.yaml" "${quick[@]}"

# each step left out
t 0 '^  2 .*loop vectorize C N' bench "$dir/tiled.yaml" --ablate "${quick[@]}"
t 0 '"without": \[' bench "$dir/two.yaml@1" --ablate --json "${quick[@]}"
same 'one object per step' 1 "$(grep -c '"step":' <<< "$out")"
t 1 'assertion failed: without.0.ratio.high < 0' bench "$dir/tiled.yaml" --ablate "${quick[@]}" \
    --assert 'without.0.ratio.high < 0'
t 0 '^branch main .current.: A KM -> C MN' show "$dir/given.yaml" -w steps
t 2 'there is no step to leave out' bench "$gmm" --ablate
t 2 '--ablate takes one session' bench "$gmm" "$gmm" --ablate

# two states side by side
t 0 '^nest: differs in [0-9]+ place' show --what compare "$dir/two.yaml#plain" "$dir/two.yaml"
t 0 '^Misses \(simulated\) +L1 A +L1 B +change' show -w compare "$dir/two.yaml@1" "$dir/two.yaml"
t 0 '^The assembly is the same' show -w compare "$gmm" "$dir/two.yaml#plain" --of asm
t 0 '"differences": 0' show -w compare "$gmm" "$dir/two.yaml#plain" --of c --json
t 0 '^B has another contract than A: A arrives as KM' show -w compare "$gmm" "$dir/given.yaml"
t 0 '' show -w compare "$gmm" "$dir/two.yaml" -o "$dir/compare.svg"
same 'a picture of it' 1 "$(grep -c '^</svg>' "$dir/compare.svg")"
t 2 'a picture is written as .svg' show -w compare "$gmm" "$gmm" -o "$dir/compare.png"
t 2 '--what compare takes two sessions' show -w compare "$gmm"
t 2 '--what compare takes no --step: name each state as FILE#BRANCH@STEP' \
    show -w compare "$gmm" "$gmm" --step 0
t 2 'expected nest, c or asm' show -w compare "$gmm" "$gmm" --of d
t 2 '--of goes with --what compare' show "$gmm" --of c

t 2 'compares 2 to 6 contenders, but there is 1' bench "$gmm"
t 2 'but there are 7' bench "$gmm" "$gmm" "$gmm" "$gmm" "$gmm" "$gmm" "$gmm"
t 2 'error: ' bench "$gmm" /nonexistent.yaml
t 2 'error: ' bench "$gmm" "$gmm" --assert 'contenders.B.ratio <'
t 0 'in shuffled rounds' bench --help
t 0 '^noisy:|^latency:' run "$gmm" "${quick[@]}" --cold --meters clock
same 'cold calls are told' 1 "$(grep -cE '^cold: .* single calls, ' <<< "$out")"
t 0 '^latency: .* 64 threads' \
    run "$gmm" "${quick[@]}" --meters clock --threads 64
net=sessions/examples/resnet8.onnx
t 0 '^B  resnet8.onnx +[0-9.]+ [mun]s .* [01]\.[0-9]+ \([01]' bench "$net" "$net" "${quick[@]}"
t 0 '^[0-9]+ rounds, 1 thread' bench "$net" "$net" "${quick[@]}"
t 0 '' bench "$net" "$net" "${quick[@]}" --assert 'contenders.B.ratio.high > 0'
# the same model by another path, and a session of a graph that `run` opens as a network
"$TILESCOPE" import "$net" -o "$dir/imported.yaml"
t 0 '^B  imported.yaml .* [01]\.[0-9]+ \([01]' bench "$PWD/$net" "$dir/imported.yaml" "${quick[@]}"
same 'it is the same network' 0 "$(grep -c 'another network' <<< "$out")"
t 0 '^network: +13 kernels' show "$dir/imported.yaml"
t 2 'resnet8.onnx is a network, and gmm m=24 k=16 n=32 is a single kernel' bench "$net" "$gmm"
t 2 'compare networks with each other; --kernel K' bench "$gmm" "$net"
peer='echo ready; while read a s; do sleep 0.002; echo times 1e-6; done'
t 0 '^B  fast +1.0 ns .* faster$' \
    bench "$net" --against "fast: $peer" "${quick[@]}"
t 0 'what other programs compute is not checked here' bench "$net" --against "$peer" "${quick[@]}"
t 0 '' bench "$net" --against "slow: ${peer/1e-6/1e6}" "${quick[@]}" \
    --assert 'contenders.B.ratio.low > 1' --assert 'contenders.B.latency_ms.min == 1e6'
t 1 '^B  sh +crash: it ended with exit code 3: no such model' \
    bench "$net" --against "sh: echo no such model; exit 3" "${quick[@]}"
t 1 '"command": " exit 3",' bench "$net" --against 'x: exit 3' --json "${quick[@]}"
t 2 '--against: gmm m=24 k=16 n=32 is a single kernel' bench "$gmm" --against 'true'
t 2 '--against: no command' bench "$net" --against 'x: '
t 2 "fix: --against 'ort: python3 serve.py" bench "$net" --against ''
for n in 1 2; do
    against=(--against 'a: x' --against 'b: y')
    t 2 '--against needs a network to compare with' bench "${against[@]:0:2*n}"
    t 2 'fix: tilescope bench MODEL.onnx --against' bench "${against[@]:0:2*n}"
done
t 2 '--against and --kernel exclude each other' bench "$net" --kernel 3 --against 'x: y'
t 2 'only whole networks are compared' bench "$net" --kernel 3 --against 'x: y'
t 2 '--against and --ablate exclude each other' bench "$gmm" --ablate --against 'x: y'
t 2 '--ablate: a network has no steps' bench "$net" --ablate
t 2 '--cold: cold caches are for one kernel' bench "$net" "$net" --cold
finish
