#!/usr/bin/env bash
# Every shipped session runs and computes what its operator says.
# tests/run.sh: takes 20 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null

for file in sessions/examples/*.yaml; do
    t 0 '^verified: true' run "$file" --meters clock --time 0.05 --threads 2
    t 0 '^ *for ' show "$file"
done
[ $n -gt 0 ] || flunk 'there are examples'

# The command that it prints compiles and runs the file, whatever its name.
t 0 'compile and run it with' export "$gmm" -o "$dir/kernel"
same 'a file without .c' 1 "$(bash -c "$(tail -n 1 <<< "$out")" 2>&1 | grep -c 'ok')"

mkdir "$dir/my tools"
printf '#!/bin/sh\nexec gcc "$@"\n' > "$dir/my tools/cc"
chmod +x "$dir/my tools/cc"
t 0 'compile and run it with' export "$gmm" -o "$dir/other.c" --compiler "$dir/my tools/cc"
same 'a compiler with a blank in its path' 1 \
    "$(bash -c "$(tail -n 1 <<< "$out")" 2>&1 | grep -c 'ok')"

# The network: run, shown and exported, on the numbers of another program.
net=sessions/examples/resnet8
t 0 '^expected: +outputs are off by at most' run $net.onnx --inputs $net.npz --expect $net.npz \
    --time 0.05
t 0 '^void ts_entry\(' show $net.onnx --what c
t 2 'a network becomes a folder' export $net.onnx
t 2 'threads of export is only for networks' export "$gmm" --threads 2
t 0 "make -C $dir/net check" export $net.onnx --inputs $net.npz -o "$dir/net"
same 'the library is right' 1 "$(make -C "$dir/net" check 2>&1 | grep -c '^resnet8: right')"
# A session of the network is exported with the schedules that it has chosen.
"$TILESCOPE" import $net.onnx -o "$dir/chosen.yaml"
printf 'kernels:\n- operator: gmm m=1 k=64 n=10 bias=1\n  steps:\n  - loop split C K 4 16\n' \
    >> "$dir/chosen.yaml"
t 0 "make -C '$dir/my lib' check" export "$dir/chosen.yaml" -o "$dir/my lib"
same 'with the chosen steps' 1 "$(grep -c 'loop split C K 4 16' "$dir/my lib/chosen_kernels.c")"
same 'and right' 1 "$(make -C "$dir/my lib" CFLAGS=-O0 check 2>&1 | grep -c '^chosen: right')"
echo all: > "$dir/net/Makefile"
t 2 'not part of an exported library' export $net.onnx -o "$dir/net"
same 'my Makefile' all: "$(cat "$dir/net/Makefile")"
t 1 'expected' export $net.onnx --expect $net.npz -o "$dir/wrong"
if [ -e "$dir/wrong" ]; then
    flunk 'nothing is exported that is wrong'
else
    pass 'nothing is exported that is wrong'
fi
mkdir "$dir/mine"
t 1 'expected' export $net.onnx --expect $net.npz -o "$dir/mine"
same 'my empty folder stays' mine "$(cd "$dir" && ls -d mine)"
finish
