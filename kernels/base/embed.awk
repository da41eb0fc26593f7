# Texts as a table in C, { "name", "text" } by row, whose last names are NULL:
#     awk -v header=FILE.h -v type=STRUCT -f embed.awk FILE.txt ...
# STRUCT is also the name of the table; a text is named after its file, without folder and ending.
function finish() { if (name) print "    }," }
BEGIN { printf "#include \"%s\"\nconst struct %s %s[] = {\n", header, type, type }
FNR == 1 {
    finish()
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.[a-z]*$/, "", name)
    printf "    { \"%s\",\n", name
}
{ gsub(/["\\]/, "\\\\&"); printf "      \"%s\\n\"\n", $0 }
END { finish(); print "    { NULL, NULL },\n};" }
