/* The body of the tilescope-runner executable. */
#ifndef TS_PROFILE_RUNNER_H
#define TS_PROFILE_RUNNER_H

/* Serves one parent over the inherited descriptor (protocol.h).  Returns the exit code. */
int runner_main(int argc, char **argv);
#endif
