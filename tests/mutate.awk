# Draws random changes of C sources, for tests/mutants.sh:
#     awk -v count=N -v seed=SEED -f tests/mutate.awk FILE...
# prints N changes, each as FILE <tab> LINE <tab> the line as it becomes.  Every line of code is
# as likely as any other, and so is every change that a line allows.  The same seed draws the same.

# A generator of our own, since each awk has another rand().
function draw(n)
{
    state = state * 48271 % 2147483647
    return int(state / 2147483647 * n)
}

# The line with comments, strings and characters as '@', so that no change is made in them.
function masked(line,    i, c, out, n)
{
    if (!in_comment && line !~ /["'\/]/)
        return line
    n = length(line)
    for (i = 1; i <= n; i++) {
        c = substr(line, i, 1)
        if (in_comment) {
            out = out "@"
            if (c == "*" && substr(line, i + 1, 1) == "/") {
                in_comment = 0
                out = out "@"
                i++
            }
        } else if (quote) {
            out = out "@"
            if (c == "\\") {
                out = out "@"
                i++
            } else if (c == quote) {
                quote = ""
            }
        } else if (c == "\"" || c == "'") {
            quote = c
            out = out "@"
        } else if (c == "/" && substr(line, i + 1, 1) == "*") {
            in_comment = 1
            out = out "@@"
            i++
        } else {
            out = out c
        }
    }
    quote = ""
    return substr(out, 1, n)
}

function code(mask)
{
    if (mask ~ /^#/)
        return mask ~ /^#define [A-Z_0-9]+ +\(?[0-9]/
    return mask ~ /[A-Za-z0-9]/
}

BEGIN {
    n_swaps = split(" < | <= # < | >= # <= | < # <= | > # > | >= # > | <= # >= | > # >= | < # " \
                    "== | != # != | == # + | - # - | + # * | / # / | * # % | / # += | -= # " \
                    "-= | += # && | || # || | && # & | | # | | & ", swap, "#")
    for (i = 1; i <= n_swaps; i++) {
        at = swap[i] ~ /^ \| \| / ? 3 : index(swap[i], " | ")
        from[i] = substr(swap[i], 1, at)
        to[i] = substr(swap[i], at + 2)
        gsub(/ /, "", from[i])
        gsub(/ /, "", to[i])
    }
}

{
    if (FNR == 1)
        in_comment = 0
    mask = masked($0)
    text[FILENAME, FNR] = $0
    is[FILENAME, FNR] = mask
    if (code(mask)) {
        where_file[n_lines] = FILENAME
        where_line[n_lines++] = FNR
    }
}

function put(pos, len, new)
{
    change[n_changes++] = substr(line, 1, pos - 1) new substr(line, pos + len)
}

function operators(    i, at, rest, found)
{
    for (i = 1; i <= n_swaps; i++)
        for (at = 0; (found = index(substr(mask " ", at + 1), " " from[i] " ")) > 0; ) {
            at += found
            put(at + 1, length(from[i]), to[i])
        }
    for (at = 0; match(substr(mask, at + 1), /\+\+|--/); ) {
        at += RSTART
        put(at, 2, substr(mask, at, 2) == "++" ? "--" : "++")
        at++
    }
    for (at = 0; match(substr(mask, at + 1), /!([^=]|$)/); ) {
        at += RSTART
        put(at, 1, "")
    }
}

# Words and numbers; those that are part of another word are stepped over whole.
function words(    at, word)
{
    for (at = 0; match(substr(mask, at + 1), /[A-Za-z0-9_.]+/); at += RLENGTH - 1) {
        at += RSTART
        word = substr(mask, at, RLENGTH)
        if (word == "true" || word == "false")
            put(at, RLENGTH, word == "true" ? "false" : "true")
        else if (word ~ /^[0-9]+$/ && mask !~ /^#include/) {
            put(at, RLENGTH, word + 1)
            put(at, RLENGTH, word == 0 ? "(-1)" : word - 1)
        } else if (word ~ /^[0-9]+\.[0-9]+$|^[0-9.]+e[0-9]*$/)
            put(at, 0, "2 * ")
    }
}

# Negates what stands in the parentheses of an if or a while, when they end on the line.
function conditions(    at, end, depth)
{
    if (!match(mask, /(^|[^a-z_])(if|while) \(/))
        return
    at = end = RSTART + RLENGTH
    for (depth = 1; depth > 0 && end <= length(mask); end++)
        depth += (substr(mask, end, 1) == "(") - (substr(mask, end, 1) == ")")
    if (depth == 0)
        put(at, end - 1 - at, "!(" substr(line, at, end - 1 - at) ")")
}

function statements(before,    indent)
{
    match(mask, /^ */)
    indent = substr(mask, 1, RLENGTH)
    if (mask ~ /^ +return .+;/ && mask !~ /return (0|true|false|NULL);/)
        change[n_changes++] = indent "return 0;"
    if (mask ~ /free\(/)                 # a leak, which only a leak checker would see
        return
    if (before !~ /[;{})@:]$|else$|^$/ || mask ~ /^ +(return|goto|case|default|else|if|for|while)/)
        return
    if (mask ~ /^ +[a-z_][A-Za-z0-9_.>\[\]-]*\(.*\);/ || mask ~ /^ +(break|continue);/ ||
        mask ~ /^ +\*?[A-Za-z_][A-Za-z0-9_.>\[\]-]*( [-+*\/|&^%]?= .*|\+\+|--);/)
        change[n_changes++] = indent ";"
}

# Swaps two arguments, but not of functions that take them in either order.
function arguments(    at, part, comma)
{
    for (at = 0; match(substr(mask, at + 1),
                       /[(,] ?[A-Za-z0-9_.>&*\[\]-]+, [A-Za-z0-9_.>&*\[\]-]+[,)]/); ) {
        at += RSTART
        if (substr(mask, 1, at - 1) ~ /(^|[^a-z_])(streq|strcaseeq|fmin|fmax)$/)
            continue
        part = substr(line, at + 1, RLENGTH - 2)
        sub(/^ /, "", part)
        comma = index(part, ", ")
        put(at + RLENGTH - 1 - length(part), length(part),
            substr(part, comma + 2) ", " substr(part, 1, comma - 1))
    }
}

END {
    state = seed % 2147483646 + 1
    for (i = 0; i < 10; i++)
        draw(2)
    for (made = tries = 0; made < count && n_lines > 0 && tries < 100 * count; tries++) {
        k = draw(n_lines)
        file = where_file[k]
        at_line = where_line[k]
        line = text[file, at_line]
        mask = is[file, at_line]
        n_changes = 0
        operators()
        words()
        conditions()
        statements(is[file, at_line - 1])
        arguments()
        if (n_changes == 0)
            continue
        new = change[draw(n_changes)]
        if (new == line || seen[file, at_line, new]++)
            continue
        print file "\t" at_line "\t" new
        made++
    }
}
