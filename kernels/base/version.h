/* The version of the program, as `--version` prints it and records keep it.  Numbers of another one
 * are not taken over by `study --resume`. */
#ifndef TS_BASE_VERSION_H
#define TS_BASE_VERSION_H
#define TILESCOPE_VERSION "0.1.0"
#endif
