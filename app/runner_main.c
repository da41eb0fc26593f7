#include "profile/measure.h"

int main(int argc, char **argv)
{
    return runner_main(argc, argv);
}
