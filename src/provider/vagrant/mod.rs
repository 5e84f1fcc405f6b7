//! Vagrant as a provider: all that knows Vagrant.
