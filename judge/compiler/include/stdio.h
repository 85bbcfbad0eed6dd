// stdio.h for device code: NVRTC has printf built in.
#pragma once
