/* ONNX files as sessions. */
#ifndef TS_SESSIONS_ONNX_SESSION_H
#define TS_SESSIONS_ONNX_SESSION_H
#include "sessions/file/session.h"

/* The file as a session; ERR_ENV names the nodes that are not supported. */
bool onnx_session(const char *path, struct session **out, struct err *e);
#endif
