//! Windows features, their reboots, and what a reboot leaves behind.
