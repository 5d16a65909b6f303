"use strict";
// State that a test (or a curious person) can read; mirrored into attributes of <html>.
const fathom = window.__fathom = { errors: [], drawn: 0, charts: 0 };
const root = document.documentElement;
const publish = () => {
  root.dataset.errors = fathom.errors.join(" | ");
  root.dataset.drawn = fathom.drawn;
  root.dataset.charts = fathom.charts;
};
const failed = what => { fathom.errors.push(String(what)); publish(); };
addEventListener("error", e => failed(e.message));
addEventListener("unhandledrejection", e => failed(e.reason));
const consoleError = console.error.bind(console);
console.error = (...words) => { failed(words.join(" ")); consoleError(...words); };

const specs = new Map();
for (const block of document.querySelectorAll("script.charts"))
  for (const chart of JSON.parse(block.textContent)) specs.set(block.dataset.result + "-" + chart.id, chart);
const plots = [...document.querySelectorAll(".plot[data-chart]")];
fathom.charts = plots.length;
publish();

// The library is packed once; the first chart that comes into view unpacks it.
let library;
const load = () => library ??= (async () => {
  const packed = atob(document.getElementById("plotly").textContent.trim());
  const bytes = Uint8Array.from(packed, c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  return window.Plotly;
})();

const css = name => getComputedStyle(root).getPropertyValue(name).trim();
const colour = s => s.variant === null ? css(`--h${s.hue % 10}`) : s.variant < 8 ? css(`--v${s.variant}`)
  : `hsl(${Math.round((85 + (s.variant - 8) * 197) % 360)},60%,${css("--more")})`;
const scaled = (v, step, units) => {
  let i = 0;
  while (Math.abs(v) >= step && i + 1 < units.length) { v /= step; i++; }
  return [v, units[i]];
};
const short = v => v === 0 ? "0" : String(Number(v.toPrecision(3)));
const show = (unit, v) => {
  if (v === null || v === undefined) return "–";
  const bytes = () => { const [n, u] = scaled(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]); return short(n) + " " + u; };
  const time = ns => { const a = Math.abs(ns);
    return a >= 1e9 ? short(ns / 1e9) + " s" : a >= 1e6 ? short(ns / 1e6) + " ms" : a >= 1e3 ? short(ns / 1e3) + " µs" : short(ns) + " ns"; };
  switch (unit) {
    case "bytes": return bytes();
    case "bytes_per_second": return bytes() + "/s";
    case "nanos": return time(v);
    case "micros": return time(v * 1e3);
    case "seconds": return short(v) + " s";
    case "percent": return short(v) + " %";
    case "ratio": return short(v);
    default: { const [n, u] = scaled(v, 1000, ["", "k", "M", "G"]); return short(n) + u + (unit === "per_second" ? "/s" : ""); }
  }
};

// Round positions for about five ticks; powers of two where the unit counts bytes.
const ticks = (unit, low, high) => {
  if (!(high > low)) return [low];
  const raw = (high - low) / 5, base = unit.startsWith("bytes") ? 2 : 10;
  const power = base ** Math.floor(Math.log(raw) / Math.log(base));
  const step = base === 2 ? (raw / power > 1.4 ? power * 2 : power) : [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw);
  const out = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-6; t += step) out.push(Math.abs(t) < step * 1e-6 ? 0 : t);
  return out;
};
const logTicks = (unit, low, high) => {
  const out = [];
  if (unit.startsWith("bytes")) {
    // Fewer than three ticks tell no scale.
    for (const base of [16, 4, 2]) {
      out.length = 0;
      for (let t = base ** Math.floor(Math.log(low) / Math.log(base)); t <= high * 1.25; t *= base) if (t >= low * .8) out.push(t);
      if (out.length > 2) return out;
    }
    return ticks(unit, low, high);
  }
  for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high) + 1; e++)
    for (const m of [1, 2, 5]) { const t = m * 10 ** e; if (t >= low * .8 && t <= high * 1.25) out.push(t); }
  if (out.length < 3) return ticks(unit, low, high);
  return out.length > 9 ? out.filter(t => /^1/.test(t.toExponential())) : out;
};
const nines = [[0, "0 %"], [.3010299957, "50 %"], [1, "90 %"], [2, "99 %"], [3, "99.9 %"], [4, "99.99 %"], [5, "99.999 %"], [6, "99.9999 %"]];
const share = x => { const q = 100 * (1 - 10 ** -x); return (x >= 2 ? q.toFixed(Math.ceil(x)) : q.toFixed(1)) + " %"; };

const extent = lists => { let low = Infinity, high = -Infinity;
  for (const list of lists) for (const v of list) if (v !== null) { if (v < low) low = v; if (v > high) high = v; }
  return [low, high]; };

const axis = (a, low, high) => {
  const out = { title: { text: a.label, font: { size: 12.5 }, standoff: 8 }, gridcolor: css("--line"), zeroline: false,
    linecolor: css("--line"), tickfont: { size: 12 }, automargin: true };
  if (a.scale === "nines") {
    const shown = nines.filter(n => n[0] <= high + .05 && (innerWidth > 700 || n[0] >= 1));
    out.tickangle = 0;
    if (innerWidth <= 700) out.tickfont.size = 10;
    Object.assign(out, { tickmode: "array", tickvals: shown.map(n => n[0]), ticktext: shown.map(n => n[1]), range: [0, high * 1.02] });
  } else if (a.scale === "log") {
    const at = logTicks(a.unit, low, high);
    Object.assign(out, { type: "log", tickmode: "array", tickvals: at, ticktext: at.map(t => show(a.unit, t)) });
  } else {
    const at = ticks(a.unit, Math.min(0, low), high);
    Object.assign(out, { tickmode: "array", tickvals: at, ticktext: at.map(t => show(a.unit, t)) });
  }
  return out;
};

// What the lines of one name have in common; the legend's entries carry it.
const group = s => s.variant === null ? "h" + s.hue : "v" + s.variant + "-" + s.hue;

const PAPER = 690;
const figure = spec => {
  const stacked = spec.shape === "stacked", bars = spec.shape === "bars", named = spec.shape === "marked", repeats = spec.series.some(s => s.repeat !== null);
  const traces = spec.series.map(s => {
    const bold = s.repeat === null, c = colour(s);
    if (bars) return { type: "bar", name: s.name, x: s.x, y: s.y, marker: { color: c }, hoverinfo: "text", textposition: "none",
      visible: !spec.hidden?.has(group(s)), text: s.y.map(y => `${s.name}: ${show(spec.y.unit, y)}`) };
    // A point without neighbours has no line: a mark shows it.
    const known = i => (s.y[i] ?? null) !== null;
    const alone = s.y.map((_, i) => known(i) && !known(i - 1) && !known(i + 1));
    const marked = named || alone.includes(true);
    return { type: "scatter", mode: marked ? "lines+markers" : "lines", name: s.name, x: s.x, y: s.y, connectgaps: false,
      visible: !spec.hidden?.has(group(s)), ...(marked && { marker: { color: c, size: alone.map(a => a || named ? (bold ? 9 : 6) : 0) } }), hoverinfo: bold ? "text" : "skip",
      text: bold ? s.y.map((y, i) => `${s.name}: ${show(spec.y.unit, y)}${spec.x.scale === "nines" ? " at " + share(s.x[i]) : ""}`) : undefined,
      opacity: bold ? 1 : .38, stackgroup: stacked ? "one" : undefined, fillcolor: stacked ? c + "99" : undefined,
      line: { color: c, width: stacked ? .8 : bold ? (repeats ? 2.6 : 2) : 1, dash: stacked || s.variant === null ? undefined : s.hue % 2 ? "dot" : s.variant >= 8 ? "dash" : undefined } };
  });
  // What is told of a moment is in sight.
  const [xl, xh] = extent([...spec.series.map(s => s.x), (spec.marks ?? []).flatMap(m => [m.x, m.low, m.high])]);
  // By the logarithm, what is nothing has no place.
  const place = y => spec.y.scale === "log" && y !== null && y <= 0 ? null : y;
  let [yl, yh] = extent(spec.series.map(s => s.y.map(place)));
  if (stacked) {
    const sums = new Map();
    for (const s of spec.series) s.x.forEach((x, i) => sums.set(x, (sums.get(x) ?? 0) + (s.y[i] ?? 0)));
    yh = Math.max(...sums.values());
  }
  const x = axis(spec.x, xl, xh);
  if (named) {
    const at = [...new Set(spec.series.flatMap(s => s.x))].sort((a, b) => a - b);
    Object.assign(x, { tickmode: "array", tickvals: at, ticktext: spec.names });
  }
  if (spec.x.scale === "linear") x.range = [Math.min(0, xl), xh > 0 ? xh * 1.01 : 1];
  if (spec.id.startsWith("strip-")) {
    const at = x.tickvals.filter(Number.isInteger);
    Object.assign(x, { tickvals: at, ticktext: at.map(String) });
  }
  if (bars) {
    const room = innerWidth < 600 ? 12 : 28;
    Object.assign(x, { tickmode: "array", tickvals: spec.names.map((_, i) => i), range: [-.5, spec.names.length - .5],
      ticktext: spec.names.map(n => n.length > room ? n.slice(0, room - 1) + "…" : n) });
  }
  const y = axis(spec.y, spec.y.scale === "linear" ? Math.min(0, yl) : yl, yh);
  if (spec.y.scale === "linear") y.range = [Math.min(0, yl), (yh || 1) * 1.06];
  const narrow = innerWidth < 600;
  // Where the series of a variant changes, and from where to where that may be.
  const marks = (spec.marks ?? []).map(m => ({ ...m, series: { variant: m.variant, hue: 0 } })).filter(m => !spec.hidden?.has(group(m.series)));
  const shapes = marks.flatMap(m => [
    ...(m.low !== null && m.high !== null ? [{ type: "rect", x0: m.low, x1: m.high, y0: 0, y1: 1, yref: "paper", line: { width: 0 }, fillcolor: colour(m.series), opacity: .12, layer: "below" }] : []),
    { type: "line", x0: m.x, x1: m.x, y0: 0, y1: 1, yref: "paper", line: { color: colour(m.series), width: 1.6, dash: "dash" } }]);
  // Of marks that say the same one is named.
  const told = marks.filter((m, i) => marks.findIndex(o => o.label === m.label && o.variant === m.variant) === i);
  // A name near the right edge stands on the left of its line, so that it is not cut off.
  const left = m => Number.isFinite(xh) && xh > xl && (m.x - xl) / (xh - xl) > .75;
  const annotations = told.map((m, i) => ({ x: m.x, y: 1 - .07 * i, yref: "paper", yanchor: "top", xanchor: left(m) ? "right" : "left", xshift: left(m) ? -3 : 3, showarrow: false, text: m.label, font: { size: 12, color: colour(m.series) } }));
  // Paper is narrower than most windows.
  const print = "print" in root.dataset;
  return [traces, { height: narrow ? 300 : 346, ...(print ? { width: PAPER } : { autosize: true }), margin: { l: 12, r: 12, t: 8, b: 8 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: css("--sans"), color: css("--soft"), size: 12.5 }, xaxis: x, yaxis: y,
    modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--faint"), activecolor: css("--ink") },
    shapes, annotations, showlegend: false, hovermode: "x",
    hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: css("--ink"), family: css("--sans") } } },
    { displaylogo: false, responsive: true, displayModeBar: narrow ? false : "hover", showSendToCloud: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] }];
};

const draw = async box => {
  if (box.dataset.state) return;
  box.dataset.state = "drawing";
  try {
    const plotly = await load();
    const spec = specs.get(box.dataset.chart);
    const inner = document.createElement("div");
    box.replaceChildren(inner);
    await plotly.newPlot(inner, ...figure(spec));
    box.dataset.state = "drawn";
    fathom.drawn++;
    publish();
  } catch (error) {
    failed(`${box.dataset.chart}: ${error}`);
  }
};
const redraw = () => { for (const box of plots)
  if (box.dataset.state === "drawn") window.Plotly.react(box.firstChild, ...figure(specs.get(box.dataset.chart))); };

const seen = new IntersectionObserver(entries => {
  for (const e of entries) if (e.isIntersecting) { seen.unobserve(e.target); draw(e.target); }
}, { rootMargin: "300px" });
// A link to the page that ends in #all draws everything at once: for saving, and for tests.
if (location.hash === "#all") plots.forEach(draw);
else plots.forEach(p => seen.observe(p));

// What was drawn while it was folded had no width.
document.addEventListener("toggle", e => { if (e.target.open) for (const box of plots)
  if (box.dataset.state === "drawn" && e.target.contains(box)) window.Plotly.Plots.resize(box.firstChild); }, true);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
// A link to a folded part, or to something in one, opens it.
const reveal = hash => {
  const at = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
  for (let fold = at && at.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  return at;
};
addEventListener("hashchange", () => reveal(location.hash)?.scrollIntoView());
document.addEventListener("click", e => { const link = e.target.closest?.('a[href^="#"]'); if (link) reveal(link.getAttribute("href")); });
reveal(location.hash);

// Paper cannot be unfolded.
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:is(.part, .finding, .why, .long):not([open])")];
  for (const fold of unfolded) fold.open = true;
  root.dataset.print = ""; plots.forEach(draw); redraw();
});
addEventListener("afterprint", () => { for (const fold of unfolded) fold.open = false; delete root.dataset.print; redraw(); });

// A click on a name hides its lines, or shows them again.
for (const key of document.querySelectorAll(".legend li")) {
  const box = key.closest("figure").querySelector(".plot");
  const toggle = async () => {
    const spec = specs.get(box.dataset.chart), hidden = (spec.hidden ??= new Set());
    if (!hidden.delete(key.dataset.group)) hidden.add(key.dataset.group);
    key.setAttribute("aria-pressed", !hidden.has(key.dataset.group));
    if (box.dataset.state === "drawn") window.Plotly.react(box.firstChild, ...figure(spec));
  };
  key.tabIndex = 0;
  key.setAttribute("role", "button");
  key.setAttribute("aria-pressed", "true");
  key.addEventListener("click", toggle);
  key.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); toggle(); } });
}

for (const pre of document.querySelectorAll(".copy pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(pre.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  pre.after(button);
}
