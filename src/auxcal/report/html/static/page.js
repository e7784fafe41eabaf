// What is chosen, and the parts of the page that follow it.

function mounted(article, packedSet) {
  const part = (selector) => article.querySelector(selector);
  let set = null; // unpacked when the data set is first shown
  const state = { method: packedSet.best, threshold: 0.9, risk: null, order: packedSet.signals ? "after" : "before" };

  const after = () => set.methods[state.method];
  const drawTrust = () => {
    drawPicker(part(".picker"), set, after(), state.threshold, state.risk);
    if (set.signals) return;
    part(".at").textContent = state.threshold.toFixed(3);
    drawClasses(part(".classes"), set, after(), state.threshold);
  };
  const draw = () => {
    part("select.method").value = state.method;
    part(".about").textContent = part("select.method").selectedOptions[0].dataset.about;
    for (const name of article.querySelectorAll("th.name")) name.lastElementChild.textContent = after().label;
    mark(state.method);
    if (set.signals) drawSignals(part(".signals"), set.signals);
    drawDetails(article, set, after());
    drawTrust();
    drawSamples(part(".samples"), set, after(), state.order);
  };
  const choose = (method) => {
    state.method = method;
    state.risk = null;
    part(".reached").textContent = "";
    draw();
  };
  const pick = (threshold, risk = null) => {
    state.threshold = threshold;
    state.risk = risk;
    part(".reached").textContent = "";
    drawTrust();
  };
  const keep = (risk) => {
    const found = after().acceptance.keeping(risk, STRIDE);
    pick(found ? found.threshold : state.threshold, risk);
    part(".reached").textContent = reached(set, after(), risk);
  };
  const mark = chosenIn(part(".methods"), choose);
  sortable(part(".methods"));
  part("select.method").addEventListener("change", (event) => choose(event.target.value));
  pickable(part(".picker"), pick, keep);
  pressed(part(".order"), (button) => {
    state.order = button.dataset.order;
    drawSamples(part(".samples"), set, after(), state.order);
  });
  return () => {
    set ??= unpackedSet(packedSet);
    draw();
  };
}

// Makes a group of buttons of which one is pressed.
function pressed(group, act) {
  group?.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    for (const other of group.querySelectorAll("button")) other.setAttribute("aria-pressed", other === button);
    act(button);
  });
}

const articles = [...document.querySelectorAll("article.set")];
const draws = articles.map((article, i) => mounted(article, page.sets[i]));
let shown = 0;

function show(index) {
  shown = index;
  articles.forEach((article, i) => {
    article.hidden = i !== index;
  });
  draws[index]();
}

pressed(document.querySelector(".sets"), (button) => show(Number(button.dataset.set)));
show(0);

let width = document.body.clientWidth;
addEventListener("resize", () => {
  if (document.body.clientWidth === width) return; // a phone hides its address bar and calls that a resize
  width = document.body.clientWidth;
  draws[shown]();
});
