/* a tile that is too large for the stack, filled in parallel */
static __attribute__((noinline)) float *T_of_thread(void)
{
    static _Thread_local float memory[70000] __attribute__((aligned(64)));
    float *p = memory;
    __asm__ volatile("" : "+r"(p));
    return p;
}

/* kernel
 *   A        [70]  read
 *   C        [70]  written
 */
void kernel(const float *restrict A, float *restrict C)
{
    float *T = T_of_thread();    /* [70][1000] */
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
