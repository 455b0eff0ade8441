// Draws the charts that a page brings as JSON, and asks for others as the time is moved.
"use strict";

// On a narrow screen a graph is as wide as it is high.
function fitted(layout) {
  if (window.innerWidth >= 600 || !layout.yaxis.scaleanchor) return layout;
  return { ...layout, height: 440, margin: { ...layout.margin, l: 4, r: 4 } };
}

function draw(holder, chart) {
  const known = chart || JSON.parse(holder.querySelector("script").textContent);
  return Plotly.react(holder.querySelector(".drawing"), known.data, fitted(known.layout), known.config);
}

function follow(form) {
  const until = form.querySelector("#until");
  const width = form.querySelector("#width");
  const shown = form.querySelector("#shown");
  const trouble = form.querySelector("#trouble");
  const duration = Number(form.dataset.duration);
  let waiting = false;
  let again = false;

  const asked = () => {
    const at = (duration * Number(until.value)) / Number(until.max);
    return new URLSearchParams({
      run: form.dataset.run,
      repetition: form.dataset.repetition,
      until: String(at),
      width: width.value,
    });
  };

  // One request at a time: what was moved meanwhile is asked for when the answer is there.
  const update = async () => {
    if (waiting) {
      again = true;
      return;
    }
    waiting = true;
    try {
      const response = await fetch(`/window?${asked()}`);
      const found = await response.json();
      if (!response.ok) throw new Error(found.error);
      trouble.textContent = "";
      shown.textContent = found.shown;
      until.setAttribute("aria-valuetext", found.shown);
      document.getElementById("counts").innerHTML = found.counts;
      await draw(document.getElementById("chart-phones"), found.phones);
      const drawing = document.querySelector("#chart-time .drawing");
      await Plotly.relayout(drawing, { shapes: found.shapes });
    } catch (error) {
      trouble.textContent = `Not shown: ${error.message}`;
    }
    waiting = false;
    if (again) {
      again = false;
      await update();
    }
  };
  until.addEventListener("input", update);
  width.addEventListener("change", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  // Moved before this was loaded, or as a browser keeps it when it loads a page again.
  if (until.value !== until.max || width.selectedIndex > 0) update();
}

// The token has made a cookie; in the address it would stay in the browser's history.
const address = new URL(window.location.href);
if (address.searchParams.has("token")) {
  address.searchParams.delete("token");
  window.history.replaceState(null, "", address);
}
document.querySelectorAll(".chart").forEach((holder) => draw(holder));
document.querySelectorAll("#window").forEach(follow);
