#include "tests/unit/json_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

json_t *json_must_load(struct str *text)
{
    json_error_t why;
    json_t *root = json_loads(str_text(text), JSON_REJECT_DUPLICATES, &why);
    if (!root)
        fail_msg("%s: %s", why.text, str_text(text));
    str_free(text);
    return root;
}

void assert_json(const json_t *node, const char *want)
{
    char *text = json_dumps(node, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(8));
    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
}

void assert_json_text(struct str *text, const char *want)
{
    json_t *root = json_must_load(text);
    assert_json(root, want);
    json_decref(root);
}
