#!/usr/bin/env bash
# Schedules for a GPU on the command line: what other targets and `export` say of them.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 1

cat > gpu.steps << 'S'
loop split C M 4 8
loop split C N 4 8
loop split C K 4 8
loop reorder C M.0 N.0 M.1 N.1 K.0 K.1
loop bind C M.0 block.y
loop bind C N.0 block.x
loop bind C M.1 thread.y
loop bind C N.1 thread.x
loop cache_write C at=N.1
loop cache_read C A at=K.0 scope=shared
S
op='gmm m=32 k=32 n=32'
t 0 '' run "$op" --steps gpu.steps --meters none -o gpu.yaml

# The schedule and the instruction set do not fit: nothing is measured, and it is wrong usage.
t 2 'gpu.yaml cannot be built for target plain: A_tile lies in shared memory' \
    run gpu.yaml --isa plain
t 2 'fix: leave out --isa or --target, or use --target cuda' run gpu.yaml --isa plain
t 2 'gpu.yaml cannot be built for target plain' bench gpu.yaml "$op" --isa plain --time 500

# The lens is of a CPU's caches.
t 2 'the lens shows the L1 of a CPU, and this kernel is for a GPU' show gpu.yaml --what lens
t 2 'fix: run SESSION --meters sim' show gpu.yaml --what lens
t 2 'the lens shows the L1 of a CPU' show "$op" --what lens --target cuda

# Names of places are whole.
t 0 '^ +shared ld ' run gpu.yaml --meters sim
same 'nothing is cut' 0 "$(grep -c '…' <<< "$out")"

# Export: CUDA C, where the name asks for it.
t 2 'this schedule is for a GPU, and a C file runs on a CPU' export gpu.yaml -o kernel.c
t 2 'fix: a name that ends in .cu gets its CUDA C' export gpu.yaml
same 'nothing was written' '' "$(ls kernel.c 2> /dev/null)"
t 0 'compile it with' export gpu.yaml -o kernel.cu
t 0 "nvcc -c 'my kernel.cu'" export gpu.yaml -o 'my kernel.cu'
t 2 'cpu.cu: this schedule is for a CPU, and a .cu file has CUDA C' export "$op" -o cpu.cu
t 2 'fix: use a name that ends in .c, or take a GPU schedule from expert --target cuda' \
    export "$op" -o cpu.cu
same 'no CUDA C was written' '' "$(ls cpu.cu 2> /dev/null)"
same 'it is the CUDA C of show' "$("$TILESCOPE" show gpu.yaml --what cuda)" "$(cat kernel.cu)"
# The bytes of shared memory are one number: of the tiles, in the launches and by NVRTC.
if grep -q '^/\* NVRTC' kernel.cu; then
    same 'one number of shared memory' \
        "$(grep -oE '[0-9]+ of 49152 bytes of shared' kernel.cu | cut -d' ' -f1)" \
        "$(grep -oE '[0-9]+ of shared memory; occupancy' kernel.cu | cut -d' ' -f1)"
else
    pass 'one number of shared memory # SKIP no NVRTC'
fi
# More than a kernel may declare: the launch asks for it, and the occupancy counts it.
large='gmm m=2 k=256 n=128'
printf '%s\n' 'loop bind C M block.x' 'loop cache_read C B at=M scope=shared' > large.steps
t 0 'B_tile = shared.256..128.  # 131072 bytes of shared memory, dynamic' \
    show "$large" --steps large.steps --what nest
t 0 'shared: +131072 bytes of a block, dynamic' run "$large" --steps large.steps --meters sim
t 0 '"shared_bytes": 131072' run "$large" --steps large.steps --meters sim --json
t 0 'extern __shared__ __align__\(16\) unsigned char shared\[\]' \
    show "$large" --steps large.steps --what cuda
if grep -q '^/\* NVRTC' <<< "$out"; then
    t 0 '131072 of shared memory; occupancy 2 %' show "$large" --steps large.steps --what cuda
else
    pass 'dynamic memory in the occupancy # SKIP no NVRTC'
fi
# The expert's first choice here has registers that spill; another one is taken.
t 0 '' expert 't3d n=1 i=64 depth=8 h=14 w=14 o=64 k=3 s=2 p=1' --target cuda -o spill.yaml
t 0 '' show spill.yaml --what cuda
if grep -q '^/\* NVRTC' <<< "$out"; then
    same 'nothing spills' ' 0 bytes of stack' "$(grep -oE ' [0-9]+ bytes of stack' <<< "$out")"
else
    pass 'nothing spills # SKIP no NVRTC'
fi
# A study of such schedules: verified and simulated.  Times need a GPU.
cat > threads.yaml <<'S'
study: 1
id: threads
title: threads along rows or columns
operator: gmm m=64 k=16 n=64
cases: [{id: square}]
variants:
- {id: columns, steps: [loop bind C M block.x, loop bind C N thread.x]}
- {id: rows, steps: [loop reorder C N M K, loop bind C N block.x, loop bind C M thread.x]}
metrics:
- {id: sectors, value: counters.sim.sectors, base: columns}
- {id: latency, value: latency_ms.min}
findings:
- {text: columns take fewer sectors, each: columns.sectors < rows.sectors}
measure: {meters: "clock,sim"}
S
t 0 'holds in all measured cases \(1 of 1\)' study threads.yaml
grep -qF 'in 2 of 2 cells: "latency_ms.min" has no value: latency_ms was not' <<< "$out" \
    && pass 'the twin gives no times' || flunk 'the twin gives no times' "$out"
t 0 '^  bolt.fig8a ' studies
# Tuned variants need a GPU.  A fake one times the two above.
cat > tuned.yaml <<'S'
study: 1
id: tuned
operator: gmm m=32 k=8 n=32
cases: [{id: square}]
variants:
- {id: loops, tune: {loop_only: true, budget: 4, experts: 0}}
metrics:
- {id: latency, value: latency_ms.min}
measure: {meters: clock}
S
t 3 'there is no GPU to measure candidates on' study tuned.yaml --target cuda
t 3 'fix: run this study where a GPU is' study tuned.yaml --target cuda
for f in cuda nvrtc; do
    (cd "$BUILD/../.." && gcc -std=gnu17 -w -O1 -I. -shared -fPIC -o "$dir/$f.so" \
        "tests/fake/$f.c" -lm) || flunk "fake $f"
done
export TILESCOPE_CUDA=$dir/cuda.so TILESCOPE_NVRTC=$dir/nvrtc.so
t 0 'timing +2 cells in turns' study threads.yaml --target cuda
grep -qE '^ +rows +[0-9.e-]+$' <<< "$out" && pass 'the fake GPU times it' \
    || flunk 'the fake GPU times it' "$out"
# Its machine code, by a disassembler in PATH.
mkdir path
cat > path/nvdisasm << 'S'
#!/bin/sh
printf '%s\n' .text.kernel_0: '        /*0000*/    @P0 EXIT ;' '        /*0010*/      NOP;'
S
chmod +x path/nvdisasm
usual=$PATH
PATH=$dir/path:$PATH
t 0 '^// sm_90 by NVRTC 99.1, disassembled by nvdisasm$' show gpu.yaml --what sass
same 'one instruction' 1 "$(grep -c '^  0000    @P0 EXIT$' <<< "$out")"
t 0 '^  0000    @P0 EXIT$' show "$op" --target cuda --what sass
t 0 '' show gpu.yaml --what sass -o sass.svg
same 'a picture of it' 1 "$(grep -c 'disassembled by nvdisasm' sass.svg)"
printf '#!/bin/sh\necho it is broken; exit 1\n' > path/nvdisasm
t 3 'nvdisasm failed: it is broken' show gpu.yaml --what sass
PATH=$usual
export TILESCOPE_NVRTC=/nowhere/libnvrtc.so
t 3 'NVRTC cannot be loaded' show gpu.yaml --what sass
finish
