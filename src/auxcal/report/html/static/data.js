// The data of the page, unpacked.

const page = JSON.parse(document.getElementById("data").textContent);
const TYPES = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
};

function unpacked({ type, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return new TYPES[type](bytes.buffer);
}

// What a threshold accepts, for every step of a packed confidence: how many predictions, and how many wrong ones.
function acceptance(steps, wrong) {
  const accepted = new Uint32Array(page.levels + 2);
  const mistakes = new Uint32Array(page.levels + 2);
  steps.forEach((step, i) => {
    accepted[step] += 1;
    mistakes[step] += wrong[i];
  });
  for (let step = page.levels; step >= 0; step -= 1) {
    accepted[step] += accepted[step + 1];
    mistakes[step] += mistakes[step + 1];
  }
  const n = steps.length;
  const at = (step) => ({
    threshold: step / page.levels,
    accepted: accepted[step],
    wrong: mistakes[step],
    coverage: accepted[step] / n,
    risk: accepted[step] ? mistakes[step] / accepted[step] : null,
  });
  return {
    at: (threshold) => at(Math.round(threshold * page.levels)),
    // The least threshold, in the given stride of steps, that keeps the error down; none where nothing does.
    keeping(risk, stride) {
      for (let step = 0; step <= page.levels && accepted[step]; step += stride) {
        if (mistakes[step] <= risk * accepted[step]) return at(step);
      }
      return null;
    },
  };
}

function unpackedSet(set) {
  const y = unpacked(set.y);
  const prediction = unpacked(set.prediction);
  const wrong = prediction.map((value, i) => (value === y[i] ? 0 : 1));
  const methods = Object.fromEntries(
    Object.entries(set.methods).map(([name, method]) => {
      const confidence = unpacked(method.confidence);
      return [name, { ...method, name, confidence, acceptance: acceptance(confidence, wrong) }];
    }),
  );
  return { ...set, rows: unpacked(set.rows), y, prediction, wrong, methods };
}

const percent = (share, digits = 1) => (share === null ? "–" : `${(100 * share).toFixed(digits)}\u00a0%`);
const count = (number) => number.toLocaleString("en");
// Never below the threshold, where more would be accepted.
const fine = (threshold) => String(Math.ceil(1e7 * threshold - 1e-6) / 1e7);
