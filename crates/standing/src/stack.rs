//! A stack, made of all that was read.

use layers::standing::{Node, StandingStack};

use crate::node::{of_block, of_mount};
use crate::recorded::{Recorded, Top};

/// Returns the part of a machine that stands over and under what was asked about.
pub fn stack(all: &Recorded, top: &Top) -> StandingStack {
    let mut missing = all.missing.clone();
    let mut whole = StandingStack { machine: all.machine.clone(), ..StandingStack::default() };
    let mut lacks: Vec<(String, Vec<String>)> = Vec::new();
    whole.nodes.extend(all.mounts.iter().filter_map(|mount| of_mount(mount, all)));
    for block in &all.blocks {
        let (node, lack) = of_block(block, all);
        lacks.push((node.id.clone(), lack));
        whole.nodes.push(node);
    }
    let wanted = wanted(&whole, top);
    let (nodes, others): (Vec<Node>, Vec<Node>) =
        std::mem::take(&mut whole.nodes).into_iter().partition(|node| wanted.contains(&node.id));
    let shares = |node: &Node| node.on.iter().any(|(_, id)| wanted.contains(id));
    let of_nodes = lacks.into_iter().filter(|(id, _)| wanted.contains(id));
    missing.extend(of_nodes.flat_map(|(_, lack)| lack));
    let mut made = StandingStack {
        nodes: ordered(nodes),
        beside: others.into_iter().filter(shares).collect(),
        machine: whole.machine,
        missing,
    };
    made.missing.dedup();
    made
}

/// The ids of the nodes that belong to what was asked about.
fn wanted(whole: &StandingStack, top: &Top) -> Vec<String> {
    let id = match top {
        Top::All => {
            return whole.nodes.iter().filter(|node| of_interest(whole, node)).map(id_of).collect();
        }
        Top::Device(id) | Top::Mount(id) => id,
    };
    let Some(node) = whole.node(id) else { return Vec::new() };
    let below = whole.below(node, None).into_iter();
    let above = if matches!(top, Top::Device(_)) { whole.above(node) } else { Vec::new() };
    above.into_iter().chain([node]).chain(below).map(id_of).collect()
}

fn id_of(node: &Node) -> String {
    node.id.clone()
}

/// Tells whether a node of a whole machine is worth a look: not an empty loop device or a memory disk that nothing stands on.
fn of_interest(whole: &StandingStack, node: &Node) -> bool {
    let idle = ["loop", "memory"].contains(&node.kind.as_str()) || node.id.starts_with("sr");
    !idle || whole.nodes.iter().any(|other| other.on.iter().any(|(_, id)| *id == node.id))
}

/// The nodes, each before those that it stands on; what is left of a circle comes last.
fn ordered(mut nodes: Vec<Node>) -> Vec<Node> {
    let mut done: Vec<Node> = Vec::with_capacity(nodes.len());
    while !nodes.is_empty() {
        let carried = |id: &str| nodes.iter().any(|other| other.on.iter().any(|(_, on)| on == id));
        let place = nodes.iter().position(|node| !carried(&node.id)).unwrap_or(0);
        done.push(nodes.remove(place));
    }
    done
}
