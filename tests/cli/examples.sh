#!/usr/bin/env bash
# Every shipped session runs and computes what its operator says.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null

for file in sessions/examples/*.yaml; do
    t 0 '^verified: true' run "$file" --meters clock --time 0.05 --threads 2
    t 0 '^ *for ' show "$file"
done
[ $n -gt 0 ] || flunk 'there are examples'

# The network: run, shown and exported, on the numbers of another program.
net=sessions/examples/resnet8
t 0 '^expected: +outputs are off by at most' run $net.onnx --inputs $net.npz --expect $net.npz \
    --time 0.05
t 0 '^void ts_entry\(' show $net.onnx --what c
t 2 'a network becomes a folder' export $net.onnx
t 2 'are for networks' export "$gmm" --threads 2
t 0 "make -C $dir/net check" export $net.onnx --inputs $net.npz -o "$dir/net"
same 'the library is right' 1 "$(make -C "$dir/net" check 2>&1 | grep -c '^resnet8: right')"
echo all: > "$dir/net/Makefile"
t 2 'not part of an exported library' export $net.onnx -o "$dir/net"
same 'my Makefile' all: "$(cat "$dir/net/Makefile")"
t 1 'expected' export $net.onnx --expect $net.npz -o "$dir/wrong"
same 'nothing is exported that is wrong' '' "$(ls "$dir/wrong")"
finish
