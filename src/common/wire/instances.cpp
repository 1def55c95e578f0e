#include "common/wire/instances.hpp"

SLUICE_CODEC_INSTANCES()
