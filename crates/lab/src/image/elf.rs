//! Reads ELF files: which libraries a program needs, and which part of the file is needed to run.

use object::elf::{DT_NEEDED, DT_STRSZ, DT_STRTAB, FileHeader64, PT_DYNAMIC, PT_INTERP, PT_LOAD};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{LittleEndian, StringTable};

type Header = FileHeader64<LittleEndian>;

/// The dynamic linker and the libraries that a program needs to be started.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Linkage {
    /// The dynamic linker's path, for a program that has one.
    pub(super) interpreter: Option<String>,
    /// Names of libraries.
    pub(super) libraries: Vec<String>,
}

/// Returns the linker and libraries that the ELF file `bytes` needs; empty for any other file (a script).
pub(super) fn linkage(bytes: &[u8]) -> object::Result<Linkage> {
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(Linkage::default());
    }
    let header = Header::parse(bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, bytes)?;
    let mut linkage = Linkage::default();
    for segment in segments {
        if segment.p_type(endian) == PT_INTERP {
            let path = segment.data(endian, bytes).unwrap_or_default();
            let path = path.strip_suffix(&[0]).unwrap_or(path);
            linkage.interpreter = Some(String::from_utf8_lossy(path).into_owned());
        }
        if segment.p_type(endian) != PT_DYNAMIC {
            continue;
        }
        let entries = segment.dynamic(endian, bytes)?.unwrap_or_default();
        let value = |tag: u32| {
            entries
                .iter()
                .find(|entry| entry.tag32(endian) == Some(tag))
                .map(|entry| entry.d_val.get(endian))
        };
        let (Some(address), Some(size)) = (value(DT_STRTAB), value(DT_STRSZ)) else {
            continue;
        };
        let names = segments
            .iter()
            .find_map(|segment| segment.data_range(endian, bytes, address, size).ok().flatten())
            .unwrap_or_default();
        let names = StringTable::new(names, 0, names.len() as u64);
        for entry in entries {
            if entry.tag32(endian) == Some(DT_NEEDED) {
                let name = entry.string(endian, names)?;
                linkage.libraries.push(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
    Ok(linkage)
}

/// The part of an ELF program that is loaded when it runs: without symbols and debugging information,
/// which would only make the guest's memory file system larger. Anything else comes back as it is.
pub(crate) fn loadable_part(mut program: Vec<u8>) -> Vec<u8> {
    let Some(end) = loadable_end(&program).filter(|end| *end <= program.len()) else {
        return program;
    };
    program.truncate(end);
    // No section headers: their offset (8 bytes at 0x28), number and string index (2 bytes each from 0x3c).
    program[0x28..0x30].fill(0);
    program[0x3c..0x40].fill(0);
    program
}

fn loadable_end(program: &[u8]) -> Option<usize> {
    let header = Header::parse(program).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, program).ok()?;
    let ends = segments.iter().map(|segment| {
        let (offset, size) = segment.file_range(endian);
        usize::try_from(offset + size).unwrap_or(usize::MAX)
    });
    let loads = segments.iter().any(|segment| segment.p_type(endian) == PT_LOAD);
    ends.max().filter(|_| loads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_of_this_machine_needs_the_c_library() {
        let linkage = linkage(&std::fs::read("/bin/sh").unwrap()).unwrap();
        assert!(linkage.libraries.iter().any(|name| name == "libc.so.6"), "{linkage:?}");
        assert!(linkage.interpreter.unwrap().contains("ld-linux"));
    }

    #[test]
    fn a_script_needs_no_library() {
        assert_eq!(linkage(b"#!/bin/sh\n"), Ok(Linkage::default()));
    }

    #[test]
    fn a_program_without_its_symbols_still_runs() {
        use std::os::unix::fs::PermissionsExt;
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let part = loadable_part(whole.clone());
        assert!(part.len() < whole.len());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("part");
        std::fs::write(&path, part).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = std::process::Command::new(&path).arg("--list").output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("a_script_needs_no_library"));
    }

    #[test]
    fn what_is_no_program_stays_as_it_is() {
        assert_eq!(loadable_part(b"#!/bin/sh\n".to_vec()), b"#!/bin/sh\n");
    }
}
