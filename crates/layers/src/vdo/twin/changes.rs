//! What changes a volume that is up: its switches, its sizes, the state of its index.

use super::VdoTwin;
use crate::twin::TwinAnswer;
use crate::vdo::geometry::{self, BLOCK};
use crate::vdo::names::VOLUME;

impl VdoTwin {
    /// Follows a command on the volume that is up, to which its group or its nodes gave `answer`.
    pub(super) fn change(&mut self, argv: &[String], answer: TwinAnswer) -> TwinAnswer {
        let words: Vec<&str> = argv.iter().flat_map(|word| word.split(' ')).collect();
        match words[..] {
            ["dmsetup", "message", node, "0", message] if node == self.node => {
                self.message(message)
            }
            ["lvm", "lvextend", .., size, volume] => self.extend(size, volume),
            ["lvm", "lvchange", ..] | ["dmsetup", "reload", ..]
                if answer != TwinAnswer::NotMine =>
            {
                self.switch(&words);
                self.table(&words);
                answer
            }
            _ => answer,
        }
    }

    /// Follows `lvm lvextend --size 9663676416b GROUP/VOLUME`.
    fn extend(&mut self, size: &str, volume: &str) -> TwinAnswer {
        // The node of the pool is called after the group.
        let own = |(group, _): &(&str, &str)| self.node.split('-').next() == Some(*group);
        let Some((_, volume)) = volume.split_once('/').filter(own) else {
            return TwinAnswer::NotMine;
        };
        let Some(bytes) = size.strip_suffix('b').and_then(|size| size.parse().ok()) else {
            return TwinAnswer::failed(format!("  Invalid argument for --size: {size}"));
        };
        if volume == VOLUME {
            self.logical(bytes);
        } else {
            self.physical(bytes);
        }
        TwinAnswer::ok("  Logical volume successfully resized.\n")
    }

    /// What a message to the index leads to.
    fn message(&mut self, message: &str) -> TwinAnswer {
        self.index_off = match message {
            "index-close" => Some("closed"),
            "index-disable" => Some("offline"),
            "index-create" | "index-enable" => None,
            _ => return TwinAnswer::failed("Invalid argument"),
        };
        TwinAnswer::ok("")
    }

    /// Follows `--deduplication n`, and a table that has `deduplication off` in it.
    fn switch(&mut self, words: &[&str]) {
        for pair in words.windows(2) {
            let on = matches!(pair[1], "y" | "on");
            match pair[0].trim_start_matches('-') {
                "deduplication" => self.setup.dedupe = on,
                "compression" => self.setup.compression = on,
                _ => {}
            }
        }
    }

    /// Follows the sizes of a table: sectors before `vdo`, blocks of the pool after its device.
    fn table(&mut self, words: &[&str]) {
        let Some(at) = words.iter().position(|word| *word == "vdo") else { return };
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        if let Some(sectors) = at.checked_sub(1).and_then(number) {
            self.logical(sectors * 512);
        }
        if let Some(blocks) = number(at + 3) {
            self.physical(blocks * BLOCK);
        }
    }

    fn logical(&mut self, bytes: u64) {
        self.logical_blocks = bytes / BLOCK;
    }

    fn physical(&mut self, bytes: u64) {
        let (slab, index) = (self.setup.slab_size, self.setup.index_memory);
        self.pool_blocks = bytes / BLOCK;
        self.slabs = geometry::slabs(bytes, slab, index, self.setup.sparse_index);
    }
}
