//! The disposable virtual machine: guest image, kernel, disks, QEMU, both ends of the link.
