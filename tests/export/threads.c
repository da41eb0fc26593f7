/* Four threads run the exported network `small`, each with an instance of its own, and compare
 * with what one thread computes: threads WEIGHTS.  For sanitizers (test_network_export.c). */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "small.h"

#define THREADS 4
#define RUNS 20

struct user {
    const char *weights;
    float x[SMALL_X_ELEMS], residual[SMALL_INT_2_ELEMS];
    float out[SMALL_EOF_ELEMS], probability[SMALL_P_ELEMS];
    int failed;
};

static void *use(void *arg)
{
    struct user *u = arg;
    struct small *net = small_create(u->weights);
    u->failed = !net;
    for (int i = 0; net && i < RUNS; i++)
        small_run(net, u->x, u->residual, u->out, u->probability);
    small_destroy(net);
    return NULL;
}

static void fill(float *x, int n, int seed)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)((i * 37 + seed * 11) % 19 - 9) / 9;
}

int main(int argc, char **argv)
{
    static struct user user[THREADS], alone[THREADS];
    pthread_t thread[THREADS];
    int wrong = 0;
    for (int i = 0; argc > 1 && i < THREADS; i++) {
        user[i].weights = argv[1];
        fill(user[i].x, SMALL_X_ELEMS, i);
        fill(user[i].residual, SMALL_INT_2_ELEMS, i + THREADS);
        alone[i] = user[i];
        use(&alone[i]);
    }
    for (int i = 0; argc > 1 && i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, use, &user[i]) != 0)
            return 2;
    for (int i = 0; argc > 1 && i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        wrong |= user[i].failed || memcmp(user[i].out, alone[i].out, sizeof user[i].out) != 0
              || memcmp(user[i].probability, alone[i].probability,
                        sizeof user[i].probability) != 0
              || (i > 0 && memcmp(user[i].out, user[0].out, sizeof user[i].out) == 0);
    }
    printf("%s\n", argc > 1 && !wrong ? "all threads agree" : "WRONG");
    return argc > 1 && !wrong ? 0 : 1;
}
