/* Elements of matrices and tensors by the numbers that NVIDIA's libraries give their types: 0 is
 * f32, 2 is f16; others are taken for bf16. */
static double get(const void *p, unsigned type, long at)
{
    union { unsigned bits; float f; } x;
    if (type == 2)
        return (double)((const _Float16 *)p)[at];
    if (type == 0)
        return (double)((const float *)p)[at];
    x.bits = (unsigned)((const unsigned short *)p)[at] << 16;
    return (double)x.f;
}

static void put(void *p, unsigned type, long at, double v)
{
    union { float f; unsigned bits; } x = { (float)v };
    if (type == 2)
        ((_Float16 *)p)[at] = (_Float16)v;
    else if (type == 0)
        ((float *)p)[at] = (float)v;
    else
        ((unsigned short *)p)[at] = (unsigned short)((x.bits + 0x7fff + (x.bits >> 16 & 1)) >> 16);
}
