#include "kernels/ir/type_impl.h"

#include <string.h>

#include "kernels/ir/type.def"
#undef TYPE
#undef NARROW

#define TYPE(id, title, c, suffix, mask, packed, limits, sum) #id,
#define NARROW(id, title, digits, normal, sum) #id,
const char *const type_words[] = {
#include "kernels/ir/type.def"
    NULL
};
#undef TYPE
#undef NARROW

const struct elem_type *type_get(int64_t row)
{
#define TYPE(id, title, c, suffix, mask, packed, limits, sum) &type_##id,
#define NARROW(id, title, digits, normal, sum) &type_##id,
    static const struct elem_type *const rows[] = {
#include "kernels/ir/type.def"
    };
    return rows[row];
}

#define AT_ONCE 256

void type_convert(const struct elem_type *from, const void *src, const struct elem_type *to,
                  void *dst, int64_t n)
{
    double x[AT_ONCE];
    if (from == to) {
        memcpy(dst, src, (size_t)(n * to->bytes));
        return;
    }
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        int64_t some = n - i < AT_ONCE ? n - i : AT_ONCE;
        from->read((const char *)src + i * from->bytes, some, x);
        to->write(x, some, (char *)dst + i * to->bytes);
    }
}
