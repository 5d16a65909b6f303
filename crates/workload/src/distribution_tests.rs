//! Every law against its definition.

use units::Seed;

use crate::chi;
use crate::distribution::Distribution;
use crate::{BATCH, Pattern, seeds};

/// Counts of `batches` batches in cells, as `cell` says.
fn counts(
    pattern: &str,
    places: u64,
    batches: u64,
    cells: usize,
    cell: impl Fn(u64) -> usize,
) -> Vec<u64> {
    let distribution = Distribution::new(&pattern.parse::<Pattern>().unwrap(), places, 4096);
    let mut counts = vec![0; cells];
    let mut out = [0; BATCH];
    for number in 0..batches {
        distribution.batch(&mut seeds::nth(Seed(places), number).generator(), &mut out);
        for &place in &out {
            assert!(place < places, "{pattern}: {place} of {places}");
            counts[cell(place)] += 1;
        }
    }
    counts
}

/// Cells by the binary logarithm of the rank, in quarters; exact probabilities by summing.
fn quarter(place: u64) -> usize {
    if place < 64 { place as usize } else { 64 + ((place as f64 / 64.0).log2() * 4.0) as usize }
}

fn zipf_chances(theta: f64, places: u64) -> Vec<f64> {
    let mut chances = vec![0.0; quarter(places - 1) + 1];
    // From the tail, so that small terms are not lost.
    for place in (0..places).rev() {
        chances[quarter(place)] += ((place + 1) as f64).powf(-theta);
    }
    chances
}

#[test]
fn zipf_follows_its_law_over_the_whole_range_for_every_exponent() {
    for theta in [0.1, 0.5, 0.99, 0.9995, 1.0, 1.0005, 1.2, 2.0, 5.0] {
        for places in [2, 7, 1000, 244_140] {
            let chances = zipf_chances(theta, places);
            let counts = counts(&format!("zipf:{theta}"), places, 15_000, chances.len(), quarter);
            chi::holds(&counts, &chances, &format!("zipf {theta} over {places}"));
        }
    }
}

#[test]
fn zipf_follows_its_law_over_a_prime_above_16_million() {
    for theta in [0.5, 0.99, 1.0, 1.2] {
        let chances = zipf_chances(theta, 16_777_259);
        let counts = counts(&format!("zipf:{theta}"), 16_777_259, 15_000, chances.len(), quarter);
        chi::holds(&counts, &chances, &format!("zipf {theta}"));
    }
}

#[test]
fn zipf_over_the_largest_ranges_stays_in_them() {
    for theta in [0.01, 0.5, 0.9999, 1.0, 1.2, 3.0, 50.0] {
        for places in [1, 3, 1 << 40, (1 << 51) - 1] {
            let counts = counts(&format!("zipf:{theta}"), places, 300, 2, |place| {
                usize::from(place > places / 2)
            });
            assert_eq!(counts[0] + counts[1], 300 * BATCH as u64);
            if theta < 0.1 && places > 1 << 20 {
                chi::holds(&counts, &[0.5f64.powf(0.99), 1.0 - 0.5f64.powf(0.99)], "half");
            }
        }
    }
}

#[test]
fn pareto_follows_its_law() {
    for h in [0.05f64, 0.2, 0.4, 0.49] {
        for places in [10u64, 1000, 244_140, 16_777_259] {
            let edge = |place: u64| (place as f64 / places as f64).powf((1.0 - h).ln() / h.ln());
            let cells = quarter(places - 1) + 1;
            let mut edges = vec![0.0; cells];
            let mut last = 0;
            for (cell, chance) in edges.iter_mut().enumerate() {
                // The first place of the next cell.
                let mut next = last + 1;
                while next < places && quarter(next) == cell {
                    let step = (next / 64).max(1).min(places - next);
                    next += if quarter(next + step - 1) == cell { step } else { 1 };
                }
                *chance = edge(next) - edge(last);
                last = next;
            }
            let counts = counts(&format!("pareto:{h}"), places, 15_000, cells, quarter);
            chi::holds(&counts, &edges, &format!("pareto {h} over {places}"));
            if places > 1000 {
                let hot = (h * places as f64) as u64;
                let counts = self::counts(&format!("pareto:{h}"), places, 15_000, 2, |place| {
                    usize::from(place >= hot)
                });
                chi::holds(&counts, &[1.0 - h, h], "the share h gets 1 - h");
            }
        }
    }
}

/// The distribution function of the standard normal: its series near the middle, a continued fraction in the tail.
fn below(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z.abs() < 4.0 {
        let (mut term, mut sum) = (z, z);
        for k in 1..120 {
            term *= z * z / f64::from(2 * k + 1);
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let fraction = (1..200).rev().fold(0.0, |rest, k| f64::from(k) / (z.abs() + rest));
    let tail = density / (z.abs() + fraction);
    if z > 0.0 { 1.0 - tail } else { tail }
}

#[test]
fn normal_follows_its_law_its_tails_cut_at_the_range() {
    for (sigma, centre) in
        [(5.0, 50.0), (0.25, 30.0), (20.0, 50.0), (100.0, 50.0), (10.0, 0.0), (30.0, 95.0)]
    {
        for places in [100u64, 244_140, 16_777_259] {
            let cells = 400.min(places as usize);
            let edge = |cell: usize| (cell as u64 * places).div_ceil(cells as u64);
            let z = |place: u64| (place as f64 / places as f64 * 100.0 - centre) / sigma;
            let chances: Vec<_> =
                (0..cells).map(|cell| below(z(edge(cell + 1))) - below(z(edge(cell)))).collect();
            let cell =
                |place: u64| (u128::from(place) * cells as u128 / u128::from(places)) as usize;
            let name = format!("normal:{sigma}%@{centre}%");
            let counts = counts(&name, places, 20_000, cells, cell);
            chi::holds(&counts, &chances, &format!("{name} over {places}"));
        }
    }
}

#[test]
fn the_normal_is_fine_in_its_middle_and_in_its_tails() {
    // One place is a hundredth of the standard deviation; cells reach 4.2 deviations out.
    let places = 1000u64;
    let chances: Vec<_> = (0..places)
        .map(|p| below((p + 1) as f64 / 100.0 - 5.0) - below(p as f64 / 100.0 - 5.0))
        .collect();
    let counts = counts("normal:10%", places, 100_000, 1000, |place| place as usize);
    chi::holds(&counts, &chances, "normal by hundredths");
    let beyond = |z: f64| {
        counts
            .iter()
            .zip(0..)
            .filter(|(_, p)| (f64::from(*p) / 100.0 + 0.005 - 5.0).abs() > z)
            .map(|(n, _)| n)
            .sum::<u64>()
    };
    // 3.654 is where the ziggurat's tail begins: 1652 of 6.4 million lie beyond, standard deviation 41.
    assert!(beyond(3.66).abs_diff((2.0 * below(-3.66) * 6.4e6) as u64) < 200, "{}", beyond(3.66));
}

#[test]
fn zones_get_their_shares_and_are_uniform_within() {
    for (zones, places, parts) in [
        ("zones:90%/10%,10%/90%", 244_140u64, vec![(0.9, 24_414), (0.1, 219_726)]),
        (
            "zones:0.25%/12.5%,50.75%/25%,49%/62.5%",
            16_777_259,
            vec![(0.0025, 2_097_157), (0.5075, 4_194_315), (0.49, 10_485_787)],
        ),
        ("zones:80%/4M,20%/rest", 10_007, vec![(0.8, 1024), (0.2, 8983)]),
        ("zones:0%/50%,100%/50%", 1000, vec![(0.0, 500), (1.0, 500)]),
    ] {
        let mut chances = Vec::new();
        let mut edges = vec![0];
        for (share, length) in parts {
            for _ in 0..20 {
                chances.push(share / 20.0);
            }
            let first = *edges.last().unwrap();
            edges.extend((1..=20u64).map(|n| first + n * length / 20));
        }
        assert_eq!(*edges.last().unwrap(), places, "{zones}");
        // Twentieths differ by a place.
        let mut exact = chances.clone();
        for (cell, chance) in exact.iter_mut().enumerate() {
            let zone = cell / 20 * 20;
            *chance *= (edges[cell + 1] - edges[cell]) as f64 * 20.0
                / (edges[zone + 20] - edges[zone]) as f64;
        }
        let counts = counts(zones, places, 15_000, exact.len(), |place| {
            edges.partition_point(|&e| e <= place) - 1
        });
        chi::holds(&counts, &exact, zones);
    }
}

#[test]
fn every_place_is_drawn_where_the_law_lets_it() {
    for pattern in
        ["uniform", "zipf:0.5", "zipf:1.2", "pareto:0.3", "normal:30%", "zones:50%/10%,50%/90%"]
    {
        for places in [1u64, 2, 3, 100, 1009] {
            let seen = counts(pattern, places, 40_000, places as usize, |place| place as usize);
            assert!(seen.iter().all(|&n| n > 0), "{pattern} over {places}");
        }
    }
}

#[test]
fn uniform_is_uniform() {
    for places in [7u64, 100, 244_140, 16_777_259] {
        let cells = places.min(100) as usize;
        let edge = |c: usize| (c as u64 * places).div_ceil(cells as u64);
        let chances: Vec<_> = (0..cells).map(|c| (edge(c + 1) - edge(c)) as f64).collect();
        let cell = |place: u64| (u128::from(place) * cells as u128 / u128::from(places)) as usize;
        chi::holds(&counts("uniform", places, 15_000, cells, cell), &chances, &places.to_string());
    }
}
