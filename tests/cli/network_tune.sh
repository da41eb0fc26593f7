#!/usr/bin/env bash
# Searches of networks: kernels with an algorithm, variants of alt.fig10, the same line again.
# tests/run.sh: long, takes 60 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export TILESCOPE_RECORDS=$dir/records.db

# Of a kernel with an algorithm, tune tries the experts' schedules: here its loops were forgotten.
cat > "$dir/wino.yaml" <<'Y'
tilescope: 1
operator: |
  x = input n=1 i=32 h=28 w=28
  a = c2d(x) o=32 k=3 p=1
  b = c2d(a) o=32 k=3 p=1
kernels:
- operator: c2d n=1 i=32 h=28 w=28 o=32 k=3 p=1
  steps:
  - algorithm Conv winograd m=4
  - layout set Inp "N H W I"
  - layout set Conv "N H W O"
Y
t 0 '^ +2 .* [0-9]{2,}\.[0-9]+x +16 +[0-9]+ +c2d' tune "$dir/wino.yaml" --budget 40 \
    -o "$dir/wino-2.yaml" --quiet
same 'with loops' 1 "$(grep -c 'loop cache_write Conv_wino' "$dir/wino-2.yaml")"

# A worse schedule of a kernel with an algorithm than the experts' goes, also in a short search.
cat > "$dir/spoiled.yaml" <<'Y'
tilescope: 1
operator: |
  x = input n=1 i=64 h=28 w=28
  a = c2d(x) o=64 k=3 p=1
  b = c2d(a) o=8 k=1
kernels:
  - operator: c2d n=1 i=64 h=28 w=28 o=64 k=3 p=1
    steps: [algorithm Conv winograd m=2]
Y
t 0 '^verified: true' tune "$dir/spoiled.yaml" --time 1 --experts 2 -o "$dir/mended.yaml"
same 'the end names the file' 1 "$(grep -c '^wrote .*/mended.yaml: the network with' <<< "$out")"
same 'no time is negative' 0 "$(grep -cE -- '-[0-9]+ s left' <<< "$out")"
same 'factors say of what' 0 "$(grep -cE 'x so far|[0-9]x\)' <<< "$out")"
same 'the spoiled schedule is gone' 0 "$(grep -c 'winograd m=2' "$dir/mended.yaml")"

# The same line again measures nothing again: the rounds go the same way.
measured() { "$TILESCOPE" records --json 2> /dev/null | grep -o '"records": [0-9]*' | tr '\n' ' '; }
cat > "$dir/small.yaml" <<'Y'
tilescope: 1
operator: |
  x = input n=1 i=6 h=8 w=8
  a = c2d(x) o=5 k=3 p=1
  b = c2d(a) o=3 k=1
kernels: []
Y
for variant in packed loops; do
    line=(tune "$dir/small.yaml" --variant $variant --budget 16 --experts 2 -o "$dir/$variant.yaml")
    t 0 'network .* ms before, .* ms after' "${line[@]}"
    first=$(measured)
    t 0 'verified: true' "${line[@]}"
    if [ -n "$first" ] && [ "$(measured)" = "$first" ]; then
        pass "$variant: nothing is measured again"
    else
        flunk "$variant: nothing is measured again ($first, then $(measured))"
    fi
done
# With --fresh, the stage that searches layouts along the graph measures again, too.
line=(tune "$dir/small.yaml" --variant alt --budget 16 --experts 2)
t 0 'verified: true' "${line[@]}"
first=$(measured)
t 0 'verified: true' "${line[@]}" --fresh
if [ "$(measured)" != "$first" ]; then
    pass 'alt: --fresh measures again'
else
    flunk "alt: --fresh measures again ($first, and no more)"
fi
t 0 'verified: true' run "$dir/loops.yaml" -m none

# Where no kernel has a loop space, more time does not help.
cat > "$dir/fixed.yaml" <<'Y'
tilescope: 1
operator: |
  x = input m=8 k=8
  a = softmax(x) axis=1
  b = softmax(a) axis=0
kernels: []
Y
t 0 '^100 % of the time is in kernels that were not searched$' tune "$dir/fixed.yaml" --time 2
same 'the time is not blamed' 0 "$(grep -c 'nothing was searched' <<< "$out")"

# A kernel without a loop space gets the experts' schedule if that is faster.
cat > "$dir/slow.yaml" <<'Y'
tilescope: 1
operator: |
  x = input m=64 k=512
  a = relu(x)
  b = softmax(a) axis=1
kernels:
  - operator: X = input d0=64 d1=512; Softmax = softmax(X) axis=1
    steps: [set autovectorize off]
Y
t 0 "softmax 64x512 axis=1 \\(the experts' schedule is faster, and is taken\\)\$" \
    tune "$dir/slow.yaml" --time 2
finish
