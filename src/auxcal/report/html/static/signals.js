// Which signals count, and the confidence by each of them.

function signalCounts(signals, width) {
  const longest = d3.max(signals, ({ name }) => name.length);
  const ends = signals.map(({ name, counts, error }) => ({ name, counts, low: counts - 2 * error, high: counts + 2 * error }));
  return drawn(width, {
    height: 50 + 30 * signals.length,
    marginLeft: Math.min(14 + 7 * longest, width / 2.5),
    marginBottom: 40,
    x: { label: "rise of the Brier score", labelAnchor: "center", labelArrow: "none", grid: true, zero: true, ticks: 4 },
    y: { domain: signals.map(({ name }) => name), label: null, tickSize: 0 },
    ariaLabel: "How much the Brier score rises when each signal is shuffled",
    marks: [
      Plot.barX(ends, { y: "name", x: "counts", fill: CORRECT, fillOpacity: 0.45, insetTop: 4, insetBottom: 4 }),
      Plot.ruleY(ends, { y: "name", x1: "low", x2: "high", stroke: "var(--ink)", strokeOpacity: 0.7 }),
      Plot.ruleX([0], { stroke: MUTED }),
    ],
  });
}

const describedBin = (bin) =>
  `${bin.name}\n${count(bin.rows)} answers\nconfidence ${PERCENT(bin.confidence)}` +
  `\nright ${PERCENT(bin.right)} (${PERCENT(bin.low)} to ${PERCENT(bin.high)})`;

const dotSize = { type: "sqrt", range: [2, 6] };

// A number: its bins from left to right, each with as many answers unless its values are few; gaps stand apart.
function signalCurve({ name, bins: all }, width) {
  const known = all.filter((bin) => bin.name !== "missing");
  const places = all.map((bin) => bin.name);
  const step = Math.ceil((7 * d3.max(places, (place) => place.length) * places.length) / Math.max(width - 60, 1));
  return drawn(width, {
    height: 220,
    marginBottom: 36,
    x: { type: "band", domain: places, label: null, ticks: places.filter((_, i) => i % step === 0 || places[i] === "missing") },
    y: { ...SHARE, label: null, grid: true, tickFormat: PERCENT },
    r: dotSize,
    ariaLabel: `Confidence and share of right answers by ${name}`,
    marks: [
      Plot.line(known, { x: "name", y: "confidence", stroke: CORRECT, strokeWidth: 2.5 }),
      Plot.tickY(
        all.filter((bin) => bin.name === "missing"),
        { x: "name", y: "confidence", stroke: CORRECT, strokeWidth: 2.5, insetLeft: 4, insetRight: 4 },
      ),
      Plot.ruleX(all, { x: "name", y1: "low", y2: "high", stroke: "var(--ink)", strokeOpacity: 0.5 }),
      Plot.dot(all, { x: "name", y: "right", r: "rows", fill: "var(--paper)", stroke: "var(--ink)" }),
      Plot.tip(all, Plot.pointerX({ x: "name", y: "right", title: describedBin })),
    ],
  });
}

// A category: a line for each level, the most frequent first.
function signalLevels({ name, bins: all }, width) {
  const longest = d3.max(all, (bin) => bin.name.length);
  return drawn(width, {
    height: 50 + 22 * all.length,
    marginLeft: Math.min(14 + 6.5 * longest, width / 2.5),
    marginBottom: 36,
    x: { ...SHARE, label: null, grid: true, tickFormat: PERCENT },
    y: { domain: all.map((bin) => bin.name), label: null, tickSize: 0 },
    r: dotSize,
    ariaLabel: `Confidence and share of right answers by ${name}`,
    marks: [
      Plot.ruleY(all, { y: "name", x1: "low", x2: "high", stroke: "var(--ink)", strokeOpacity: 0.5 }),
      Plot.tickX(all, { y: "name", x: "confidence", stroke: CORRECT, strokeWidth: 3, insetTop: 2, insetBottom: 2 }),
      Plot.dot(all, { y: "name", x: "right", r: "rows", fill: "var(--paper)", stroke: "var(--ink)" }),
      Plot.tip(all, Plot.pointerY({ y: "name", x: "right", title: describedBin })),
    ],
  });
}

function drawSignals(section, signals) {
  const counts = section.querySelector(".counts");
  counts.replaceChildren(signalCounts(signals, counts.clientWidth));
  section.querySelectorAll(".effect .side").forEach((side, i) => {
    const draw = signals[i].kind === "category" ? signalLevels : signalCurve;
    side.replaceChildren(draw(signals[i], side.clientWidth));
  });
}
