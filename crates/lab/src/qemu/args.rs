//! QEMU's argument list, as a pure function of what is to run.

use units::Bytes;

use super::NAME;
use crate::link::PORT;

/// The machine that QEMU is to run. File names may be `/proc/self/fd/<n>` of descriptors that it inherits.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The host's process id, part of the machine's name.
    pub(crate) owner: u32,
    /// Tells whether KVM runs it; emulated otherwise.
    pub(crate) kvm: bool,
    /// Memory in bytes; whole mebibytes count.
    pub(crate) memory: Bytes,
    /// Processors.
    pub(crate) cpus: u32,
    /// The uncompressed kernel.
    pub(crate) kernel: String,
    /// The initial memory file system.
    pub(crate) initrd: String,
    /// The kernel's command line.
    pub(crate) command_line: String,
    /// The disks in order.
    pub(crate) disks: Vec<DriveArgument>,
    /// Abstract names of the sockets at which modelled disks are served.
    pub(crate) modelled: Vec<String>,
    /// The descriptor of the link's socket.
    pub(crate) link: i32,
    /// The descriptor of the shell's socket.
    pub(crate) shell: Option<i32>,
    /// The destination of the console.
    pub(crate) console: String,
}

/// One disk in QEMU's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DriveArgument {
    /// Its serial number in the guest.
    pub(crate) role: String,
    /// The file.
    pub(crate) file: String,
    /// `cache=none,aio=io_uring,discard=unmap`.
    pub(crate) options: String,
    /// Properties that its device reports: `,write-cache=off`, or nothing.
    pub(crate) properties: String,
}

impl Machine {
    /// Arguments without the program's name.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut list = Vec::new();
        let mut put = |name: &str, value: String| {
            list.push(name.to_owned());
            if !value.is_empty() {
                list.push(value);
            }
        };
        put("-name", format!("{NAME}{}", self.owner));
        for flag in ["-nodefaults", "-no-user-config", "-no-reboot"] {
            put(flag, String::new());
        }
        put("-display", "none".into());
        put("-nic", "none".into());
        let shared = if self.modelled.is_empty() { "" } else { ",memory-backend=memory" };
        put("-machine", format!("q35,smm=off,hpet=off,vmport=off{shared}"));
        if self.kvm {
            put("-accel", "kvm".into());
            put("-cpu", "host".into());
        } else {
            put("-accel", "tcg,thread=multi".into());
            // Five-level page tables would make every walk of the emulator longer.
            put("-cpu", "max,la57=off".into());
        }
        put("-m", format!("{}M", self.memory.0 / Bytes::MIB));
        if !self.modelled.is_empty() {
            // The process that serves a disk reads and writes the guest's memory.
            let size = self.memory.0 / Bytes::MIB;
            put("-object", format!("memory-backend-memfd,id=memory,size={size}M,share=on"));
        }
        put("-smp", self.cpus.to_string());
        put("-kernel", self.kernel.clone());
        put("-initrd", self.initrd.clone());
        put("-append", self.command_line.clone());
        put("-chardev", format!("file,id=console,path={},append=on", self.console));
        put("-serial", "chardev:console".into());
        put("-device", "virtio-serial-pci".into());
        put("-chardev", format!("socket,id=link,fd={}", self.link));
        put("-device", format!("virtserialport,chardev=link,name={PORT}"));
        if let Some(shell) = self.shell {
            put("-chardev", format!("socket,id=shell,fd={shell}"));
            put("-device", "virtconsole,chardev=shell,name=fathom.shell".into());
        }
        for (number, disk) in self.disks.iter().enumerate() {
            let DriveArgument { role, file, options, properties } = disk;
            // A comma in a name is written twice.
            let file = file.replace(',', ",,");
            put("-drive", format!("if=none,id=disk{number},format=raw,{options},file={file}"));
            put("-device", format!("virtio-blk-pci,drive=disk{number},serial={role}{properties}"));
        }
        // No iothread: guests hang with one where the CPU is emulated.
        for (number, name) in self.modelled.iter().enumerate() {
            let queue = ::disk::front::RING_SIZE;
            put("-chardev", format!("socket,id=model{number},path={name},abstract=on"));
            put(
                "-device",
                format!("vhost-user-blk-pci,chardev=model{number},queue-size={queue},num-queues=1"),
            );
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            owner: 7,
            kvm: false,
            memory: Bytes(1536 * Bytes::MIB),
            cpus: 2,
            kernel: "/cache/vmlinux".into(),
            initrd: "/proc/self/fd/5".into(),
            command_line: "console=ttyS0 quiet".into(),
            disks: vec![DriveArgument {
                role: "data".into(),
                file: "/kept/a,b/data.img".into(),
                options: "cache=none,aio=threads,discard=unmap".into(),
                properties: String::new(),
            }],
            modelled: Vec::new(),
            link: 6,
            shell: None,
            console: "/proc/self/fd/8".into(),
        }
    }

    fn after(list: &[String], name: &str) -> Vec<String> {
        let pairs = list.windows(2).filter(|pair| pair[0] == name);
        pairs.map(|pair| pair[1].clone()).collect()
    }

    #[test]
    fn a_guest_has_no_network_and_no_reboot() {
        let list = machine().arguments();
        assert_eq!(after(&list, "-nic"), ["none"]);
        assert!(list.iter().any(|argument| argument == "-no-reboot"));
    }

    #[test]
    fn a_disk_is_known_by_its_role_and_gives_space_back() {
        let list = machine().arguments();
        assert_eq!(
            after(&list, "-drive"),
            [
                "if=none,id=disk0,format=raw,cache=none,aio=threads,discard=unmap,file=/kept/a,,b/data.img"
            ]
        );
        assert!(
            after(&list, "-device").contains(&"virtio-blk-pci,drive=disk0,serial=data".to_owned())
        );
    }

    #[test]
    fn only_a_guest_with_modelled_disks_shares_its_memory() {
        let mut machine = machine();
        let plain = machine.arguments();
        assert_eq!(after(&plain, "-machine"), ["q35,smm=off,hpet=off,vmport=off"]);
        assert!(after(&plain, "-object").is_empty());
        machine.modelled = vec!["fathom-7-0".into()];
        let list = machine.arguments();
        assert_eq!(after(&list, "-object"), ["memory-backend-memfd,id=memory,size=1536M,share=on"]);
        assert!(after(&list, "-machine")[0].ends_with(",memory-backend=memory"));
        let device = "vhost-user-blk-pci,chardev=model0,queue-size=256,num-queues=1".to_owned();
        assert!(after(&list, "-device").contains(&device));
    }

    #[test]
    fn the_accelerator_decides_about_the_processor() {
        let mut machine = machine();
        assert_eq!(after(&machine.arguments(), "-accel"), ["tcg,thread=multi"]);
        machine.kvm = true;
        assert_eq!(after(&machine.arguments(), "-cpu"), ["host"]);
    }

    #[test]
    fn memory_is_given_in_mebibytes_and_a_shell_has_its_console() {
        let mut machine = machine();
        machine.shell = Some(9);
        let list = machine.arguments();
        assert_eq!(after(&list, "-m"), ["1536M"]);
        assert!(after(&list, "-chardev").contains(&"socket,id=shell,fd=9".to_owned()));
        assert!(list.iter().any(|argument| argument.starts_with("virtconsole")));
    }
}
