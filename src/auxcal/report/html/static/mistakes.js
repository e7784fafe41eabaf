// Which classes and which samples are confidently wrong.

const MOST_CLASSES = 12;
const MOST_SAMPLES = 15;

function filled(body, lines) {
  body.replaceChildren(
    ...lines.map((cells) => {
      const row = document.createElement("tr");
      row.append(
        ...cells.map((text, i) => {
          const cell = document.createElement(i ? "td" : "th");
          if (!i) cell.scope = "row";
          cell.textContent = text;
          return cell;
        }),
      );
      return row;
    }),
  );
}

function drawClasses(table, set, after, threshold) {
  const step = Math.round(threshold * page.levels);
  const before = set.methods[set.before];
  const counts = set.classes.map((name) => ({ name, all: 0, wrong: 0, was: 0, is: 0 }));
  set.prediction.forEach((predicted, i) => {
    const of = counts[predicted];
    of.all += 1;
    if (!set.wrong[i]) return;
    of.wrong += 1;
    of.was += before.confidence[i] >= step;
    of.is += after.confidence[i] >= step;
  });
  const worst = counts
    .filter((of) => of.all)
    .sort((a, b) => b.was - a.was || b.wrong - a.wrong)
    .slice(0, MOST_CLASSES);
  filled(
    table.tBodies[0],
    worst.map((of) => [of.name, count(of.all), count(of.wrong), count(of.was), count(of.is)]),
  );
}

function drawSamples(table, set, after, order) {
  const before = set.methods[set.before];
  const key = (order === "before" ? before : after).confidence;
  const wrong = d3.range(set.y.length).filter((i) => set.wrong[i]);
  const first = wrong.sort((a, b) => key[b] - key[a] || a - b).slice(0, MOST_SAMPLES);
  const name = (index) => (index < 0 ? "none" : set.classes[index]);
  const written = (method, i) => percent(method.confidence[i] / page.levels);
  const described = (i) => (set.signals ? set.signals.map(({ values }) => values[i] ?? "") : [name(set.prediction[i]), name(set.y[i])]);
  filled(
    table.tBodies[0],
    first.map((i) => [set.ids[i] ?? set.rows[i], ...described(i), written(before, i), written(after, i)]),
  );
}
