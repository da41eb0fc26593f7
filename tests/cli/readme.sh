#!/usr/bin/env bash
# README: what it says can be typed, and the numbers that no clock made are still printed.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
exec < /dev/null
home=$(cd "$(dirname "$0")/../.." && pwd)
readme=$home/README.md
export TILESCOPE_HOME=$home

# missing WHAT OUTPUT < LINES: every line of the input, blanks aside, is one of OUTPUT.
missing() {
    local rows left=''
    rows=$(sed 's/^ *//' <<< "$2")
    while read -r line; do
        grep -qxF -e "$line" <<< "$rows" || left+="$line"$'\n'
    done
    same "$1" '' "$left"
}

# rows FROM TO: the lines of the README between these two, both left out.
rows() { sed -n "/$1/,/$2/p" "$readme" | sed '1d;$d' | sed 's/^ *//' | grep .; }

rows '^    L1 data cache misses of the block' '^ *\.\.\.$' > "$dir/table2"
same 'rows of alt.table2' 15 "$(grep -cE 'contiguous|pitch' "$dir/table2")"
missing 'alt.table2' "$("$TILESCOPE" study alt.table2 --meters sim)" \
    < <(grep -E 'contiguous|pitch' "$dir/table2")

grep -E '^ +(for n, h\.0|for o\.1 in vec|for i, kh, kw in range\(64|Conv\[n\]\[h\.0\])' "$readme" \
    | sed 's/^ *//' > "$dir/fig3"
same 'lines of ALT Fig. 3' 6 "$(grep -c . "$dir/fig3")"
missing 'ALT Fig. 3' \
    "$("$TILESCOPE" show "$home/sessions/examples/fig3-overlapped-tiling.yaml")" < "$dir/fig3"

# The first session: its steps can be typed, and what is shown follows from them.
sed -n '/^    \$ cat > tiled.steps/,/^    END$/p' "$readme" | sed '1d;$d; s/^ *//' \
    > "$dir/tiled.steps"
same 'steps of the first session' 7 "$(grep -c . "$dir/tiled.steps")"
product='gmm m=512 k=512 n=512'
for what in nest access; do
    args=(show "$product" --steps "$dir/tiled.steps")
    said="    \$ tilescope show '$product' --steps tiled.steps"
    [ $what = access ] && args+=(--what access) said+=' --what access'
    awk -v said="$said" '$0 == said { on = 1; next } on && !NF { exit } on' "$readme" \
        | sed 's/^ *//' > "$dir/first"
    same "lines of the $what" 1 "$(($(grep -c . "$dir/first") > 3))"
    missing "the $what of the first session" "$("$TILESCOPE" "${args[@]}")" < "$dir/first"
done

rows '^    What misses' '^ *\.\.\.$' > "$dir/lens"
same 'lines of the lens' 10 "$(grep -c . "$dir/lens")"
missing 'the lens' \
    "$(XDG_CACHE_HOME=$dir COLUMNS=100 "$TILESCOPE" show "$product" --what lens \
        --cache 32K/8/64)" < "$dir/lens"

# What the simulator counts hangs on the width of vectors alone, in a cache that is named.
if "$TILESCOPE" run "$gmm" --json --meters none | grep -q '"isa": "avx512"'; then
    rows '^    sim:      32K' '^$' | grep '[0-9]$\|%$' > "$dir/gmm"
    same 'lines of the matrix product' 8 "$(grep -c . "$dir/gmm")"
    missing 'the matrix product' "$("$TILESCOPE" run --meters sim \
        --cache 32K/8/64,1M/8/64,32M/16/64 "$home/sessions/examples/gmm-1024-packed.yaml")" \
        < "$dir/gmm"
fi
same 'the configurations of make appendix1' \
    "$(sed -n 's/.*`make appendix1` (\([0-9]*\) operator.*/\1/p' "$readme")" \
    "$(grep -c '^[^#]' "$home/tests/conformance/appendix1.txt")"

# Every command and option there is one.
for word in $(grep -oE '(^    (\$ )?|`|\| )tilescope [a-z0-9]+( |`|$)' "$readme" \
    | sed -E 's/.*tilescope ([a-z0-9]+).*/\1/' | sort -u)
do
    "$TILESCOPE" help "$word" > /dev/null 2>&1 || grep -q "tilescope $word\.\.\." "$readme" \
        || echo "$word"
done > "$dir/words"
same 'commands' '' "$(cat "$dir/words")"
commands=$("$TILESCOPE" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p')
options=$("$TILESCOPE" --help; for c in $commands; do "$TILESCOPE" "$c" --help; done)
for option in $(grep -oE '(^|[`( ])--[a-z]+(-[a-z]+)*' "$readme" | grep -oE '\-\-[a-z-]+' | sort -u)
do
    grep -qE -e "$option( |\$|=|,)" <<< "$options" || echo "$option"
done > "$dir/words"
same 'options' '' "$(cat "$dir/words")"
folders='(sessions|kernels|profile|explorer|app)'
for file in $(grep -oE "$folders/[a-z0-9_/-]+\.(yaml|md|[chd]+)\b" \
    "$readme" | sort -u); do
    [ -e "$home/$file" ] || echo "$file"
done > "$dir/words"
same 'files' '' "$(cat "$dir/words")"
finish
