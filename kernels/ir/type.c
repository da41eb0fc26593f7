#include "kernels/ir/type_impl.h"

#include <string.h>

#include "kernels/ir/type.def"

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
