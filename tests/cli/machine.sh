#!/usr/bin/env bash
# The machine model: measured once, kept, measured again when the file is no good or on request.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
export XDG_CACHE_HOME=$dir/cache
file=$dir/cache/tilescope/machine.json

t 0 '^FMA, GFLOP/s' machine --time 0.02
first=$(cat "$file")
t 0 '"bandwidth_gb_s": \[' machine --json
t 0 '^  plain ' machine
# With it, the lens predicts times, of one thread.
lens=(show 'gmm m=64 k=64 n=512' --what lens)
t 0 'time about -[0-9]+ %' "${lens[@]}"
t 0 'time about -[0-9]+ %' "${lens[@]}" -j 1
t 0 'misses' "${lens[@]}" -j 2
same 'no time of two threads' 0 "$(grep -c 'time about' <<< "$out")"
t 0 '^  DRAM, copy ' machine
t 0 '^  L1 .* [0-9]+ KiB a core$' machine
t 0 '^  DRAM .* [0-9]+ MiB a core$' machine
same 'later calls measure nothing' "$first" "$(cat "$file")"
# What a terminal shows: nothing is left of the progress.
if command -v script > /dev/null; then
    shown=$(script -qc "'$TILESCOPE' machine --measure --time 0.02" /dev/null < /dev/null)
    same 'progress is shown, and goes again' "measuring $(sed -n 1p <<< "$out")" \
        "$(grep -oE measuring <<< "$shown" | sort -u) $(tr -d '\033' <<< "$shown" \
            | sed -n '1{s/\r$//; s/.*\r\[K//; p}')"
fi
sed -i '/"load_all_cores": {/,/}/s/"best": [^,]*/"best": 0.001/' "$file"
if [ "$(nproc)" -gt 1 ]; then
    t 0 '^doubtful: +the machine model of .*: [0-9]+ cores together slower than one \(.*L1' \
        run "$gmm" --time 0.02
    t 0 '"model_doubts": "[0-9]+ cores together' run "$gmm" --time 0.02 --json
    t 0 '^doubtful: [0-9]+ cores together slower than one \(.*L1.*--measure' machine
    t 0 '"doubts": "[0-9]+ cores together slower than one \(.*L1' machine --json
    same 'a doubtful model, either' yes "$(grep -q '"best": 0.001' "$file" && echo yes)"
    t 0 '^FMA, GFLOP/s' machine --measure --time 0.02
    same 'higher roofs replace the lower ones of a doubtful model' '' \
        "$(grep '"best": 0.001,' "$file")"
fi
echo '{"format": 1' > "$file"
t 0 'GB/s' machine --time 0.02
same 'a damaged file is replaced' '{' "$(head -n 1 "$file")"
sed -i 's/"date": "[^"]*"/"date": "2026-01-01T00:00:00Z"/
    0,/"best": [^,]*/s//"best": 99999/' "$file"
t 0 '^These roofs stay as they were on 2026-01-01T00:00:00Z.* found' machine --measure --time 0.02
same 'measured again' 0 "$(grep -c '"date": "2026-01-01T00:00:00Z"' "$file")"
same 'a higher roof stays' 1 "$(grep -c '"best": 99999' "$file")"
t 0 ' 99999\.0 \(' machine
same 'nothing is left beside the file' 'machine.json objects' "$(ls "$dir/cache/tilescope" | xargs)"

# The roofline of a session: a number in the JSON, a plot, an SVG; without a model the reason.
t 0 '"bound_by": "(FMA|L[123]|DRAM)"' run "$gmm" --json --time 0.02
t 0 '^roofline: +[0-9.]+ GFLOP/s at ' run "$gmm" --time 0.02
t 0 'gmm' run "$gmm" --time 0.02 --assert 'roofline.intensity > 0 && roofline.bound_gflops > 0'
t 2 'no step of this branch has a measured time' show "$gmm" --what roofline
t 0 '' run "$gmm" --time 0.02 -o "$dir/timed.yaml"
t 0 'FLOP/byte GFLOP/s' show "$dir/timed.yaml" --what roofline
t 0 '^ +[0-9]*\| GFLOP/s' show "$dir/timed.yaml" --what roofline --no-unicode
t 0 '' show "$dir/timed.yaml" --what roofline -o "$dir/r.svg"
same 'an SVG' 1 "$(grep -c '^</svg>' "$dir/r.svg")"
t 0 '' show "$dir/timed.yaml" --what roofline -o "$dir/r.txt"
same 'a text' 1 "$(grep -c 'FLOP/byte GFLOP/s' "$dir/r.txt")"
t 0 '' show "$dir/timed.yaml" --what roofline -o "$dir/r.png"
same 'a PNG' PNG "$(head -c 4 "$dir/r.png" | tail -c 3)"
t 0 '' show "$dir/timed.yaml" --what roofline -o "$dir/r.gp"
same 'a script that draws the same' '' "$(gnuplot -d "$dir/r.gp" | diff - "$dir/r.svg")"
t 2 'r.pdf: a roofline is written as .svg or .png \(a picture\), .gp' \
    show "$dir/timed.yaml" --what roofline -o "$dir/r.pdf"
same 'no PDF with text in it' no "$([ -e "$dir/r.pdf" ] && echo yes || echo no)"
undrawn=$(PATH=/nonexistent "$TILESCOPE" show "$dir/timed.yaml" --what roofline \
    -o "$dir/r2.svg" 2>&1)
same 'without gnuplot' "3: error: gnuplot is not installed, so no chart can be drawn [E_ENV]
  fix: apt-get install gnuplot-nox" "$?: $undrawn"
PATH=/nonexistent "$TILESCOPE" show "$dir/timed.yaml" --what roofline -o "$dir/r2.gp"
same 'its script does not need it' '' "$(diff "$dir/r2.gp" "$dir/r.gp")"
rm "$file"
t 0 '"reason": "no machine model: tilescope machine measures it"' run "$gmm" --json --time 0.02
t 3 'fix: tilescope machine' show "$dir/timed.yaml" --what roofline
finish
