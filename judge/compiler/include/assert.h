// assert.h for device code: NVRTC has assert built in.
#pragma once
