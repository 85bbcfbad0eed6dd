// string.h for device code: NVRTC has memcpy and memset built in.
#pragma once
