// stddef.h for device code: NVRTC has size_t and ptrdiff_t built in.
#pragma once

#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
