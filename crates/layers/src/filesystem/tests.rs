use super::*;
use crate::layer::on_device;

const KINDS: [crate::Kind; 3] = [crate::xfs::KIND, crate::ext4::KIND, crate::btrfs::KIND];

fn raised(kind: &crate::Kind, text: &str, bytes: u64) -> Result<RaisePlan, SettingError> {
    let inputs = on_device("{device.data}", bytes);
    let at = Place { name: "fs", run_tag: "0badcafe", inputs: &inputs };
    (kind.parse)(&text.parse().unwrap())?.raise(&at)
}

#[test]
fn each_is_mounted_where_the_run_can_be_told_by_the_name_and_its_uuid_and_unmounted_again() {
    for kind in KINDS {
        let raised = raised(&kind, "", 1 << 30).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        let made = format!("mkfs.{} ", kind.name);
        assert!(
            shown[0].starts_with(&made) && shown[0].ends_with(" {device.data}"),
            "{}",
            shown[0]
        );
        assert!(shown[0].contains("0badcafe-666d-8072-"), "{}", shown[0]);
        assert!(shown[1].contains(&format!("mount -t {}", kind.name)), "{}", shown[1]);
        assert!(shown[1].ends_with("{device.data} /run/fathom_0badcafe_fs"), "{}", shown[1]);
        let marked = |undo: &Action| matches!(undo, Action::Wipe { mark: Some(mark), .. } if mark.bytes.len() == 16);
        assert!(raised.up[0].undo.iter().any(marked));
        assert_eq!(raised.up[1].undo.len(), 1);
        let directory = Offer::Directory { path: "/run/fathom_0badcafe_fs".into(), bytes: 1 << 30 };
        assert_eq!(raised.offer, directory);
    }
}

#[test]
fn a_device_that_is_too_small_is_refused() {
    for kind in KINDS {
        let error = raised(&kind, "", 10 << 20).unwrap_err();
        let tool = format!("mkfs.{}", kind.name);
        assert!(error.message.contains("10 MiB") && error.help.contains(&tool), "{error:?}");
    }
}

#[test]
fn options_go_to_the_tools_unless_they_name_a_device_or_a_path() {
    for kind in KINDS {
        let raised_ = raised(
            &kind,
            "mkfs_options = \"-L devel\"\nmount_options = \"noatime,nodev\"",
            1 << 30,
        );
        let shown: Vec<_> = raised_.unwrap().up.iter().map(|step| step.action.show()).collect();
        assert!(shown[0].ends_with(" -L devel {device.data}"), "{}", shown[0]);
        assert!(shown[1].contains("noatime,nodev {device.data}"), "{}", shown[1]);
        for harmful in [
            "mkfs_options = \"/dev/sda\"",
            "mkfs_options = \"sda\"",
            "mkfs_options = \"-L x sda\"",
            "mkfs_options = \"-l logdev=sda\"",
            "mkfs_options = \"-J device=x\"",
            "mkfs_options = \"-L  x\"",
            "mkfs_options = \"-f foreign.img\"",
            "mkfs_options = \"-l name=log.img\"",
            "mkfs_options = \"-d name=foreign.img\"",
            "mkfs_options = \"-m uuid=x\"",
            "mkfs_options = \"-U random\"",
            "mkfs_options = \"-qEstride=16\"",
            "mkfs_options = \"--rootdir x\"",
            "mkfs_options = \"-L\"",
            "mount_options = \"journal_dev=8\"",
            "mount_options = \"logdev=sda\"",
            "mount_options = \"x,,y\"",
            "mount_options = \"a b\"",
            "mount_options = 3",
        ] {
            let error = raised(&kind, harmful, 1 << 30).unwrap_err();
            assert!(error.message.contains("cannot be"), "{harmful}: {error:?}");
        }
    }
}

#[test]
fn what_it_can_do_while_it_stands_is_one_command_and_grown_it_has_all_of_its_device() {
    let inputs = on_device("{device.data}", 7 << 30);
    let at = Place { name: "fs", run_tag: "0badcafe", inputs: &inputs };
    for kind in KINDS {
        let layer = (kind.parse)(&toml::Table::new()).unwrap();
        let act = |action: &str| {
            let table = toml::Table::new();
            layer.act(&at, &ActionRequest { action, keys: &table, before: &table }).unwrap()
        };
        let trimmed = act("trim");
        assert_eq!(trimmed.steps[0].action.show(), "fstrim /run/fathom_0badcafe_fs");
        assert_eq!(trimmed.bytes, None);
        let grown = act("grow");
        assert_eq!(grown.bytes, Some(7 << 30));
        let program = grown.steps[0].action.show();
        let program = program.split(' ').next().unwrap();
        assert!(kind.needs.tools.contains(&program), "{program}");
    }
}

#[test]
fn only_a_whole_line_of_statfs_is_read() {
    let read = parse_statfs("blocks 9 free 4 size 4096\n").unwrap();
    assert_eq!((read.numbers["free"], read.numbers["used_bytes"]), (Some(4.0), Some(20480.0)));
    for text in ["", "blocks 9", "blocks x free 4 size 1", "blocks 9 free"] {
        assert!(parse_statfs(text).is_err(), "{text}");
    }
}

#[test]
fn a_counter_that_is_not_there_has_no_value_and_one_is_needed() {
    let read = read_fields("x", &["a", "b"], "a 7\nab 9\n").unwrap();
    assert_eq!((read.numbers["a"], read.numbers["b"]), (Some(7.0), None));
    assert!(read_fields("x", &["a"], "b 7").is_err());
}
