// The charts of the chosen method, beside those of the classifier itself.

function sided(side, heading, sub, draw) {
  const words = document.createElement("p");
  words.className = "which";
  words.innerHTML = "<strong></strong> <span></span>";
  words.firstChild.textContent = heading;
  words.lastChild.textContent = sub;
  side.replaceChildren(words);
  side.append(draw(side.clientWidth));
}

function drawDetails(article, set, after) {
  const before = set.methods[set.before];
  const draw = {
    reliability: (method, width) => reliability(method.reliability, width, method.label),
    histogram: (method, width) => histogram(method.histogram, width, method.label, most),
  };
  const most = d3.max([before, after].flatMap(({ histogram: { correct, wrong } }) => [...correct, ...wrong]));
  const sub = {
    reliability: ({ reliability: { ece, floor } }) => `ECE ${percent(ece)}, noise ${percent(floor)}`,
    histogram: () => "",
  };
  for (const figure of article.querySelectorAll("figure.pair")) {
    const kind = figure.dataset.chart;
    for (const [side, method, heading] of [
      ["before", before, `Before: ${before.label}`],
      ["after", after, `After: ${after.label}`],
    ]) {
      sided(figure.querySelector(`.${side}`), heading, sub[kind](method), (width) => draw[kind](method, width));
    }
  }
  sided(article.querySelector(".both"), "", "", (width) => riskCoverage(before, after, width));
}
