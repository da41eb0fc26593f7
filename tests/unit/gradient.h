/* Numerical gradients, for the tests of the agents. */
#ifndef TS_TESTS_GRADIENT_H
#define TS_TESTS_GRADIENT_H
#include "explorer/agent/nn.h"

typedef double gradient_loss(void *context);

/* Compares net->grad with central differences of the loss by each parameter; returns the largest
 * difference, relative to the largest gradient, and the parameter's name ("weight 1 [3]") in
 * worst. */
double gradient_check(struct mlp *net, gradient_loss *loss, void *context, char worst[64]);
#endif
