//! The programs of Kubernetes and the kubelet as a service.
