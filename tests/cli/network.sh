#!/usr/bin/env bash
# Networks: run against their author's numbers, tuned, killed, continued, saved.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/records.db
model=sessions/examples/resnet8.onnx data=sessions/examples/resnet8.npz

t 0 'verified: true, every kernel' run "$model" -m none --inputs "$data" --expect "$data"
t 0 'expected: ' run "$model" -m none --inputs "$data" --expect "$data"
t 0 '"of_bound": 0' run "$model" -m none --inputs "$data" --expect "$data" --json
t 1 'is expected' run "$model" -m none --expect "$data"      # other inputs, other outputs
t 1 'without --inputs the inputs are random' run "$model" -m none --expect "$data"
t 3 'tilescope run times a network' bench "$model" 'gmm m=8 k=8 n=8'
t 0 '' import "$model" -o "$dir/model.yaml"
printf "kernels:\n- operator: gmm m=7 k=7 n=7\n  steps: []\n" >> "$dir/model.yaml"
t 0 'expected: ' run "$dir/model.yaml" -m none --inputs "$data" --expect "$data"
t 0 'the network has no kernel gmm m=7' run "$dir/model.yaml" -m none
t 2 'expected FILE.npz' run "$model" -m none --inputs "$model"
t 2 'nothing.npz' run "$model" -m none --inputs "$dir/nothing.npz"
printf 'PK\3\4 this is no archive' > "$dir/broken.npz"
t 2 'broken.npz' run "$model" -m none --inputs "$dir/broken.npz"

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
t 0 'gmm+softmax+gmm' run "$graph" -m none -s "$dir/join"
t 0 '^module join b s' show "$graph" --what module -s "$dir/join"
t 0 '' show "$graph" --what yaml -s "$dir/join" -o "$dir/joined.yaml"
t 0 'steps: *module join b s; module join s y' run "$dir/joined.yaml" -m none
t 0 '^module:' show "$dir/joined.yaml" --what yaml
sed -i 's/module join s y/module join y s/' "$dir/joined.yaml"
t 2 'joined.yaml:[0-9]*:[0-9]*: error: module join y s' run "$dir/joined.yaml"

# Several products are a network, unless they have steps or are asked what one program has.
t 0 'network: ' run 'x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8' -m none
t 0 'L1 ' run 'x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8' -m sim
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
if [ "$(build_of)" -ge "$before" ] && [ "$before" -gt 0 ]; then
    pass 'the records of the killed search are there'
else
    flunk "the records of the killed search are there ($before before)"
fi
t 0 'network: .* kernel' run "$tuned" -m none

# A network whose kernels all have the expert's schedule is one as well.
sed -e '/^- operator: gmm/,$d' -e 's/^kernels:/kernels: []/' "$dir/net.yaml" > "$dir/none.yaml"
t 0 'network: .* kernel' run "$dir/none.yaml" -m none
finish
