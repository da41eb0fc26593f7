/* The data of a network's constants in their logical shapes. Some constants are stored in the file
 * of the network. The others, such as folded weights, are computed from the stored ones by the
 * float64 reference. */
#ifndef TS_PROFILE_NETWORK_VALUES_H
#define TS_PROFILE_NETWORK_VALUES_H
#include "kernels/base/subprocess.h"
#include "kernels/module/network.h"

/* value[t]: the elements of tensor t as float32, row-major. It is set for the constants that
 * kernels read, and for the constants from which these are computed; else NULL. measure_network
 * also stores the inputs and outputs. */
struct network_values { int n; f32 **value; };

/* Reads or computes the data of the constants. Fails when a file is missing or has other data, and
 * on a cancel. */
bool network_values_make(const struct network *net, uint64_t seed, const struct cancel *c,
                         struct network_values *out, struct err *e);
void network_values_free(struct network_values *v);
#endif
