/* The plugins that are built in.  Private to profile/vendor. */
#ifndef TS_PROFILE_VENDOR_IMPL_H
#define TS_PROFILE_VENDOR_IMPL_H
#include "profile/vendor/vendor.h"

extern const struct vendor_plugin cublas_plugin, cudnn_plugin;
#endif
