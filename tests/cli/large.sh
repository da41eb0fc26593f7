#!/usr/bin/env bash
# Graphs of hundreds of tensors: each nest is a kernel of its own, which compilers take in seconds.
# tests/run.sh: takes 16 s
. "$(dirname "$0")/lib.sh"
export TILESCOPE_RECORDS=$dir/records.db TILESCOPE_CFLAGS=-O0    # it is the number that counts

# A convolution and N element-wise nodes, as a session.
graph() {
    echo 'tilescope: 1'
    echo 'operator: |'
    echo '  x = input n=1 i=8 h=6 w=6'
    echo '  x0 = c2d(x) o=8 k=3'
    for i in $(seq "$1"); do echo "  x$i = relu(x$((i - 1)))"; done
}
graph 20 > "$dir/20.yaml"
graph 300 > "$dir/300.yaml"
cat > "$dir/study.yaml" <<END
study: 1
id: large
title: large
cases:
- {id: a}
variants:
- {id: plain, session: 300.yaml}
metrics:
- {id: latency, unit: ms, value: latency_ms.min}
END

t 0 '1 kernel, 1 call, 23 buffers' show "$dir/20.yaml" --what module
t 0 '301 kernels, 301 calls, 303 buffers' show "$dir/300.yaml" --what module
t 0 '  300  relu\(x299, &x300\)' show "$dir/300.yaml" --what module
t 0 'x300 +512  300 .. caller' show "$dir/300.yaml" --what module
t 0 '^void relu_300\(const float' show "$dir/300.yaml" --what c
t 0 'relu_300:' show "$dir/300.yaml" --what asm
t 0 'verified: true' run "$dir/300.yaml" --meters clock,sim,instructions --time 0.05
t 0 'B  20.yaml .* faster' bench "$dir/300.yaml" "$dir/20.yaml" --time 0.05
t 0 'plain +0\.' study "$dir/study.yaml"
finish
