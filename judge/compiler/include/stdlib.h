// stdlib.h for device code: NVRTC has abs, malloc and free built in.
#pragma once
