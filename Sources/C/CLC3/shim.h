#include <lc3.h>
