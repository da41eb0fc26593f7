/* The version of the program, as `--version` prints it and records store it.  `study --resume`
 * does not reuse numbers of another version. */
#ifndef TS_BASE_VERSION_H
#define TS_BASE_VERSION_H
#define TILESCOPE_VERSION "0.1.0"
#endif
