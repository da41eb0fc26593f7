#!/usr/bin/env bash
# show, export, help and the lists.
# tests/run.sh: takes 15 s
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
conv='c2d n=1 i=4 h=8 w=8 o=32 k=3 p=1 bias=1 relu=1'
cat > "$dir/tiled.steps" <<'S'
# channels in tiles of 16
layout set Conv "N O/16 H W 16o"
branch fast
loop reorder Conv I KH KW O.1
loop vectorize Conv O.1
measure
S

t 0 '^ *for ' show "$conv"
t 0 'o\.1 in vectorize\(16\)' show "$conv" --steps "$dir/tiled.steps"
t 0 'o\.1 in range\(16\)|o\.1 in range|o\.1' show "$conv" --steps "$dir/tiled.steps" --step 1
t 2 'E_' show "$conv" --steps "$dir/tiled.steps" --branch fast
t 0 'Conv\[' show "$conv" --steps "$dir/tiled.steps" --what access
t 0 'Ker' show "$conv" --steps "$dir/tiled.steps" --what layout
t 0 '16' show "$conv" --steps "$dir/tiled.steps" --what layout --tensor Conv
t 0 'void ' show "$conv" --steps "$dir/tiled.steps" --what c
t 0 '^operator: c2d ' show "$conv" --steps "$dir/tiled.steps" --what yaml
t 0 '^branch fast \(current\)' show "$conv" --steps "$dir/tiled.steps" --what steps
t 0 '>  3  loop vectorize Conv O.1' show "$conv" --steps "$dir/tiled.steps" --what steps
t 0 '^O.1 of Conv: step [0-9]+ .* made O.1; .*step 3 .* set O.1 to vectorize' \
    show "$conv" --steps "$dir/tiled.steps" --what blame
t 0 'h_t      Conv +8  +8  of 1 2 4 8' show "$conv" --steps "$dir/tiled.steps" --what space
echo 'loop fuse Conv H W' > "$dir/fused.steps"
t 0 '^loops: loop H_W is not part of a single loop of the plain nest \(fuse\)' \
    show "$conv" --steps "$dir/fused.steps" --what space
t 0 '"step": "fuse"' show "$conv" --steps "$dir/fused.steps" --what space --json
echo 'layout set Conv "N W H O"' > "$dir/laid.steps"
t 0 '^layouts: Inp(_in)? is stored N I H W, which no factors of its template give \(layout\)' \
    show "$conv" --steps "$dir/laid.steps" --what space
t 0 '"kind": "spatial"' show "$conv" --what space --json
t 0 'parallel +6' show "$conv" --what space --threads 2
norm='x = input m=2 n=8; w = const n=8; m = reduce_mean(x) axes=1 keep=1; d = sub(x, m)'
norm+='; q = mul(d, d); v = reduce_mean(q) axes=1 keep=1; s = sqrt(v); n = div(d, s); y = mul(n, w)'
t 0 '^# layernorm +2 ' show "$norm" --what simplified
t 0 '^y = layernorm\(x, w\) axis=1 eps=0$' show "$norm" --what simplified
t 0 '^# statements: 1, before 7$' show "$norm" --what simplified
t 0 '^c2d n=1 .* relu=1$' show "$conv" --what simplified
t 2 'no layout template' show 'softmax m=4 n=4' --what space
t 2 'json goes with' show "$conv" --what nest --json
t 2 'cache goes with' show "$conv" --what nest --cache 4K/4/64
lens=(show 'gmm m=16 k=64 n=64' --what lens --cache 4K/4/64)
t 0 'line [0-9]+ and B line [0-9]+ share set' "${lens[@]}"
# If the machine was measured meanwhile, a time comes before the misses.
COLUMNS=200 t 0 '^ +loop reorder C K M N .*misses 67.7k to 3865' "${lens[@]}"
t 0 'Load B.k..n. has 65.5k of the 67.7k misses in L1, nearly all of them capacity' "${lens[@]}"
t 0 '^  loop reorder C K.0 M N K.1$' "${lens[@]}"
t 0 '"step": "loop split C K 8.nloop reorder C K.0 M N K.1"' "${lens[@]}" --json
t 0 '"step": "layout pad B N after=16"' "${lens[@]}" --json
cat > "$dir/tile.steps" << 'S'
loop split Conv W 7 4
loop split Conv O 8 16
loop reorder Conv N H W.0 O.0 I KH KW W.1 O.1
loop cache_write Conv at=O.0
loop unroll Conv W.1
loop vectorize Conv O.1
S
# A loop that moves an access by half a line and, every 8 iterations, by 16 KB.
echo 'layout set B "K/8 N 8k"' > "$dir/few.steps"
t 0 'B.k / 8..n..k % 8. moves by 16 384 bytes every 8 iterations of K: 32 such moves use 1 of 64' \
    show 'gmm m=512 k=256 n=512' --steps "$dir/few.steps" --what lens --cache 32K/8/64
lens=(show 'c2d n=1 i=128 h=28 w=28 o=128 k=3 p=1' --steps "$dir/tile.steps" --what lens)
COLUMNS=200 t 0 'but the tile leaves the registers: usually slower' "${lens[@]}"
t 0 '"tile": "leaves"' "${lens[@]}" --json
if command -v objdump > /dev/null; then
    t 0 'ret' show "$gmm" --what asm
fi

# A network, as a document and on the screen.
net='x = input m=8 k=8; a = gmm(x) n=8; b = softmax(a) axis=1; c = gmm(b) n=8; y = softmax(c) axis=1
'
t 0 '^network: +[0-9]+ kernels, [0-9]+ calls, ' show "$net" --what network
t 0 '^ +2 +0.0.* gmm m=8 k=8 n=8 .* > ' show "$net" --what network
t 2 'this is one operator, and not a network' show "$gmm" --what network
t 0 '^▸ +2 +0.0.* gmm m=8' snapshot "$net" --view network
t 0 'softmax' snapshot "$net" --view graph
t 2 'this session cannot open as a network' snapshot "$gmm" --view network
t 2 'there is no such view' snapshot "$gmm" --view nets
t 2 'a picture is written as .svg' snapshot "$gmm" -o "$dir/a.png"
t 2 'a picture is written as .svg' show "$gmm" -o "$dir/a.pdf"
t 2 'expected columns and rows' snapshot "$gmm" --size 80
t 0 'void ' snapshot "$gmm" --view C --size 100x60
t 0 'Start on an operator' snapshot
t 0 '' snapshot "$gmm" --view layout --size 100x30 -o "$dir/screen.svg"
t 0 '' show "$gmm" -o "$dir/nest.svg"
t 0 '' show "$gmm" --what yaml -o "$dir/yaml.svg"
for f in screen nest yaml; do
    same "$f.svg is a picture" 1 "$(grep -c '^</svg>' "$dir/$f.svg")"
done
t 0 '' show "$gmm" -o "$dir/nest.txt"
same 'another ending is text' 0 "$(grep -c svg "$dir/nest.txt")"
same 'a picture has its size' 30 "$("$TILESCOPE" snapshot "$gmm" --size 90x30 | wc -l)"

# --source types lines on the screen before it is drawn, and waits for what each starts.
printf '# tiles\nbranch tiled\n:loop split C M 2 12\n\nmeasure\ncompare main\n' \
    > "$dir/screen.lines"
t 0 'time B / A: [0-9.]+ ' snapshot "$gmm" --source "$dir/screen.lines" --size 100x60
t 0 'L1 A +L1 B +change' snapshot "$gmm" --source "$dir/screen.lines" --size 100x60
t 0 'ended +4 of 4, budget spent' snapshot "$gmm" --source - --size 100x30 \
    <<< $'tune budget=4\nview tune'
t 2 'tune budget=x: expected a whole number' snapshot "$gmm" --source - <<< 'tune budget=x'
t 2 '^<stdin>:2:14: error: C has no loop Q' snapshot "$gmm" --source - <<< $'\nloop split C Q 8'
printf 'a\0b' > "$dir/nul.lines"
t 2 'contains NUL bytes, so it is not a text file' snapshot "$gmm" --source "$dir/nul.lines"

# Same text again: nothing depends on addresses, time or the order of a hash table.
for what in nest access layout c steps yaml space; do
    same "twice the same: $what" \
        "$("$TILESCOPE" show "$conv" --steps "$dir/tiled.steps" --what $what 2>&1)" \
        "$("$TILESCOPE" show "$conv" --steps "$dir/tiled.steps" --what $what 2>&1)"
done

# The session that a script makes is the script: written and read back, it shows the same nest.
"$TILESCOPE" show "$conv" --steps "$dir/tiled.steps" --what yaml > "$dir/tiled.yaml"
same 'a session keeps its steps' \
    "$("$TILESCOPE" show "$conv" --steps "$dir/tiled.steps" 2>&1)" \
    "$("$TILESCOPE" show "$dir/tiled.yaml" 2>&1)"
t 0 'vectorize' show - < "$dir/tiled.yaml"

# The C compiles without a word by any flags, and says those that it is for.
t 0 '^ \* For (avx512|avx2|sse|neon|plain) \([0-9]+ lanes?\), compiled with' show "$gmm" --what c
t 0 '^ \* For plain \(1 lane\), compiled with' show "$gmm" --what c --isa plain
t 0 '-march=x86-64 kernel.c' export "$gmm" --isa plain
t 2 'no instruction set named .avx3' show "$gmm" --what asm --isa avx3
t 2 'isa goes with --what c' show "$gmm" --what nest --isa plain
"$TILESCOPE" show "$conv" --steps "$dir/tiled.steps" --what c > "$dir/shown.c"
for cc in gcc clang; do
    command -v $cc > /dev/null || continue
    same "no warning by $cc -O2" '' \
        "$($cc -O2 -Wall -Wextra -c "$dir/shown.c" -o "$dir/shown.o" 2>&1)"
done

# The function is called after the operator, not after the maximum that a softmax begins with.
# The iterations of a long parallel loop are taken in turns, those of a short one are dealt out.
long='loop split C M 64 8
loop parallel C M.0'
t 0 'parallel for schedule\(dynamic, 1\)$' \
    show 'gmm m=512 k=256 n=256' --what c --threads 2 --steps - <<< "$long"
# However many there are, so that many threads have equal shares.
t 0 'parallel for schedule\(dynamic, 3\)$' show 'gmm m=1024 k=256 n=512' --what c --threads 64 \
    --steps - <<< 'loop parallel C M'
t 0 'parallel for schedule\(dynamic, 500000\) collapse' \
    show 'x = input a=1048576 b=1048576; y = relu(x)' --what c --threads 2 \
    --steps - <<< $'loop parallel y a\nloop parallel y b'
t 0 'parallel for schedule\(static\)$' \
    show 'gmm m=512 k=16 n=256' --what c --threads 2 --steps - <<< "$long"
t 0 'parallel for schedule\(dynamic, 3\) collapse\(2\)$' \
    show 'gmm m=512 k=256 n=256' --what c --threads 2 \
    --steps - <<< "loop split C M 64 8
loop split C N 4 64
loop reorder C M.0 N.0 M.1 N.1 K
loop parallel C M.0
loop parallel C N.0"
t 0 '^void softmax\(' show 'softmax m=6 n=20' --what c
t 0 '^void ln\(' show 'ln m=6 n=20' --what c
t 0 '^void gelu\(' show 'act c=7 f=gelu' --what c

# The exported file stands alone.
t 0 'kernel.c' export "$conv" --steps "$dir/tiled.steps" -o "$dir/kernel.c"
t 0 'int main' export "$conv" --steps "$dir/tiled.steps"
if cc -O2 -march=native -Wall -Werror "$dir/kernel.c" -o "$dir/kernel" -lm 2> "$dir/cc"; then
    same 'the exported kernel checks itself' 0 "$("$dir/kernel" > "$dir/said" 2>&1; echo $?)"
    same 'and says so' 1 "$(grep -c 'ok' "$dir/said")"
else
    flunk 'the exported file compiles without warnings' "$(head -n 12 "$dir/cc")"
fi
# Lanes that are gathered: a list with commas must not fall apart in a macro.
printf 'layout set y "N C W H"\nloop vectorize y H\n' > "$dir/gather.steps"
turned='x = input n=2 c=3 h=16 w=16; y = relu(x)'
"$TILESCOPE" export "$turned" --steps "$dir/gather.steps" > "$dir/gather.c"
same 'gathered lanes compile' '' \
    "$(cc -O2 -Wall -Wextra -Werror "$dir/gather.c" -o "$dir/gather" -lm 2>&1)"
same 'and are right' 1 "$("$dir/gather" | grep -c 'ok$')"
# A load where the other branch is a value: the macro for loads has the value's type.
pool='maxpool n=1 c=64 h=12 w=12 k=3 p=1'
"$TILESCOPE" expert "$pool" > "$dir/pool.steps"
"$TILESCOPE" export "$pool" --steps "$dir/pool.steps" > "$dir/pool.c"
same 'selected loads compile' '' \
    "$(cc -O2 -Wall -Wextra -Werror "$dir/pool.c" -o "$dir/pool" -lm 2>&1)"
same 'and are right' 1 "$("$dir/pool" | grep -c 'ok$')"
# Names that are macros of C's headers.
named=$(printf 'NAN = input eof=16 c=64\nEOF = relu(NAN)')
"$TILESCOPE" export "$named" > "$dir/named.c"
same 'names of macros compile' '' \
    "$(cc -O2 -Wall -Wextra -Werror "$dir/named.c" -o "$dir/named" -lm 2>&1)"
same 'and run' 1 "$("$dir/named" | grep -c 'ok$')"
# The line that export says is the one in the file, which is for the file's folder; and it works.
said=$("$TILESCOPE" export "$conv" --steps "$dir/tiled.steps" -o "$dir/said.c" | tail -n 1)
same 'the line is in the file' "$(echo "$said" | sed "s| $dir/said.c| said.c|; s|$dir/|./|g")" \
    "$(grep -m 1 -F " said.c -o ./said" "$dir/said.c" | cut -c 8-)"
same 'the line works' 1 "$(sh -c "$said" 2>&1 | grep -c 'ok$')"
if cc -std=c99 -O2 -Wall -Werror -pedantic "$dir/said.c" -o "$dir/c99" -lm > "$dir/cc" 2>&1; then
    same 'C99 and no vector unit: not a word' '' "$(cat "$dir/cc")"
else
    flunk 'C99 compiles it' "$(head -n 12 "$dir/cc")"
fi
"$TILESCOPE" export 'gmm m=2 k=2 n=2' > "$dir/tiny.c" && cc -O2 "$dir/tiny.c" -o "$dir/tiny" -lm
same 'tiny kernels take some ns' 1 "$("$dir/tiny" | grep -cE '^min 0?[.0-9]*[1-9][0-9.]* ns')"
same 'a device is a file' "$(cat "$dir/tiny.c" | wc -l)" \
    "$("$TILESCOPE" export 'gmm m=2 k=2 n=2' -o /dev/stdout | cat | wc -l)"
t 2 'E_IO' export "$conv" -o "$dir/none/kernel.c"

for topic in steps layouts loops sessions json keys meters gmm c2d; do
    t 0 '..' help $topic
    same "help $topic fits 80 columns" '' "$("$TILESCOPE" help $topic | grep -E '^.{81,}')"
done
# What the help shows can be typed.
while read -r notation; do
    tensor=Conv
    [[ $notation == *I* ]] && tensor=Inp
    t 0 'for' show 'c2d i=64 h=66 w=66 o=64 k=3' --steps - <<< "layout set $tensor $notation"
done < <("$TILESCOPE" help layouts | grep -oE '^  "[^"]+"')
"$TILESCOPE" help layouts | sed -nE 's/^  (layout (unfold|pad|reset|fuse) [^ ]+( [^ ]+)*).*/\1/p' \
    > "$dir/help.steps"
t 0 'for' show 'c2d i=64 h=66 w=66 o=64 k=3' --steps "$dir/help.steps"

# README names the topics that there are.
readme=$(dirname "$0")/../../README.md
same 'the topics in README' \
    "$("$TILESCOPE" help | sed -n '/^topics /,/^$/s/^  \([a-z]*\) .*/\1/p' | sort)" \
    "$(sed -n '/^`tilescope help` lists the topics/,/^$/p' "$readme" | tr -d '\n' \
       | sed 's/^`tilescope help`//; s/and one *per.*//' | grep -oE '`[a-z]+`' | tr -d '`' | sort)"
t 0 'layout split' help steps
t 0 'undo' help steps
t 0 'measure_all' help steps
# 12 pixels and 3 of the 4 weights are in registers, for each of the 3 taps: also for the last one,
# which does without the last pixel, but must not lose it.
steps='set input_layout given
layout set Inp_in "N H W I"
layout set Ker "O/8 KH KW I 8o"
layout set Conv "N H W O"
loop inline Inp
loop split Conv W 1 12
loop split Conv O 1 8
loop split Conv I 2 4
loop reorder Conv O.0 N H W.0 KH KW I.0 W.1 I.1 O.1
loop cache_write Conv at=W.0
loop unroll Conv W.1
loop unroll Conv I.1
loop vectorize Conv O.1'
t 0 'acc11' show 'c2d i=8 h=7 w=12 o=8 k=3 p=1' --steps - --what c --isa avx2 <<< "$steps"
same 'weights read again' '10 11 10' "$(awk '/for .long i_0/ { taps++ } /= again/ { n[taps]++ }
    END { print n[1], n[2], n[3] }' <<< "$out")"
norm='x = input n=1 c=4 h=3 w=3; c = c2d(x) o=4 k=3; s = const c=4; y = batchnorm(c, s, s, s, s)'
t 0 '^\* y +batchnorm\(c, s\) +N H W O  \(from c\) +16 B  its own( |$)' show "$norm" --steps - \
    --what graph <<< 'layout set c "N H W O"'
same 'none are conversions' '0 conversions, variant alt' "$(tail -n 1 <<< "$out")"
# What the session has measured, as the view profile has it; else what to do.
t 0 '^ *ReLU +0 +50.2k +50.2k' show tests/golden/views/session.yaml --what profile
t 0 '^latency: +946 .s best' show tests/golden/views/session.yaml --what profile
t 0 '"l1_misses": 190021' show tests/golden/views/session.yaml --what profile --json
t 0 '^$' show tests/golden/views/session.yaml --what profile -o "$dir/profile.svg"
same 'a picture' 1 "$(grep -c 'Where in the code' "$dir/profile.svg")"
t 2 'tilescope run FILE.yaml --save' show "$gmm" --what profile
t 0 '^1 conversion, variant alt$' show "$gmm" --steps - --what graph <<< 'layout set A "M/4 K 4m"'

t 0 '^gmm ' ops
t 0 '^      parameters \[n\] i w o k s=1 p=0 \[pw0\] .*act=none type=f32$' ops
t 0 '"gmm"' ops --json
t 0 '^clock ' meters
t 0 '^perf ' meters
t 0 '"perf"' meters --json
finish
