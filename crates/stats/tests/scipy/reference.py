"""Writes reference.txt: values that the tests hold this crate against. Needs SciPy (made with 1.17.1).

Each line is a name and numbers, the last of them what SciPy found.
"""
import math
import numpy as np
from scipy import stats

out = []


def line(name, *numbers):
    out.append(" ".join([name, *(repr(float(n)) for n in numbers)]))


for freedom in [1, 2, 3, 4, 7, 11, 17, 26, 60, 999]:
    for t in [-2.5, 0.01, 0.5, 1.0, 2.776, 4.22, 12.0, 80.0]:
        line("t.sf", freedom, t, stats.t.sf(t, freedom))
    for alpha in [0.1, 0.05, 0.0135, 0.05 / 6, 1e-4]:
        line("t.isf", freedom, alpha, stats.t.isf(alpha / 2, freedom))


def u_at_most(k, base, new):
    """P(U <= k), exact up to 50 a side."""
    if max(base, new) > 50:
        deviation = math.sqrt(base * new * (base + new + 1) / 12)
        return stats.norm.cdf((k + 0.5 - base * new / 2) / deviation)
    # Values without ties that have just this U.
    ranks = list(range(1, base + 1))
    left = k
    for place in reversed(range(base)):
        step = min(new, left)
        ranks[place] += step
        left -= step
    others = [r for r in range(1, base + new + 1) if r not in ranks]
    found = stats.mannwhitneyu(ranks, others, alternative="less", method="exact")
    assert found.statistic == k
    return found.pvalue


for base, new in [(2, 2), (3, 5), (5, 5), (8, 8), (12, 9), (27, 27), (80, 80)]:
    for k in {0, 1, base * new // 5, base * new // 2, base * new - 1}:
        line("mannwhitneyu.cdf", base, new, k, u_at_most(k, base, new))

rng = np.random.default_rng(18)
LOW, HIGH = math.log(0.97), math.log(1.03)
for n in [2, 5, 8]:
    for shift, spread in [(0.0, 0.005), (0.02, 0.03), (0.06, 0.02), (-0.3, 0.1)]:
        base = np.exp(rng.normal(5, 0.05, n))
        new = base * np.exp(rng.normal(shift, spread, n))
        d = np.log(new) - np.log(base)
        test = stats.ttest_1samp(d, 0.0)
        interval = test.confidence_interval(0.95)
        above = stats.ttest_1samp(d, HIGH, alternative="greater").pvalue
        below = stats.ttest_1samp(d, LOW, alternative="less").pvalue
        within = max(stats.ttest_1samp(d, LOW, alternative="greater").pvalue,
                     stats.ttest_1samp(d, HIGH, alternative="less").pvalue)
        values = [math.exp(d.mean()), math.exp(interval.low), math.exp(interval.high), above, below, within]
        line("paired", n, *base, *new, *values)
        if n < 4:
            continue
        all_d = np.sort(np.subtract.outer(np.log(new), np.log(base)).ravel())
        c = 0
        while u_at_most(c, n, n) <= 0.025:
            c += 1
        mwu = lambda border, side: stats.mannwhitneyu(
            np.log(new) - border, np.log(base), alternative=side, method="exact").pvalue
        within = max(mwu(LOW, "greater"), mwu(HIGH, "less"))
        values = [math.exp(np.median(all_d)), math.exp(all_d[c - 1]), math.exp(all_d[n * n - c]),
                  mwu(HIGH, "greater"), mwu(LOW, "less"), within]
        line("ranked", n, *base, *new, *values)

with open("reference.txt", "w") as file:
    file.write("\n".join(out) + "\n")
