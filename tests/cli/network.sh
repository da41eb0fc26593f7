#!/usr/bin/env bash
# Networks: run against their author's numbers, tuned, killed, continued, saved.
# tests/run.sh: takes 55 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/records.db
export TILESCOPE_CFLAGS=-O0               # what is checked does not depend on gcc's work
model=sessions/examples/resnet8.onnx data=sessions/examples/resnet8.npz

t 0 'verified: true, every kernel' run "$model" -m none --inputs "$data" --expect "$data"
t 0 'expected: ' run "$model" -m none --inputs "$data" --expect "$data"
t 0 '"of_bound": 0' run "$model" -m none --inputs "$data" --expect "$data" --json
t 1 'is expected' run "$model" -m none --expect "$data"      # other inputs, other outputs
t 1 'without --inputs the inputs are random' run "$model" -m none --expect "$data"
t 2 '--gpu: networks run on the CPU' run "$model" --gpu h200
t 2 'is a network, and gmm m=8 k=8 n=8 is a single kernel' bench "$model" 'gmm m=8 k=8 n=8'
t 0 '' import "$model" -o "$dir/model.yaml"
printf "kernels:\n- operator: gmm m=7 k=7 n=7\n  steps: []\n" >> "$dir/model.yaml"
t 0 'expected: ' run "$dir/model.yaml" -m none --inputs "$data" --expect "$data"
t 0 'the network has no kernel gmm m=7' run "$dir/model.yaml" -m none
# Names that a statement cannot have are the model's again in files, libraries and sessions.
named=$dir/named
for kind in onnx npz; do
    LC_ALL=C sed 's/image/input/g; s/scores/output/g' "${model%onnx}$kind" > "$named.$kind"
done
t 0 '^  input_2: input$' import "$named.onnx"
t 0 '' import "$named.onnx" -o "$named.yaml"
printf 'kernels: []\n' >> "$named.yaml"
t 0 'outputs are off' run "$named.yaml" -m none --inputs "$named.npz" --expect "$named.npz"
t 0 'make -C' export "$named.yaml" -o "$named"
same 'names of the library' 1 "$(grep -c 'named_run(.*, const float \*input, float \*output)' \
    "$named/named.h")"
sed 's/  input_2: input/  input_9: input/' "$named.yaml" > "$dir/other.yaml"
t 2 'has no input or output input_9' run "$dir/other.yaml" -m none

t 1 'without --inputs the inputs are random' export "$model" --expect "$data" -o "$dir/lib"
t 2 'holds arrays .* and no session' run "$data"
t 2 "fix: tilescope run MODEL.onnx --inputs $data" show "$data"
t 2 'expected FILE.npz' run "$model" -m none --inputs "$model"
t 2 'nothing.npz' run "$model" -m none --inputs "$dir/nothing.npz"
printf 'PK\3\4 this is no archive' > "$dir/broken.npz"
t 2 'broken.npz' run "$model" -m none --inputs "$dir/broken.npz"

# Without a view a network is the list of its kernels.
t 0 '^calls .* kernel ' show "$model"
t 0 'simplified .*statements' show --help
t 0 '  module ' show --help

# Options that a network cannot obey are refused, and say what to do; so are those of networks only.
while read -r fix args; do
    # shellcheck disable=SC2086 # several words
    t 2 "fix: .*$fix" $args
done << END
--kernel.K.--step run $model --step 0
--kernel.K run $model --branch main
--kernel.K.--baselines run $model --baselines
--kernel.K.--sim-detail run $model --sim-detail
--kernel.K.--cold run $model --cold
leave.it.out run $model --huge-pages
--json run $model --save
--kernel.K.--step show $model --step 1
--kernel.K.--what.asm show $model --what asm
--kernel.K.--what.space show $model --what space
--kernel.K.--what.roofline show $model --what roofline
--kernel.K.--step export $model --step 1 -o $dir/none
--kernel.K.--pin tune $model --pin layout
--kernel.K.--baselines tune $model --baselines
--kernel.K expert $model
END
t 0 'verified: true' run "$model" --check --baselines none
t 0 '"latency_ms": null' run "$model" --check --json
t 2 '.-inputs of run is only for networks' run "$gmm" --inputs "$data"
t 2 '.-expect of run is only for networks' run "$model" -k 0 --expect "$data"

# One kernel: by its number, its text, in brief, or by a tensor that it computes.
t 0 '^c2d n=1 i=3 h=32 w=32 o=16 k=3 p=1 bias=1 relu=1$' run "$model" -k 0 -m none
t 0 '^c2d n=1 i=3 ' run "$model" --kernel stem_relu -m none
t 0 '^operator: c2d n=1 i=3 ' show "$model" --what yaml \
    -k 'c2d n=1 i=3 h=32 w=32 o=16 k=3 p=1 bias=1 relu=1'
t 0 '^title: .resnet8.onnx: c2d\+add\+relu 16x32' show "$model" --what yaml \
    -k 'c2d+add+relu 16x32x32 o=16 k=3 p=1 bias=1'
t 0 '^ *for ' show "$model" -k 0
t 0 '^B .* 1\.' bench "$model" "$model" -k 2 --time 0.02
t 0 '^# c2d n=1 i=3' expert "$model" -k 0
t 0 'compile and run it' export "$model" -k 0 -o "$dir/kernel.c"
t 2 'has kernels 0 to [0-9]+, and none is called 99' run "$model" -k 99
t 2 'is no network' run "$gmm" -k 0
t 2 'none of the sessions is a network' bench "$gmm" "$gmm" -k 0
t 0 '^title: gmm m=8 k=8 n=4$' show 'x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=4' -k b \
    --what yaml
t 0 '^trials: +4 of 4' tune "$model" -k stem_relu --budget 4 --experts 2 -o "$dir/stem.yaml"
t 0 '^c2d n=1 i=3 ' run "$dir/stem.yaml" -m none
t 2 'would replace the network' tune "$dir/model.yaml" -k 0 --budget 4 -o "$dir/model.yaml"

# The profile: bytes, roofline bounds and misses of each kernel, and their sums.
cache=${XDG_CACHE_HOME-}
export COLUMNS=110 XDG_CACHE_HOME=$dir/cache      # where kernels are, but no roofs are known yet
mkdir -p "$dir/cache/tilescope"
[ ! -d "$cache/tilescope/objects" ] || ln -s "$cache/tilescope/objects" "$dir/cache/tilescope"
t 0 '^calls +sum ms +share +GFLOP/s +peak +MiB +# +kernel' run "$model" --time 0.02
t 0 '^bound: +unknown; tilescope machine' run "$model" --time 0.02
t 0 '"bound_ms": null' run "$model" --time 0.02 --json
[[ $out =~ \"noisy\":\ (true|false) && $out =~ \"load\":\ [0-9] ]] && pass 'noise and load' \
    || flunk 'noise and load'
"$TILESCOPE" machine --measure --time 0.05 > /dev/null 2>&1
t 0 '^bound: +[0-9.]+ .s, the sum of .* takes [0-9.]+ times that' run "$model" --time 0.02
t 0 '^calls +sum ms +share +GFLOP/s +of bound +bound ms +MiB +# +kernel' run "$model" --time 0.02
t 0 '^calls +MFLOP +share +bound ms +MiB +# +kernel' show "$model"
t 0 '^calls .* L1 miss +# ' run "$model" -m clock,sim --sim-budget 1e4 --time 0.02
t 0 '^sim: +[0-9 ]+ L1 misses of all calls' run "$model" -m sim --sim-budget 1e4
t 0 '^perf-sw: +(task_clock|not available: )' run "$model" -m clock,perf-sw --time 0.02
t 0 '^sim: .* L1 misses' run "$model" --cache 32K/8/64 --sim-budget 1e4 --time 0.02
t 0 '"bound_by": "(FMA|L[123]|DRAM)"' run "$model" -m sim --sim-budget 1e4 --json
t 0 '"l1_misses": [1-9]' run "$model" -m sim --sim-budget 1e4 --json
same 'one kernel has the misses that it has in the network' \
    "$("$TILESCOPE" run "$model" -m sim --sim-budget 1e4 --json | sed -n '/"sim"/,/l1_misses/p' \
        | grep -m1 l1_misses)" \
    "$("$TILESCOPE" run "$model" -k 0 -m sim --sim-budget 1e4 --json | grep -m1 l1_misses \
        | sed 's/^/    /')"
for columns in 80 100; do
    wide=$(COLUMNS=$columns "$TILESCOPE" run "$model" -m clock,sim --sim-budget 1e4 --time 0.02 \
        | wc -L)
    same "fits $columns columns: $wide" 1 $((wide <= columns))
done
t 0 'saved the network; its measurements are not in the file' \
    run "$model" -m none -o "$dir/kept.yaml"
t 0 '^verified: true, every kernel' run "$dir/kept.yaml" -m none
same 'it is a network' 1 "$(grep -c '^kernels: \[\]' "$dir/kept.yaml")"
t 0 '1e-5, plus 1e-3' help networks
export COLUMNS=1000 XDG_CACHE_HOME=$cache
if command -v python3 > /dev/null; then
    table=$(python3 tests/bench/networks.py "$TILESCOPE" "$model" --time 0.2 2> /dev/null)
    row='^resnet8 .* [0-9]+% +1 +[0-9.]+ +1\.[0-9]+ +[0-9.]+ +[0-9.]+$'
    same 'the table of make bench-networks' 1 "$(grep -cE "$row" <<< "$table")"
fi

# The steps of a kernel in a session must fit it.  Equal kernels have one schedule.
cat > "$dir/net.yaml" <<'Y'
tilescope: 1
operator: |
  x = input m=32 k=64
  a = gmm(x) n=64
  b = gmm(a) n=64
kernels:
- operator: gmm m=32 k=64 n=64
  steps:
  - loop vectorize C Q
Y
t 2 'net.yaml:9:22' run "$dir/net.yaml"
sed -i 's/vectorize C Q/parallel C M/' "$dir/net.yaml"
t 0 'verified: true' run "$dir/net.yaml" -m none

# Steps of the network itself: by --steps and in the file, refused with their place.
graph='x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8; s = softmax(b) axis=1; y = gmm(s) n=8'
t 0 ' softmax 8x8' run "$graph" -m none
printf 'module cut c\n' > "$dir/cut"
t 2 'cut:1:1: error: module cut c: the network has no tensor c' run "$graph" -m none -s "$dir/cut"
printf 'module join b s\nmodule join s y\n' > "$dir/join"
t 0 'verified: true, every kernel and the whole' run "$graph" -m none -s "$dir/join"
t 0 'gmm.softmax.gmm' run "$graph" -m none -s "$dir/join"
t 0 '^module join b s' show "$graph" --what module -s "$dir/join"
t 0 '' show "$graph" --what yaml -s "$dir/join" -o "$dir/joined.yaml"
t 0 'steps: *module join b s; module join s y' run "$dir/joined.yaml" -m none
t 0 '^module:' show "$dir/joined.yaml" --what yaml
sed -i 's/module join s y/module join y s/' "$dir/joined.yaml"
t 2 'joined.yaml:[0-9]*:[0-9]*: error: module join y s' run "$dir/joined.yaml"

graph='x = input m=8 k=8; a = softmax(x) axis=1; b = exp(a); c = softmax(b) axis=0'
t 0 'module cut a' show "$graph" --what module -s <(echo 'module cut a')

# Several products are a network, unless they have steps or are asked what one program has.
t 0 'network: ' run 'x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8' -m none
t 0 'L1 ' run 'x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8' -m sim
t 0 '^int main' export 'x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8'
t 0 'loop parallel a M' show 'x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8' --what steps \
    -s <(echo 'loop parallel a M')
t 0 'session: ' run 'x = input m=8 k=8; a = gmm(x) n=8; b = relu(a); c = exp(b)' -m none

# A search that is killed leaves what it measured in the records, and the same line goes on.
tuned=$dir/tuned.yaml
build_of() { "$TILESCOPE" records 2> /dev/null | wc -l; }
"$TILESCOPE" tune "$dir/net.yaml" --time 20 --experts 2 -o "$tuned" > "$dir/first.txt" \
    2>&1 &
pid=$!
for _ in $(seq 300); do
    [ -s "$dir/records.db" ] \
        && "$TILESCOPE" records --json 2> /dev/null | grep -q '"records": [1-9]' && break
    sleep 0.1
done
kill -9 $pid 2> /dev/null
wait $pid 2> /dev/null
before=$(build_of)
t 0 'network .* ms before, .* ms after' tune "$dir/net.yaml" --time 4 --experts 2 -o "$tuned"
same 'kernels are called as in run' 1 "$(grep -cE ' [01]  gmm m=32 k=64 n=64' <<< "$out")"
if [ "$(build_of)" -ge "$before" ] && [ "$before" -gt 0 ]; then
    pass 'the records of the killed search are there'
else
    flunk "the records of the killed search are there ($before before)"
fi
t 0 'network: .* kernel' run "$tuned" -m none
t 2 'no variant "nhwc"' tune "$dir/net.yaml" --variant nhwc
t 2 'variant is for networks' tune 'gmm m=8 k=8 n=8' --variant ol

# A network whose kernels all have the expert's schedule is one as well.
sed -e '/^- operator: gmm/,$d' -e 's/^kernels:/kernels: []/' "$dir/net.yaml" > "$dir/none.yaml"
t 0 'network: .* kernel' run "$dir/none.yaml" -m none
finish
