/* a tile that is too large for the stack, filled in parallel */
/* kernel
 *   A        [70]  read
 *   C        [70]  written
 * Not reentrant: all calls use the same T.
 */
void kernel(const float *restrict A, float *restrict C)
{
    static float T[70000] __attribute__((aligned(64)));    /* [70][1000] */
    #pragma omp parallel for schedule(static)
    for (long m = 0; m < 70; m++) {
        float a0 = A[m];
        for (long n = 0; n < 1000; n++) {
            T[1000*m + n] = a0;
        }
    }
    for (long m = 0; m < 70; m++) {
        C[m] = T[1000*m + 999];
    }
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1]);
}
