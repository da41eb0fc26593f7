/* The body of the tilescope-runner executable. */
#ifndef TS_PROFILE_SERVER_H
#define TS_PROFILE_SERVER_H

/* Serves one parent over the inherited descriptor (protocol.h).  Returns the exit code. */
int server_main(int argc, char **argv);
#endif
