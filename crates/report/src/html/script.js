"use strict";
// State that a test (or a curious person) can read; mirrored into attributes of <html>.
const fathom = window.__fathom = { errors: [], charts: 0 };
const root = document.documentElement;
const publish = () => {
  root.dataset.errors = fathom.errors.join(" | ");
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
const plots = [...document.querySelectorAll(".plot[data-chart]")].map(box => ({
  box, spec: specs.get(box.dataset.chart), room: box.querySelector(".room"), legend: box.closest("figure").querySelector(".legend"),
  all: [+box.dataset.from, +box.dataset.to], seen: [+box.dataset.from, +box.dataset.to], ticks: box.querySelector(".xs").innerHTML }));
fathom.charts = plots.length;
publish();

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

const share = x => { const q = 100 * (1 - 10 ** -x); return (x >= 2 ? q.toFixed(Math.ceil(x)) : q.toFixed(1)) + " %"; };

// What the lines of one name have in common; the legend's entries carry it.
const group = s => s.variant === null ? "h" + s.hue : "v" + s.variant + "-" + s.hue;
const log = plot => plot.spec.x.scale === "log" && plot.all[0] > 0;
const number = (plot, share) => { const [a, b] = plot.seen; return log(plot) ? a * (b / a) ** share : a + share * (b - a); };
const place = (plot, x) => { const [a, b] = plot.seen; return log(plot) ? Math.log(x / a) / Math.log(b / a) : (x - a) / (b - a); };
// Charts of one result over one axis are read, and cut, together.
const peers = plot => plot.box.dataset.cut === undefined ? [plot] : plots.filter(o => o.box.dataset.cut !== undefined
  && o.spec.x.label === plot.spec.x.label && o.box.dataset.chart.split("-")[0] === plot.box.dataset.chart.split("-")[0]);

// The place of the position nearest to x among those where there is a value; all are in their order.
const nearest = (s, x) => {
  let low = 0, high = s.x.length - 1;
  while (low < high) { const middle = (low + high) >> 1; if (s.x[middle] < x) low = middle + 1; else high = middle; }
  if (low > 0 && Math.abs(s.x[low - 1] - x) < Math.abs(s.x[low] - x)) low--;
  for (const at of [low, low - 1, low + 1]) if ((s.y[at] ?? null) !== null) return at;
  return low;
};
// Tells whether a line goes as far as x, or nearly.
const within = (s, x) => {
  const last = s.x.length - 1, step = last > 0 ? (s.x[last] - s.x[0]) / last : Infinity;
  return x >= s.x[0] - step && x <= s.x[last] + step;
};
const moment = (plot, x) => {
  const { spec } = plot;
  if (spec.shape === "bars") return spec.names[Math.round(x)] ?? "";
  if (spec.shape === "marked") {
    const all = [...new Set(spec.series.flatMap(s => s.x))].sort((a, b) => a - b);
    return spec.names[all.indexOf(all.reduce((a, b) => Math.abs(b - x) < Math.abs(a - x) ? b : a))] ?? "";
  }
  return spec.x.scale === "nines" ? share(x) : spec.x.unit === "count" ? String(Math.round(x)) : show(spec.x.unit, x);
};
// Shows what every line of a chart says at x; nothing where x is null, or beyond the chart.
const read = (plot, x) => {
  const { box, spec, room, legend } = plot;
  if (x !== null && !(place(plot, x) >= 0 && place(plot, x) <= 1)) x = null;
  room.querySelector(".cursor")?.remove();
  legend.classList.toggle("read", x !== null);
  delete box.querySelector(".xl").dataset.here;
  plot.at = x;
  if (x === null) return;
  const line = document.createElement("i");
  line.className = "cursor";
  line.style.left = 100 * place(plot, x) + "%";
  room.append(line);
  box.querySelector(".xl").dataset.here = moment(plot, x);
  for (const key of legend.children) {
    const s = spec.series.find(s => s.repeat === null && group(s) === key.dataset.group);
    const value = key.querySelector("b") ?? key.appendChild(document.createElement("b"));
    value.textContent = s?.x.length && within(s, x) ? show(spec.y.unit, s.y[nearest(s, x)]) : "–";
  }
};

// Round positions for about five ticks; whole ones of what is counted.
const ticks = (low, high, counted) => {
  const raw = Math.max((high - low) / 5, counted ? 1 : 0), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw * .999999), out = [];
  for (let n = Math.ceil(low / step); n * step <= high * 1.0000001; n++) out.push(n * step);
  return out;
};
// Stretches a part of a chart over its whole width.
const cut = (plot, from, to) => {
  const [a, b] = plot.all, [low, high] = [Math.max(a, from), Math.min(b, to)], part = x => (x - a) / (b - a);
  if (!(high - low > (b - a) / 1000)) return;
  plot.seen = [low, high];
  plot.room.querySelector("svg").setAttribute("viewBox", `${2000 * part(low)} 0 ${2000 * (part(high) - part(low))} 1000`);
  for (const mark of plot.room.querySelectorAll(".at")) {
    mark.dataset.all ??= parseFloat(mark.style.left) / 100;
    const at = (mark.dataset.all - part(low)) / (part(high) - part(low));
    mark.style.left = 100 * at + "%";
    mark.style.visibility = at < 0 || at > 1 ? "hidden" : "";
  }
  const xs = plot.box.querySelector(".xs");
  if (low === a && high === b) xs.innerHTML = plot.ticks;
  else xs.replaceChildren(...ticks(low, high, plot.spec.x.unit === "count").map(t => {
    const tick = document.createElement("span");
    tick.style.left = 100 * place(plot, t) + "%";
    // More digits than anywhere else: the places may lie close to each other.
    tick.textContent = plot.spec.x.unit === "seconds" ? Number(t.toPrecision(7)) + " s" : moment(plot, t);
    return tick;
  }));
  read(plot, null);
};

for (const plot of plots) {
  const { box, room } = plot, whole = () => peers(plot).forEach(o => cut(o, ...o.all));
  const along = e => { const r = room.getBoundingClientRect(); return Math.min(1, Math.max(0, (e.clientX - r.left) / r.width)); };
  let began = null, chosen = null;
  const dropped = () => { chosen?.remove(); began = chosen = null; };
  room.addEventListener("pointermove", e => {
    const share = along(e);
    peers(plot).forEach(o => read(o, number(plot, share)));
    if (began === null || box.dataset.cut === undefined) return;
    chosen ??= room.appendChild(Object.assign(document.createElement("i"), { className: "chosen" }));
    chosen.style.left = 100 * Math.min(began, share) + "%";
    chosen.style.width = 100 * Math.abs(share - began) + "%";
  });
  room.addEventListener("pointerdown", e => { if (e.pointerType === "mouse" && e.button === 0) { began = along(e); e.preventDefault(); room.focus({ preventScroll: true }); } });
  room.addEventListener("pointerup", e => {
    const [a, b] = began === null ? [0, 0] : [Math.min(began, along(e)), Math.max(began, along(e))];
    dropped();
    if (b - a > .01 && box.dataset.cut !== undefined) { const ends = [number(plot, a), number(plot, b)]; peers(plot).forEach(o => cut(o, ...ends)); }
  });
  room.addEventListener("pointerleave", () => { dropped(); peers(plot).forEach(o => read(o, null)); });
  room.addEventListener("dblclick", whole);
  room.addEventListener("blur", () => peers(plot).forEach(o => read(o, null)));
  room.addEventListener("keydown", e => {
    // Those with a modifier are the browser's.
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const [a, b] = plot.seen, at = plot.at ?? (a + b) / 2, step = (b - a) / 100;
    const keys = {
      ArrowLeft: () => peers(plot).forEach(o => read(o, Math.max(a, at - step))),
      ArrowRight: () => peers(plot).forEach(o => read(o, Math.min(b, at + step))),
      "+": () => peers(plot).forEach(o => cut(o, at - (b - a) / 4, at + (b - a) / 4)),
      "-": whole, Escape: whole,
    };
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
}

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
});
addEventListener("afterprint", () => { for (const fold of unfolded) fold.open = false; });

// A click on a name hides its lines, or shows them again.
for (const key of document.querySelectorAll(".legend li")) {
  const room = key.closest("figure").querySelector(".room");
  const toggle = () => {
    const off = key.getAttribute("aria-pressed") === "true";
    key.setAttribute("aria-pressed", !off);
    for (const line of room.querySelectorAll(`[data-group="${key.dataset.group}"]`)) line.classList.toggle("off", off);
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
