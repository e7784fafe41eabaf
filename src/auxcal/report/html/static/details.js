// The charts of the chosen method, beside those of the classifier itself.

const WHY_NOT = {
  heatmap: (set) =>
    set.classes.length > 100
      ? "Not drawn for so many classes."
      : "This method gives a confidence, and no probabilities of the classes.",
  map: (set, method) =>
    method.heatmap
      ? "Each map takes seconds to make, so only those of the classifier, the best method and CCAC-X are here."
      : WHY_NOT.heatmap(set),
};

function sided(side, heading, sub, draw) {
  const words = document.createElement("p");
  words.className = "which";
  words.innerHTML = "<strong></strong> <span></span>";
  words.firstChild.textContent = heading;
  words.lastChild.textContent = sub;
  side.replaceChildren(words);
  side.append(draw(side.clientWidth));
}

function missing(text) {
  const words = document.createElement("p");
  words.className = "missing";
  words.textContent = text;
  return words;
}

function drawDetails(article, set, after) {
  const before = set.methods[set.before];
  const draw = {
    reliability: (method, width) => reliability(method.reliability, width, method.label),
    histogram: (method, width) => histogram(method.histogram, width, method.label, most),
    heatmap: (method, width) => heatmap(method.heatmap, width, set.classes, method.label),
    map: (method, width) => map(method.map, width, set.classes, method.label),
  };
  const most = d3.max([before, after].flatMap(({ histogram: { correct, wrong } }) => [...correct, ...wrong]));
  const sub = {
    reliability: ({ reliability: { ece, floor } }) => `ECE ${percent(ece)}, noise ${percent(floor)}`,
    histogram: () => "",
    heatmap: () => "",
    map: () => "",
  };
  for (const figure of article.querySelectorAll("figure.pair")) {
    const kind = figure.dataset.chart;
    for (const [side, method, heading] of [
      ["before", before, `Before: ${before.label}`],
      ["after", after, `After: ${after.label}`],
    ]) {
      sided(figure.querySelector(`.${side}`), heading, sub[kind](method), (width) =>
        method[kind] ? draw[kind](method, width) : missing(WHY_NOT[kind](set, method)),
      );
    }
  }
  sided(article.querySelector(".both"), "", "", (width) => riskCoverage(before, after, width));
}
