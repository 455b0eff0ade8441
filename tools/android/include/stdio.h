#include <bionic.h>
