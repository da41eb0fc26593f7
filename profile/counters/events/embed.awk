# The event sets as a C table: awk -f embed.awk FILE.txt ... (profile/counters/eventset.h).
function finish() { if (name) print "    }," }
BEGIN { print "#include \"profile/counters/eventset.h\"\nconst struct builtin_set builtin_set[] = {" }
FNR == 1 {
    finish()
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.txt$/, "", name)
    printf "    { \"%s\",\n", name
}
{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); printf "      \"%s\\n\"\n", $0 }
END { finish(); print "    { NULL, NULL },\n};" }
