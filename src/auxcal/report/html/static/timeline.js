// The charts of a timeline: a place on the x axis for each chunk, in their order.

const chunks = page.chunks.map((chunk, place) => ({ ...chunk, place }));
const FEW_NAMES = 7;
const MANY = 100; // chunks have no room for gaps
const COLOURS = { same: "var(--same)", mix: "var(--mix)", new: WRONG, few: "var(--faint)" };
const VERDICTS = { same: "the same", mix: "another mix", new: "something new", few: "too few rows" };

const named = (place) => (Number.isInteger(place) ? (chunks[place]?.name ?? "") : "");

// Names stand level where they have room, else upright; never more than fit.
function places(width) {
  const longest = d3.max(chunks, ({ name }) => name.length);
  const most = Math.max(2, Math.floor((width - 82) / (7 * Math.min(longest, 14) + 14)));
  const step = Math.max(1, Math.ceil(chunks.length / Math.min(most, Math.max(FEW_NAMES, chunks.length))));
  return {
    domain: [-0.5, chunks.length - 0.5],
    label: null,
    ticks: d3.range(chunks.length - 1, -1, -step),
    tickFormat: (place) => (named(place).length > 14 ? `${named(place).slice(0, 13)}…` : named(place)),
  };
}

// Lines break where there is nothing to show, so that each part is drawn for itself.
function parts(field) {
  let part = 0;
  return chunks.flatMap((chunk) => {
    if (!chunk[field]) part += 1;
    return chunk[field] ? [{ ...chunk, part, value: chunk[field][0], low: chunk[field][1], high: chunk[field][2] }] : [];
  });
}

function alarmRules() {
  return Plot.ruleX(
    chunks.filter(({ alarms }) => alarms.length),
    { x: "place", stroke: WRONG, strokeWidth: 1.5, strokeDasharray: "2 3" },
  );
}

const interval = ([value, low, high]) => `${PERCENT(value)} (${PERCENT(low)} to ${PERCENT(high)})`;

function described(chunk) {
  const lines = [chunk.name, `${count(chunk.rows)} rows: ${VERDICTS[chunk.verdict]}`];
  if (chunk.accuracy) lines.push(`right, estimated ${interval(chunk.accuracy)}`);
  if (chunk.measured) lines.push(`measured ${interval(chunk.measured)} with ${count(chunk.labels)} labels`);
  if (chunk.ood) lines.push(`OOD ${interval(chunk.ood)}`);
  return [...lines, ...chunk.alarms].join("\n");
}

const tip = (at) => Plot.tip(chunks, Plot.pointerX({ x: "place", y: at, title: described, lineWidth: 26 }));

function band(field, colour) {
  const shown = parts(field);
  const alone = shown.filter((chunk) => shown.filter(({ part }) => part === chunk.part).length === 1); // has no area
  return [
    Plot.ruleX(alone, { x: "place", y1: "low", y2: "high", stroke: colour, strokeOpacity: 0.5, strokeWidth: 3 }),
    Plot.areaY(shown, { x: "place", y1: "low", y2: "high", z: "part", fill: colour, fillOpacity: 0.18 }),
    Plot.line(shown, { x: "place", y: "value", z: "part", stroke: colour, strokeWidth: 2.2 }),
    Plot.dot(shown, { x: "place", y: "value", fill: colour, r: 2.6 }),
  ];
}

const ROOM = 36; // for half of the last name
const LOWEST = 220; // height, so that a phone shows how much a line moves

function overTime(width, options) {
  const height = Math.max(LOWEST, tall(0.42 * width, 300));
  return drawn(width, { height, marginBottom: 30, marginRight: ROOM, x: places(width), ...options });
}

function accuracy(width) {
  const measured = parts("measured");
  const shown = [...parts("accuracy"), ...measured].flatMap(({ low, high }) => [low, high]);
  return overTime(width, {
    y: {
      domain: [Math.max(0, Math.min(...shown, page.accuracy) - 0.05), Math.min(1, Math.max(...shown, page.accuracy) + 0.05)],
      label: null,
      grid: true,
      ticks: 5,
      tickFormat: PERCENT,
    },
    ariaLabel: "The share of right predictions over time, estimated and measured",
    marks: [
      Plot.ruleY([page.accuracy], { stroke: MUTED, strokeDasharray: "4 3" }),
      alarmRules(),
      ...band("accuracy", CORRECT),
      Plot.ruleX(measured, { x: "place", y1: "low", y2: "high", stroke: "var(--ink)", strokeOpacity: 0.5 }),
      Plot.dot(measured, { x: "place", y: "value", fill: "var(--paper)", stroke: "var(--ink)", strokeWidth: 1.6, r: 3.4 }),
      tip((chunk) => (chunk.measured ?? chunk.accuracy ?? [page.accuracy])[0]),
    ],
  });
}

function ood(width) {
  const shown = parts("ood");
  if (!shown.length) return null;
  return overTime(width, {
    y: {
      domain: [0, Math.min(1, 1.1 * Math.max(0.05, page.ood, ...shown.map(({ high }) => high)))],
      label: null,
      grid: true,
      ticks: 5,
      tickFormat: PERCENT,
    },
    ariaLabel: "The estimated share of out-of-distribution samples over time",
    marks: [
      Plot.ruleY([page.ood], { stroke: MUTED, strokeDasharray: "4 3" }),
      alarmRules(),
      ...band("ood", WRONG),
      Plot.ruleY([0], { stroke: MUTED }),
      tip((chunk) => (chunk.ood ?? [page.ood])[0]),
    ],
  });
}

function verdict(width) {
  const gap = chunks.length > MANY ? 0 : 1;
  return drawn(width, {
    height: 84,
    marginTop: 8,
    marginBottom: 30,
    marginRight: ROOM,
    x: places(width),
    y: { domain: [0, 1], axis: null },
    ariaLabel: "The verdict on each chunk",
    marks: [
      Plot.rect(chunks, {
        x1: ({ place }) => place - 0.5,
        x2: ({ place }) => place + 0.5,
        y1: 0,
        y2: 1,
        fill: (chunk) => COLOURS[chunk.verdict],
        insetLeft: gap,
        insetRight: gap,
        rx: 3 * gap,
      }),
      alarmRules(),
      tip(() => 0.5),
    ],
  });
}

const LEAST = 1e-3; // of the evidence that is shown
const odds = (value) => (value < 1 ? `${value}` : d3.format("~s")(value));

function evidence(width) {
  const alarm = 1 / page.level;
  const shown = (value) => Math.min(Math.max(value, LEAST), 1e6 * alarm);
  const line = (field, colour) =>
    Plot.line(chunks, { x: "place", y: (chunk) => shown(chunk[field]), stroke: colour, strokeWidth: 2.2, marker: "dot" });
  const most = Math.max(10 * alarm, ...chunks.flatMap(({ data, labelled }) => [3 * shown(data), 3 * shown(labelled)]));
  const labels = chunks.some((chunk) => chunk.labels);
  return overTime(width, {
    y: { type: "log", domain: [LEAST / 2, most], label: null, grid: true, ticks: 5, tickFormat: odds },
    ariaLabel: "The evidence of the rows and of the labels over time, and the line of the alarm",
    marks: [
      Plot.ruleY([alarm], { stroke: "var(--ink)", strokeDasharray: "6 3" }),
      alarmRules(),
      line("data", CORRECT),
      labels ? line("labelled", WRONG) : null,
      Plot.text([`alarm at ${alarm.toFixed(0)}`], { y: alarm, frameAnchor: "left", dx: 6, dy: -8, fill: MUTED, stroke: "var(--paper)", strokeWidth: 4, textAnchor: "start" }),
      tip((chunk) => Math.max(shown(chunk.data), shown(chunk.labelled))),
    ],
  });
}

const CHARTS = { accuracy, ood, verdict, evidence };

function drawTimeline() {
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const side = figure.querySelector(".side");
    const chart = CHARTS[figure.dataset.chart](side.clientWidth);
    figure.hidden = chart === null;
    side.replaceChildren(chart ?? "");
  }
}

drawTimeline();

let drawnAt = document.body.clientWidth;
addEventListener("resize", () => {
  if (document.body.clientWidth === drawnAt) return; // a phone hides its address bar and calls that a resize
  drawnAt = document.body.clientWidth;
  drawTimeline();
});
