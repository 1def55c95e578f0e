#include "common/wire/instances.hpp"

#include "common/model/cluster_config.hpp"
#include "common/model/job.hpp"
#include "common/model/job_update.hpp"
#include "common/model/node.hpp"
#include "common/model/step.hpp"

SLUICE_CODEC_INSTANCES()
