// The threshold picker: what a threshold accepts, before and after.

// Beside the threshold, which looks best on these rows, stands the one that is promised for new ones, if one is asked for.
function drawPicker(section, set, after, threshold, risk) {
  const before = set.methods[set.before];
  const chart = section.querySelector(".chart");
  const promised = (after.promised[risk] ?? []).slice(0, 1);
  chart.replaceChildren(tradeOff(before, after, threshold, promised, chart.clientWidth));
  section.querySelector(".threshold").value = threshold;
  section.querySelector(".value").textContent = threshold.toFixed(3);
  for (const [side, method] of [
    ["before", before],
    ["after", after],
  ]) {
    const at = method.acceptance.at(threshold);
    const write = (row, text) => {
      section.querySelector(`[data-row=${row}] .${side}`).textContent = text;
    };
    write("coverage", percent(at.coverage));
    write("risk", percent(at.risk));
    write("wrong", `${count(at.wrong)} of ${count(at.accepted)}`);
  }
}

// What it takes to keep the error at most at a share, in words.
function reached(set, after, risk) {
  const words = (method, stride) => {
    const found = method.acceptance.keeping(risk, stride);
    return found
      ? `${percent(found.coverage)} can be accepted with ${method.label}, from ${fine(found.threshold)} up`
      : `with ${method.label} no threshold does it`;
  };
  const promised = after.promised[risk];
  const promise = promised
    ? `For new rows it is promised, with a probability of 95 %, from ${promised[0]} up: ${percent(promised[1])} are accepted.`
    : "These rows can't promise it for new ones.";
  return `For an error of at most ${percent(risk, 0)} on these rows: ${words(set.methods[set.before], 1)}; ${words(after, 1)}. ${promise}`;
}

const STRIDE = 60; // of packed steps: a threshold of three decimals

function pickable(section, pick, keep) {
  section.querySelector(".threshold").addEventListener("input", (event) => pick(Number(event.target.value)));
  for (const button of section.querySelectorAll(".shortcuts button")) {
    button.addEventListener("click", () => keep(Number(button.dataset.risk)));
  }
  const chart = section.querySelector(".chart");
  const drag = (event) => {
    if (!event.buttons && event.type !== "pointerdown") return;
    const svg = chart.querySelector("svg");
    const scale = chart.firstElementChild.scale("x");
    const { left, width } = svg.getBoundingClientRect();
    const at = scale.invert(((event.clientX - left) / width) * svg.viewBox.baseVal.width);
    pick(Math.round(1000 * Math.min(1, Math.max(0, at))) / 1000);
  };
  chart.addEventListener("pointerdown", (event) => {
    chart.setPointerCapture(event.pointerId);
    drag(event);
  });
  chart.addEventListener("pointermove", drag);
}
