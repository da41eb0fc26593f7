#!/usr/bin/env bash
# The form of `make gpu-check`: what is skipped without a GPU, and the whole report with a driver,
# NVRTC, CUPTI and cuBLAS that are fakes (tests/fake).
. "$(dirname "$0")/lib.sh"

cat > "$dir/cases" << 'X'
# comment
= gmm m=16 n=16 k=8
loop bind C M block.x
loop bind C N thread.x
= gmm m=16 n=16 k=8
loop bind C N block.x
X
check() { env CASES="$dir/cases" BUDGET=4 "$@" \
    tests/bench/gpu_check.sh "$BUILD" "$dir/report.md" 2>&1; }
has() { if grep -qE -e "$2" <<< "$out"; then pass "$1"; else flunk "$1" "$out"; fi; }

none=/nowhere/lib.so
out=$(check TILESCOPE_CUDA=$none TILESCOPE_CUPTI=$none TILESCOPE_CUBLAS=$none TILESCOPE_CUDNN=$none)
same 'a kernel that cannot be made is a failure' 1 $?
has 'the head says what is missing' '^ +driver +no '
has 'a kernel is checked by its twin' \
    'k=8 \(1\) \| true \| \(skipped: the CUDA driver cannot be loaded'
has 'a refused step shows' 'k=8 \(2\) \| no \|.*loop M around it is not bound'
has 'CUPTI is skipped' '\(1\) \| sectors \| [0-9]+ \| \(skipped: .*\) \| -'
has 'the end sums up' 'A KERNEL FAILED'
same 'the report is what was printed' "$out" "$(cat "$dir/report.md")"

for f in cuda nvrtc cupti cublas; do
    gcc -std=gnu17 -w -O1 -I. -shared -fPIC -o "$dir/$f.so" "tests/fake/$f.c" -lm || flunk "fake $f"
done
export TILESCOPE_CUDA=$dir/cuda.so TILESCOPE_NVRTC=$dir/nvrtc.so TILESCOPE_CUPTI=$dir/cupti.so
export TILESCOPE_CUBLAS=$dir/cublas.so
sed -i '/^loop bind C N block.x/s/N/M/' "$dir/cases"
out=$(check TILESCOPE_CUDNN=$none)
same 'all is well' 0 $?
has 'the head names the device' 'Fake GPU 1, sm_90, 4 multiprocessors'
has 'the device was used' 'k=8 \(1\) \| true \| Fake GPU 1 \| [0-9.e-]+ \| [0-9.e-]+ \|'
has 'sectors are compared' '\(1\) \| sectors \| [1-9][0-9]* \| [1-9][0-9]* \| [0-9.]+ \|'
has 'misses are compared' '\(1\) \| L1 misses \| [1-9][0-9]* \| [1-9][0-9]* \|'
has 'cuBLAS stands beside it' '\(1\) \| cublas \| [0-9.e-]+ \| [0-9.]+ \| cuBLAS 13.12.11 f32'
has 'the end is good' 'no kernel failed'
out=$(check LIMIT=-1)
has 'time is kept' 'left out: -1 s are over'
out=$(check FAKE_CUDA='cuLaunchKernel wrong')
same 'a wrong kernel is a failure' 1 $?
has 'it is named' 'k=8 \(1\) \| (false|no) \|'
finish
