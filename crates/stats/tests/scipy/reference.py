"""Writes reference.txt: values that the tests hold this crate against. Needs SciPy (made with 1.17.1).

Each line is a name and numbers, the last of them what SciPy found.
"""
import itertools
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
    """P(U <= k)."""
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


for base, new in [(2, 2), (3, 5), (5, 5), (8, 8), (12, 9), (27, 27)]:
    for k in {0, 1, base * new // 5, base * new // 2, base * new - 1}:
        line("mannwhitneyu.cdf", base, new, k, u_at_most(k, base, new))

LOW, HIGH = math.log(0.97), math.log(1.03)


def brunner_munzel(base, new):
    with np.errstate(divide="ignore", invalid="ignore"):
        return stats.brunnermunzel(base, new).statistic


def of_all_deals(n):
    """The statistics of Brunner and Munzel of all ways to deal the ranks out."""
    found = []
    for deal in itertools.combinations(range(2 * n), n):
        base = np.array(deal)
        new = np.setdiff1d(np.arange(2 * n), base)
        a = (new[None, :] > base[:, None]).sum(axis=1)
        b = (new[None, :] > base[:, None]).sum(axis=0)
        error = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / n ** 3)
        share = a.sum() / n ** 2 - 0.5
        found.append(share / error if error > 0 else math.copysign(math.inf, share))
    return np.array(found)


ALL_DEALS = of_all_deals(8)


def studentised(n, base, new):
    """By the permuted test of Brunner and Munzel: estimate, interval and p, the borders moved as the ranks are widened."""
    x, y = np.log(base), np.log(new)
    all_d = np.sort(np.subtract.outer(y, x).ravel())
    middle = np.median(all_d)
    wider = math.sqrt(1 - min(0.0, stats.pearsonr(x, y).statistic))

    def above(border, sign):
        base, new = (x, y - border) if sign > 0 else (y - border, x)
        t = brunner_munzel(base, new)
        if not math.isfinite(t):
            t = math.copysign(math.inf, new.mean() - base.mean())
        return (ALL_DEALS >= t - 1e-9).mean()

    def p(border, sign):
        border = middle + (border - middle) / wider
        # Of all shifts up to the border: it is the greatest at one that lies just above a difference.
        outer = [d for d in all_d if (border - d) * sign >= 0]
        return max([above(border, sign)] + [above(d + sign * 1e-9, sign) for d in outer])

    shifted = [(d, above(d + 1e-9, 1), above(d - 1e-9, -1)) for d in all_d]
    low = min(d for d, p, _ in shifted if p > 0.025)
    high = max(d for d, _, p in shifted if p > 0.025)
    bound = lambda d: math.exp(middle + (d - middle) * wider)
    values = [math.exp(middle), bound(low), bound(high), p(HIGH, 1), p(LOW, -1), max(p(LOW, 1), p(HIGH, -1))]
    line("ranked", n, *base, *new, *values)


def ranked(n, base, new):
    if n >= 8:
        return studentised(n, base, new)
    all_d = np.sort(np.subtract.outer(np.log(new), np.log(base)).ravel())
    c = 0
    while u_at_most(c, n, n) <= 0.025:
        c += 1
    # Where the two values of a block go opposite ways the interval is wider about its middle.
    middle = np.median(all_d)
    wider = math.sqrt(1 - min(0.0, stats.pearsonr(np.log(base), np.log(new)).statistic))
    mwu = lambda border, side: stats.mannwhitneyu(
        np.log(new) - middle - (border - middle) / wider, np.log(base), alternative=side, method="exact").pvalue
    within = max(mwu(LOW, "greater"), mwu(HIGH, "less"))
    bound = lambda d: math.exp(middle + (d - middle) * wider)
    values = [math.exp(middle), bound(all_d[c - 1]), bound(all_d[n * n - c]),
              mwu(HIGH, "greater"), mwu(LOW, "less"), within]
    line("ranked", n, *base, *new, *values)


rng = np.random.default_rng(18)
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
        ranked(n, base, new)

# Growth: the slope through the means of six parts of the logarithms, and the lower end of its interval.
for n in [30, 47, 60]:
    x = np.cumsum(1 + 0.01 * rng.random(n))
    y = np.exp(2 + 0.03 * x + 0.02 * (-1) ** np.arange(n) * (1 + 0.1 * rng.random(n)))
    means = lambda v: [v[k * n // 6:(k + 1) * n // 6].mean() for k in range(6)]
    fit = stats.linregress(means(x), means(np.log(y)))
    half = stats.t.isf(0.025, 4) * fit.stderr
    line("linregress", n, *x, *y, fit.slope, fit.slope - half)

# The step that leaves the least squares, by trying every place.
for n, at, times in [(40, 12, 0.7), (60, 30, 1.3), (90, 70, 0.5)]:
    y = 100 * np.where(np.arange(n) < at, 1, times) * np.exp(0.05 * rng.normal(size=n))
    logs = np.log(y)
    edge = max(2, math.ceil(n * 0.1))
    left = lambda k: logs[:k].var() * k + logs[k:].var() * (n - k)
    best = min(range(edge, n - edge + 1), key=left)
    line("step", n, *y, best, math.exp(logs[:best].mean()), math.exp(logs[best:].mean()))

# Two factors, the second ordered: least squares with a column for every block, level and pair of levels, the estimates as contrasts.
for a, b, blocks in [(2, 2, 3), (3, 4, 2), (2, 3, 5)]:
    cells = [(block, i, k) for block in range(blocks) for i in range(a) for k in range(b)]
    own = rng.normal(0, 0.1, blocks)
    y = np.array([5 + own[r] + 0.1 * i - 0.05 * k + 0.08 * i * k + rng.normal(0, 0.02) for r, i, k in cells])
    column = lambda of: np.array([1.0 if of(*cell) else 0.0 for cell in cells])
    names = [None] + [("r", r) for r in range(1, blocks)] + [("a", i) for i in range(1, a)] + [("b", k) for k in range(1, b)]
    names += [("ab", i, k) for i in range(1, a) for k in range(1, b)]
    test = {"r": lambda n: lambda r, i, k: r == n[1], "a": lambda n: lambda r, i, k: i == n[1],
            "b": lambda n: lambda r, i, k: k == n[1], "ab": lambda n: lambda r, i, k: (i, k) == n[1:]}
    x = np.column_stack([np.ones(len(cells)) if n is None else column(test[n[0]](n)) for n in names])
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    freedom = len(cells) - len(names)
    s = math.sqrt(((y - x @ beta) ** 2).sum() / freedom)
    covariance = s * s * np.linalg.inv(x.T @ x)
    row = lambda i, k: np.array([1.0 if n is None else 1 / blocks if n[0] == "r" else float(test[n[0]](n)(0, i, k)) for n in names])
    at = lambda i=None, k=None: np.mean([row(p, q) for p in range(a) for q in range(b) if i in (None, p) and k in (None, q)], axis=0)
    contrasts = [at(i=i) - at(i=0) for i in range(1, a)] + [at(k=k) - at(k=k - 1) for k in range(1, b)]
    contrasts += [(at(i, k) - at(0, k)) - (at(i, k - 1) - at(0, k - 1)) for i in range(1, a) for k in range(1, b)]
    found = [number for c in contrasts for number in (c @ beta, math.sqrt(c @ covariance @ c))]
    line("factorial", a, b, blocks, *np.exp(y), s, *found)

for above, below in [(1, 4), (2, 3), (3, 16), (5, 24), (8, 7)]:
    for f in [0.1, 1.0, 3.24, 5.29, 40.0]:
        line("f.sf", above, below, f, stats.f.sf(f, above, below))
for many, each in [(4, 5), (2, 3), (3, 8)]:
    own = rng.normal(0, 1, (many, each)) + 0.5 * np.arange(many)[:, None]
    found = stats.f_oneway(*own)
    line("f_oneway", many, each, *own.ravel(), found.statistic, found.pvalue)

# The two values of a block go opposite ways.
for n in [5, 8]:
    for shift in [0.0, 0.08, -0.3]:
        base = np.exp(rng.normal(5, 0.03, n))
        new = np.exp(10 + shift + rng.normal(0, 0.01, n)) / base
        ranked(n, base, new)

for n in [5, 8, 12, 27]:
    base, new = rng.normal(0, 1, n), rng.normal(0.3, 3, n)
    line("brunnermunzel", n, *base, *new, brunner_munzel(base, new))

with open("reference.txt", "w") as file:
    file.write("\n".join(out) + "\n")
