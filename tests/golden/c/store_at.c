/* tests/golden/nest/store-at.in */
/* kernel
 *   A        [4][4]  M K, read
 *   B        [3][5]  read
 *            K=4 holds Bias
 *   C        [4][3]  M N, written and read
 *   BiasAdd  [4][3]  M N, written
 */
void kernel(const float *restrict A, const float *restrict B, float *restrict C,
            float *restrict BiasAdd)
{
    /* C */
    for (long m = 0; m < 4; m++) {
        for (long n = 0; n < 3; n++) {
            float c0 = 0.0f;
            for (long k = 0; k < 4; k++) {
                c0 += A[4*m + k] * B[5*n + k];
            }
            C[3*m + n] = c0;
        }
    }
    /* BiasAdd */
    for (long m = 0; m < 4; m++) {
        for (long n = 0; n < 3; n++) {
            BiasAdd[3*m + n] = C[3*m + n] + B[5*n + 4];
        }
    }
}

void ts_entry(float *const *buffers)
{
    kernel(buffers[0], buffers[1], buffers[2], buffers[3]);
}
