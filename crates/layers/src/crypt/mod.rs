//! `crypt`: an encrypted device: dm-crypt, opened by cryptsetup with a key that is made for the run.

mod layer;
mod names;
mod parsers;
mod rules;
mod setup;
mod standing;

use self::names::{ESSIV, NAME, TABLE, XTS};
use crate::kind::{Kind, LayerNeeds, Parser};

pub(crate) const KIND: Kind = Kind {
    keys: setup::KEYS,
    parsers: &[
        Parser { id: TABLE, read: parsers::parse_table },
        Parser { id: XTS, read: |text| parsers::parse_driver(text, "xts(aes)") },
        Parser { id: ESSIV, read: |text| parsers::parse_driver(text, "essiv(cbc(aes),sha256)") },
    ],
    recorded: &[
        (TABLE, include_str!("recorded/table")),
        (XTS, include_str!("recorded/crypto")),
        (ESSIV, include_str!("recorded/crypto")),
    ],
    refuses_nowait: true,
    needs: LayerNeeds {
        packages: &["cryptsetup-bin", "dmsetup", "coreutils"],
        modules: &["dm-mod", "dm-crypt", "xts", "essiv", "algif-skcipher", "algif-hash"],
        faster: &["aesni-intel"],
        tools: &["cryptsetup", "dmsetup", "head", "rm"],
        ..LayerNeeds::NONE
    },
    rules: rules::RULES,
    standing: standing::FORMS,
    standing_rules: standing::RULES,
    ..Kind::new(
        NAME,
        "An encrypted device: dm-crypt, with a key that is made for the run.",
        include_str!("manual.md"),
        |table| Ok(Box::new(setup::Setup::read(table)?)),
    )
};
