// A release build has no trace of a crash point: passing one is a constant expression.
#undef SENDONCE_CRASH_POINTS
#include "plugin/core/crash_point.hpp"

static_assert((sendonce::crash_point(sendonce::CrashPoint::claim_durable), true));
