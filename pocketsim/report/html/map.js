// Draws where the phones of a run are at the moment of a slider, and moves it.
"use strict";

const STEPS = 65535;
const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

function decoded(text, kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new KINDS[kind](bytes.buffer);
}

// Numbers of 16 bits as what they were made of: those between 0 and `most`.
function scaled(text, most) {
  return Float64Array.from(decoded(text, "u2"), (step) => (step * most) / STEPS);
}

// The last of the rows from `begin` to `end` that is not after `now`; the first where there is none.
function lastRow(times, begin, end, now) {
  let low = begin;
  let high = end - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= now) low = middle;
    else high = middle - 1;
  }
  return low;
}

function unpacked(given) {
  const { way, states, trades, places } = given;
  return {
    phones: decoded(given.phones, "u4"),
    way: {
      begins: decoded(way.begins, "u4"),
      time: scaled(way.time, given.duration_s),
      x: scaled(way.x, given.width_m),
      y: scaled(way.y, given.height_m),
    },
    states: {
      begins: decoded(states.begins, "u4"),
      time: scaled(states.time, given.duration_s),
      state: decoded(states.state, "u1"),
    },
    trades: {
      time: scaled(trades.time, given.duration_s),
      one: decoded(trades.one, "u4"),
      other: decoded(trades.other, "u4"),
      fate: decoded(trades.fate, "u1"),
    },
    places: places.map(({ name, x, y }) => ({
      name, x: [...scaled(x, given.width_m)], y: [...scaled(y, given.height_m)],
    })),
  };
}

// Writes the places of all phones at a moment into two columns.
function locate(way, now, x, y) {
  for (let phone = 0; phone < x.length; phone += 1) {
    const end = way.begins[phone + 1];
    const row = lastRow(way.time, way.begins[phone], end, now);
    const next = Math.min(row + 1, end - 1);
    const takes = way.time[next] - way.time[row];
    const share = takes > 0 ? Math.max(0, (now - way.time[row]) / takes) : 0;
    x[phone] = way.x[row] + share * (way.x[next] - way.x[row]);
    y[phone] = way.y[row] + share * (way.y[next] - way.y[row]);
  }
}

// The class of a phone at a moment: its network's number, that of outages, or that of who is off.
function classOf(states, phone, now, isOut, networks) {
  const row = lastRow(states.time, states.begins[phone], states.begins[phone + 1], now);
  const state = states.state[row];
  if (state === 0) return networks + 1;
  return isOut[state - 1] ? networks : state - 1;
}

// A trace with nowhere to be: it has its place in the legend nevertheless.
function empty() {
  return { x: [null], y: [null], phones: [null] };
}

// The ends of lines for the trades of the last moments, by what became of them.
function lines(trades, x, y, now, shown_s) {
  const found = [0, 1, 2].map(empty);
  const last = trades.time.length ? lastRow(trades.time, 0, trades.time.length, now) : -1;
  for (let row = last; row >= 0 && trades.time[row] > now - shown_s; row -= 1) {
    if (trades.time[row] > now) continue;
    const line = found[trades.fate[row]];
    line.x.push(x[trades.one[row]], x[trades.other[row]], null);
    line.y.push(y[trades.one[row]], y[trades.other[row]], null);
  }
  return found;
}

function hasWebGL() {
  const context = document.createElement("canvas").getContext("webgl");
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return Boolean(context);
}

function traces(given, { places, trades }) {
  const type = hasWebGL() ? "scattergl" : "scatter";
  const common = { type, x: [null], y: [null] };
  const line = ({ name, colour }, fate) => ({
    ...common, name, mode: "lines", hoverinfo: "skip", line: { color: colour, width: 2 },
    showlegend: trades.fate.includes(fate),
  });
  const marker = (name) => ({
    symbol: name === "workplace" ? "diamond-open" : "square-open",
    size: window.innerWidth < 600 ? 8 : 13, color: "#75818d",
  });
  return [
    ...places.map((place) => ({
      ...common, ...place, mode: "markers", marker: marker(place.name), hoverinfo: "skip",
    })),
    ...given.fates.map(line),
    ...given.classes.map(({ name, colour, occurs }) => ({
      ...common, name, mode: "markers", marker: { color: colour, size: window.innerWidth < 600 ? 4 : 6 }, showlegend: occurs,
      customdata: [], hovertemplate: "phone %{customdata}<extra></extra>",
    })),
  ];
}

// What the traces after that of places have at a moment.
function moment(given, found, now, x, y) {
  const networks = given.networks.length;
  const isOut = given.networks.map((_, number) =>
    given.outages.some(
      ([access, start, end]) => (access < 0 || access === number) && start <= now && now < end,
    ),
  );
  locate(found.way, now, x, y);
  const dots = given.classes.map(empty);
  for (let phone = 0; phone < x.length; phone += 1) {
    const dot = dots[classOf(found.states, phone, now, isOut, networks)];
    dot.x.push(x[phone]);
    dot.y.push(y[phone]);
    dot.phones.push(found.phones[phone]);
  }
  return [...lines(found.trades, x, y, now, given.shows_s), ...dots];
}

// As high as the rectangle needs on a page of this width; on a narrow one the legend has more rows.
function fitted({ layout, width_m, height_m }, width, shapes) {
  const isNarrow = width < 500;
  const names = shapes.filter((trace) => trace.showlegend).length;
  const rows = isNarrow ? names : Math.ceil(names / 3);
  const margin = { ...layout.margin, l: isNarrow ? 48 : 62, r: 12, b: 62 + 20 * rows };
  const inside = ((width - margin.l - margin.r) * height_m) / width_m;
  const height = margin.t + margin.b + Math.max(120, Math.min(inside, layout.height));
  return { ...layout, margin, height };
}

function clock(now_s) {
  const minutes = Math.floor(now_s / 60 + 1e-6);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`;
}

function mapped(holder) {
  const given = JSON.parse(holder.querySelector("script").textContent);
  const found = unpacked(given);
  const drawing = holder.querySelector(".drawing");
  const [play, slider, shown, speed] = ["button", "input", "output", "select"].map((name) =>
    holder.querySelector(name),
  );
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const x = new Float64Array(found.phones.length);
  const y = new Float64Array(found.phones.length);
  let now = 0;
  let drawn = Promise.resolve();

  const draw = () => {
    const parts = moment(given, found, now, x, y);
    const columns = {
      x: parts.map((part) => part.x),
      y: parts.map((part) => part.y),
      customdata: parts.map((part) => part.phones),
    };
    shown.textContent = `${clock(now)} of ${clock(given.duration_s)} h`;
    slider.setAttribute("aria-valuetext", shown.textContent);
    drawn = Plotly.restyle(drawing, columns, parts.map((_, number) => number + found.places.length));
    return drawn;
  };

  const stop = () => {
    play.setAttribute("aria-pressed", "false");
    play.textContent = "Play";
  };
  const isPlaying = () => play.getAttribute("aria-pressed") === "true";

  // Nothing moves unless it is asked to. Who wants little motion sees a step a second.
  const step = (before) => async (at) => {
    if (!isPlaying()) return;
    const passed = (at - before) / 1000;
    if (calm.matches && passed < 1) {
      requestAnimationFrame(step(before));
      return;
    }
    now = Math.min(now + (passed * given.duration_s) / Number(speed.value), given.duration_s);
    slider.value = String(now / 60);
    await draw();
    if (now >= given.duration_s) stop();
    requestAnimationFrame(step(at));
  };

  play.addEventListener("click", () => {
    if (isPlaying()) {
      stop();
      return;
    }
    if (now >= given.duration_s) now = 0;
    play.setAttribute("aria-pressed", "true");
    play.textContent = "Pause";
    requestAnimationFrame((at) => requestAnimationFrame(step(at)));
  });
  slider.addEventListener("input", () => {
    now = Math.min(Number(slider.value) * 60, given.duration_s);
    draw();
  });

  const shapes = traces(given, found);
  const config = { ...given.config, plotGlPixelRatio: window.devicePixelRatio };
  Plotly.newPlot(drawing, shapes, fitted(given, drawing.clientWidth, shapes), config).then(draw);
}

document.querySelectorAll("figure.map").forEach(mapped);
