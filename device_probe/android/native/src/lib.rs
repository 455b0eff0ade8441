//! The JNI surface of the app; everything that it does is in `pocketsim-probe-core`.
