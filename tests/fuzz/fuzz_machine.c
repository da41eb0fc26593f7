#include <stdlib.h>
#include "sessions/file/machine_file.h"
#include "tests/fuzz/fuzz.h"

int fuzz_machine(const uint8_t *data, size_t n)
{
    struct machine_model m, again;
    struct str first = {0}, second = {0};
    struct err e = {0};
    char *text = fuzz_text(data, n);
    if (machine_file_parse(text, &m, &e)) {
        machine_file_print(&first, &m);
        if (!machine_file_parse(str_text(&first), &again, &e))
            fail("what was written is refused: %s\n%s", e.text, str_text(&first));
        machine_file_print(&second, &again);
        fuzz_say(str_text(&first));
        FUZZ_CHECK(streq(str_text(&first), str_text(&second)), "%s became %s", str_text(&first),
                   str_text(&second));
    } else {
        fuzz_error(&e);
    }
    str_free(&first);
    str_free(&second);
    free(text);
    return 0;
}
