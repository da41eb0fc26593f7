/* The body of the tilescope-runner executable. */
#ifndef TS_PROFILE_SERVER_H
#define TS_PROFILE_SERVER_H

/* Serves one parent over the inherited descriptors (protocol.h), or does what an option such as
 * --once asks for (server_impl.h).  Returns the exit code. */
int server_main(int argc, char **argv);
#endif
