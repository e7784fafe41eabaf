// Charts: each is a function of numbers and a width, and returns an element that Observable Plot has drawn.

const CORRECT = "var(--correct)";
const WRONG = "var(--wrong)";
const MUTED = "var(--muted)";
const SHARE = { domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1], tickFormat: (x) => `${x}` };
const PERCENT = (x) => `${Math.round(1000 * x) / 10}\u00a0%`;

const tall = (share, most) => Math.max(160, Math.min(share, most));
const NARROWEST = 240; // what is not laid out yet has no width

function drawn(width, options) {
  return Plot.plot({
    width: Math.max(width, NARROWEST),
    marginLeft: 46,
    marginRight: 12,
    style: { background: "none", fontSize: "12px", overflow: "visible" },
    ...options,
  });
}

function stacked(...charts) {
  const box = document.createElement("div");
  box.append(...charts);
  return box;
}

function bins(length, fields) {
  return Array.from({ length }, (_, i) => ({ x1: i / length, x2: (i + 1) / length, ...fields(i) }));
}

const between = (bin) => `confidence ${bin.x1.toFixed(2)} to ${bin.x2.toFixed(2)}`;

function reliability({ count: rows, confidence, accuracy, low, high }, width, name) {
  const all = bins(rows.length, (i) => ({
    rows: rows[i],
    confidence: confidence[i],
    accuracy: accuracy[i],
    low: low[i],
    high: high[i],
  }));
  const used = all.filter((bin) => bin.rows);
  const n = d3.sum(rows);
  const described = (bin) =>
    `${between(bin)}\n${count(bin.rows)} predictions\nconfidence ${PERCENT(bin.confidence)}` +
    `\nright ${PERCENT(bin.accuracy)} (${PERCENT(bin.low)} to ${PERCENT(bin.high)})`;
  const bars = drawn(width, {
    height: tall(width, 340),
    marginBottom: 8,
    x: { ...SHARE, ticks: [] },
    y: { ...SHARE, label: null, grid: true, tickFormat: PERCENT },
    ariaLabel: `Reliability diagram, ${name}: the share of right predictions in each bin of confidence`,
    marks: [
      Plot.rectY(used, {
        x1: "x1",
        x2: "x2",
        y: (bin) => Math.min(bin.accuracy, bin.confidence),
        fill: CORRECT,
        fillOpacity: 0.28,
      }),
      Plot.rectY(used, { x1: "x1", x2: "x2", y1: "accuracy", y2: "confidence", fill: WRONG, fillOpacity: 0.35 }),
      Plot.ruleY(used, { x1: "x1", x2: "x2", y: "accuracy", stroke: CORRECT, strokeWidth: 2.5 }),
      Plot.ruleX(used, {
        x: (bin) => (bin.x1 + bin.x2) / 2,
        y1: "low",
        y2: "high",
        stroke: "var(--ink)",
        strokeOpacity: 0.55,
      }),
      Plot.line(
        [
          [0, 0],
          [1, 1],
        ],
        { stroke: MUTED, strokeDasharray: "4 3" },
      ),
      Plot.tip(used, Plot.pointerX({ x1: "x1", x2: "x2", y: "accuracy", title: described, anchor: "bottom" })),
    ],
  });
  const strip = drawn(width, {
    height: 84,
    marginTop: 6,
    marginBottom: 36,
    x: { ...SHARE, label: "confidence", labelAnchor: "center", labelArrow: "none" },
    y: {
      type: "log",
      domain: [0.7, Math.max(n, 10)],
      label: null,
      ticks: [1, 100, 10000, 1000000].filter((tick) => tick <= n),
      tickFormat: "~s",
    },
    ariaLabel: `How many predictions each bin has, ${name}`,
    marks: [
      Plot.rectY(used, {
        x1: "x1",
        x2: "x2",
        y1: 0.7,
        y2: "rows",
        fill: MUTED,
        fillOpacity: 0.6,
        insetLeft: 0.5,
        insetRight: 0.5,
      }),
    ],
  });
  return stacked(bars, strip);
}

function histogram({ correct, wrong }, width, name, most) {
  const layers = [
    [correct, CORRECT],
    [wrong, WRONG],
  ].flatMap(([values, colour]) => {
    const data = bins(values.length, (i) => ({ rows: values[i] }));
    const outline = data.flatMap((bin) => [
      [bin.x1, bin.rows],
      [bin.x2, bin.rows],
    ]);
    return [
      Plot.rectY(data, { x1: "x1", x2: "x2", y: "rows", fill: colour, fillOpacity: 0.22 }),
      Plot.line([[0, 0], ...outline, [1, 0]], { stroke: colour, strokeWidth: 1.6 }),
    ];
  });
  const described = bins(correct.length, (i) => ({
    correct: correct[i],
    wrong: wrong[i],
    top: Math.max(correct[i], wrong[i]),
  }));
  const words = (bin) => `${between(bin)}\nright ${count(bin.correct)}\nwrong ${count(bin.wrong)}`;
  return drawn(width, {
    height: tall(0.72 * width, 260),
    marginBottom: 36,
    x: { ...SHARE, label: "confidence", labelAnchor: "center", labelArrow: "none" },
    y: { type: "sqrt", domain: [0, most], label: "predictions", grid: true, ticks: 5, tickFormat: "~s" },
    ariaLabel: `Histogram of the confidence of right and of wrong predictions, ${name}`,
    marks: [
      ...layers,
      Plot.ruleY([0], { stroke: MUTED }),
      Plot.tip(described, Plot.pointerX({ x1: "x1", x2: "x2", y: "top", title: words, anchor: "bottom" })),
    ],
  });
}

function riskCoverage(before, after, width) {
  const points = (method) =>
    d3
      .zip(method.curve.coverage, method.curve.risk, method.curve.best)
      .map(([coverage, risk, best]) => ({ coverage, risk, best, name: method.label }));
  const [was, is] = [points(before), points(after)];
  const words = (point) => `${point.name}\n${PERCENT(point.coverage)} accepted\n${PERCENT(point.risk)} of them wrong`;
  return drawn(width, {
    height: tall(0.6 * width, 320),
    marginBottom: 36,
    x: { ...SHARE, label: "accepted", labelAnchor: "center", labelArrow: "none", tickFormat: PERCENT },
    y: { label: "error of the accepted", grid: true, zero: true, ticks: 5, tickFormat: PERCENT },
    ariaLabel: `Error of the accepted predictions against their share, ${before.label} and ${after.label}`,
    marks: [
      Plot.line(was, { x: "coverage", y: "best", stroke: MUTED, strokeDasharray: "1 3", strokeLinecap: "round" }),
      Plot.line(was, { x: "coverage", y: "risk", stroke: WRONG, strokeWidth: 2, strokeDasharray: "6 3" }),
      Plot.line(is, { x: "coverage", y: "risk", stroke: CORRECT, strokeWidth: 2.2 }),
      Plot.ruleY([0], { stroke: MUTED }),
      Plot.tip([...was, ...is], Plot.pointer({ x: "coverage", y: "risk", title: words })),
    ],
  });
}

function tradeOff(before, after, threshold, promised, width) {
  const grid = d3.range(0, 1.0001, 0.005);
  const line = (method, field, colour, dashed) =>
    Plot.line(
      grid.map((t) => method.acceptance.at(t)),
      {
        x: "threshold",
        y: field,
        stroke: colour,
        strokeWidth: 2,
        strokeDasharray: dashed ? "6 3" : null,
        strokeOpacity: dashed ? 0.6 : 1,
        clip: true,
      },
    );
  const here = [after.acceptance.at(threshold)];
  return drawn(width, {
    height: tall(0.6 * width, 300),
    marginBottom: 36,
    x: { ...SHARE, label: "threshold", labelAnchor: "center", labelArrow: "none" },
    y: { ...SHARE, label: null, grid: true, tickFormat: PERCENT },
    ariaLabel: `Accepted share and error against the threshold, ${before.label} and ${after.label}`,
    marks: [
      line(before, "coverage", CORRECT, true),
      line(before, "risk", WRONG, true),
      line(after, "coverage", CORRECT),
      line(after, "risk", WRONG),
      Plot.ruleX(promised, { stroke: MUTED, strokeWidth: 1.5, strokeDasharray: "2 3" }),
      Plot.text(promised, {
        x: (t) => t,
        text: () => "promised",
        frameAnchor: "middle",
        textAnchor: promised[0] > 0.8 ? "end" : "start",
        dx: promised[0] > 0.8 ? -5 : 5,
        fill: MUTED,
      }),
      Plot.ruleX([threshold], { stroke: "var(--ink)", strokeWidth: 1.5 }),
      Plot.dot(here, { x: threshold, y: "coverage", fill: CORRECT, r: 5 }),
      Plot.dot(
        here.filter((point) => point.risk !== null),
        { x: threshold, y: "risk", fill: WRONG, r: 5 },
      ),
    ],
  });
}
