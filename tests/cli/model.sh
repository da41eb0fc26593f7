#!/usr/bin/env bash
# ONNX models and what becomes of their constants.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
model=tests/fuzz/corpus/onnx/odd-names.onnx          # y = x / 8 + 20 weights

t 0 '^  eight = const d0=1 value=8$' import "$model"
t 0 "file=$model tensor=back%5c%5cslash hash=[0-9a-f]{16}$" import "$model"
t 0 'verified: +true' run "$model" -m none
t 0 'verified: +true' run "$model" -m none --seed 2

# A model is read once: the second reader of this pipe gets nothing.
mkfifo "$dir/once.onnx"
for ask in import 'show --what graph'; do
    { cat "$model" > "$dir/once.onnx"; : > "$dir/once.onnx"; } &
    # shellcheck disable=SC2086
    t 0 'eight' $ask "$dir/once.onnx"
    kill $! 2> /dev/null
    wait $! 2> /dev/null
done

# One with a node that cannot be computed is listed where there is no session to show.
sed s/Softmax/Softmux/g tests/fuzz/corpus/onnx/softmax.onnx > "$dir/lacks.onnx"
t 3 '^1 nodes, 1 not supported' import "$dir/lacks.onnx"
t 3 '^1 nodes, 1 not supported' "$dir/lacks.onnx"
t 0 '^1 nodes, 1 not supported' show "$dir/lacks.onnx" --what graph
t 3 'Softmux y: no statement for this operator' run "$dir/lacks.onnx"

# Open dimensions get their sizes on the command line, for every command that opens a model.
open=tests/fuzz/corpus/onnx/embedding.onnx           # ids and mask: batch x seq
t 0 'dimension 1 of ids is open; --dim seq=SIZE sets it' show "$open" --what graph
t 0 '^  ids = input d0=1 d1=3$' import "$open" --dim seq=3
t 0 '^  ids = input d0=2 d1=3$' import "$open" --dim batch=2 --dim seq=3
t 0 'ids holds int64. It is computed as float32, which is exact up to 16,777,216' \
    import "$open" --dim seq=3
t 0 'verified: +true' run "$open" --dim batch=2,seq=3 -m none
t 0 'pick\(' show "$open" --dim seq=3 --what nest
t 0 '' import tests/fuzz/corpus/onnx/open-dims.onnx --dim batch=2,seq=20 -o "$dir/open.yaml"
t 0 'verified: +true' run "$dir/open.yaml" -m none
t 2 'no open dimension "sequence"' run "$open" --dim sequence=3
t 2 'is not of the form NAME=SIZE' run "$open" --dim seq
t 2 'studies takes no --dim' studies --dim seq=3

# The session has the path from its own folder, works from any other one, and moves with the model.
mkdir -p "$dir/a/models"
cp "$model" "$dir/a/models/m.onnx"
t 0 '' import "$dir/a/models/m.onnx" -o "$dir/a/s.yaml"
same 'a relative path' 1 "$(grep -c ' file=models/m.onnx ' "$dir/a/s.yaml")"
mv "$dir/a" "$dir/b"
t 0 'verified: +true' run "$dir/b/s.yaml" -m clock --time 0.01 --save
same 'saved as it was' 1 "$(grep -c ' file=models/m.onnx ' "$dir/b/s.yaml")"
t 0 '0  \(the bare operator\) .*[nu]s$' show "$dir/b/s.yaml" --what steps
t 0 " file=$dir/b/models/m.onnx " show "$dir/b/s.yaml" --what yaml
t 0 '' show "$dir/b/s.yaml" --what yaml -o "$dir/c.yaml"
same 'and relative in a file' 1 "$(grep -c ' file=b/models/m.onnx ' "$dir/c.yaml")"

# What comes by a pipe has its paths from here.
t 0 'verified: +true' run - -m none < <("$TILESCOPE" import "$model")
t 0 'verified: +true' run <("$TILESCOPE" import "$model") -m none

# Headings are for people: no hashes.
"$TILESCOPE" run "$dir/b/s.yaml" -m none > "$dir/heading"
same 'no hash in a heading' 0 "$(grep -c 'hash=' "$dir/heading")"

# Without the model everything goes but measuring.
"$TILESCOPE" export "$dir/b/s.yaml" -o - > "$dir/with.c"
mv "$dir/b/models/m.onnx" "$dir/kept.onnx"
t 0 'for ' show "$dir/b/s.yaml"
t 0 'void ' show "$dir/b/s.yaml" --what c
t 0 'Random numbers stand in for the weights' export "$dir/b/s.yaml" -o -
t 2 'm.onnx: No such file' run "$dir/b/s.yaml" -m none
cp tests/fuzz/corpus/onnx/softmax.onnx "$dir/b/models/m.onnx"
t 2 'has no float constant' run "$dir/b/s.yaml" -m none
same 'weights are written out' 1 \
    "$(grep -c '^static const double values_.*\[20\] = {' "$dir/with.c")"
if command -v gcc > /dev/null; then
    gcc -O1 -Wall -Wextra -Werror "$dir/with.c" -o "$dir/with" -lm
    same 'and right' ok "$("$dir/with" | sed -n 's/^max rel err .*: //p')"
fi

finish
