// A picture that is replaced in place, and played where it has a clock.
// What the SVG tells: data-t is the moment an item appears, data-u when it is finished, data-rider the shape that
// travels along a line. `clock` is a list of [moment, seconds, words], in order.

const PACE = 48; // moments (pixels of the picture) a second at speed 1
const SPEEDS = [1, 2, 4, 0.5];
const STEP_MS = 1100; // time between two steps where motion is not wanted
const SVG = "http://www.w3.org/2000/svg";

function element(tag, name, parent, words) {
  const made = document.createElement(tag);
  made.className = name;
  if (words) made.textContent = words;
  parent.append(made);
  return made;
}

function rider(line) {
  const ink = line.getAttribute("stroke");
  const shape = line.dataset.rider;
  const made = document.createElementNS(SVG, shape === "diamond" ? "path" : "circle");
  if (shape === "diamond") made.setAttribute("d", "M0 -8L7 0L0 8L-7 0Z");
  else made.setAttribute("r", shape === "ring" ? 5 : 6);
  made.setAttribute("fill", shape === "ring" ? "var(--sl-page,#fff)" : ink);
  if (shape === "ring") {
    made.setAttribute("stroke", ink);
    made.setAttribute("stroke-width", 2.4);
  }
  made.classList.add("simlib-rider");
  made.style.visibility = "hidden";
  line.after(made);
  return made;
}

// One item of the picture that has its time: show(now) draws it as it stands at that moment.
function actor(node) {
  const from = Number(node.dataset.t);
  const until = Number(node.dataset.u ?? node.dataset.t);
  const size = (name) => Number(node.getAttribute(name));
  const whole =
    node.tagName === "line"
      ? { x1: size("x1"), y1: size("y1"), x2: size("x2"), y2: size("y2") }
      : { height: size("height") };
  const dot = node.dataset.rider ? rider(node) : null;
  return (now) => {
    node.style.visibility = now >= from ? "" : "hidden";
    if (!(until > from)) return;
    const share = Math.min(1, Math.max(0, (now - from) / (until - from)));
    if (node.tagName === "rect") node.setAttribute("height", whole.height * share);
    if (node.tagName !== "line") return;
    const x = whole.x1 + (whole.x2 - whole.x1) * share;
    const y = whole.y1 + (whole.y2 - whole.y1) * share;
    node.setAttribute("x2", x);
    node.setAttribute("y2", y);
    if (!dot) return;
    dot.setAttribute("transform", `translate(${x} ${y})`);
    dot.style.visibility = now >= from && now < until ? "visible" : "hidden";
  };
}

function secondsAt(clock, now) {
  let before = clock[0];
  for (const tick of clock) {
    if (tick[0] > now) {
      const share = (now - before[0]) / (tick[0] - before[0]);
      return before[1] + (tick[1] - before[1]) * Math.max(0, share);
    }
    before = tick;
  }
  return before[1];
}

function inWords(seconds, longest) {
  if (longest < 0.5) return `${(seconds * 1000).toFixed(0)} ms`;
  if (longest < 1000) return `${seconds.toFixed(longest < 10 ? 2 : 1)} s`;
  return `${(seconds / 3600).toFixed(2)} h`;
}

// The sliders beside the picture have no name of their own for those who hear the page: their label's words will do.
function nameSliders(playground) {
  for (const handle of playground.querySelectorAll(".noUi-handle:not([aria-label])")) {
    const label = handle.closest(".jupyter-widgets")?.querySelector(".widget-label");
    if (label) handle.setAttribute("aria-label", label.textContent);
  }
}

function render({ model, el }) {
  el.classList.add("simlib");
  el.setAttribute("data-lm-suppress-shortcuts", "true"); // keys pressed here are ours, not the notebook's
  const stage = element("div", "simlib-stage", el);
  const bar = element("div", "simlib-bar", el);
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "player");
  const play = element("button", "simlib-play", bar, "▶ play");
  const step = element("button", "simlib-step", bar, "step");
  const speed = element("button", "simlib-speed", bar, "1×");
  const scrub = element("input", "simlib-scrub", bar);
  const time = element("span", "simlib-time", bar);
  const happening = element("p", "simlib-happening", el);
  const said = element("p", "simlib-said", el);
  for (const button of [play, step, speed]) button.type = "button";
  step.title = "one step on";
  speed.setAttribute("aria-label", "speed 1×");
  Object.assign(scrub, { type: "range", step: "any" });
  scrub.setAttribute("aria-label", "time");
  happening.setAttribute("aria-live", "polite");
  said.setAttribute("role", "status");
  said.setAttribute("aria-live", "polite");

  let clock = [];
  let actors = [];
  let now = 0;
  let rate = 0;
  let frame = 0;
  let timer = 0;
  const first = () => clock[0][0];
  const last = () => clock[clock.length - 1][0];
  const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const playing = () => Boolean(frame || timer);

  function tell() {
    const done = clock.filter((tick) => tick[0] <= now + 1e-6);
    const words = done.length ? done[done.length - 1][2] : "";
    const longest = last() === first() ? clock[0][1] : clock[clock.length - 1][1];
    time.textContent = `${inWords(secondsAt(clock, now), longest)} of ${inWords(longest, longest)}`;
    scrub.setAttribute("aria-valuetext", `${time.textContent}. ${words}`);
    happening.setAttribute("aria-live", playing() && !calm() ? "off" : "polite");
    if (happening.textContent !== words) happening.textContent = words;
  }

  function show(moment) {
    now = Math.min(last(), Math.max(first(), moment));
    for (const draw of actors) draw(now);
    scrub.value = now;
    tell();
  }

  function pause() {
    cancelAnimationFrame(frame);
    clearInterval(timer);
    frame = timer = 0;
    play.textContent = "▶ play";
  }

  function next(way) {
    const moments = clock.map((tick) => tick[0]);
    if (way > 0) return moments.find((m) => m > now + 1e-6) ?? last();
    return moments.reverse().find((m) => m < now - 1e-6) ?? first();
  }

  function start() {
    if (now >= last() - 1e-6) show(first());
    play.textContent = "❚❚ pause";
    if (calm()) {
      timer = setInterval(() => {
        show(next(1));
        if (now >= last()) pause();
      }, STEP_MS / SPEEDS[rate]);
      return;
    }
    let before = performance.now();
    const beat = (at) => {
      const moment = now + ((at - before) / 1000) * PACE * SPEEDS[rate];
      before = at;
      if (moment >= last()) {
        pause();
        show(last());
        return;
      }
      frame = requestAnimationFrame(beat);
      show(moment);
    };
    frame = requestAnimationFrame(beat);
  }

  function draw() {
    pause();
    stage.innerHTML = model.get("svg");
    clock = model.get("clock");
    bar.hidden = happening.hidden = clock.length < 2;
    actors = [];
    if (bar.hidden) return;
    actors = [...stage.querySelectorAll("[data-t]")].map(actor);
    scrub.min = first();
    scrub.max = last();
    show(last());
  }

  function speak() {
    said.classList.toggle("trouble", model.get("trouble"));
    said.textContent = model.get("text");
  }

  play.addEventListener("click", () => (playing() ? (pause(), tell()) : start()));
  step.addEventListener("click", () => {
    pause();
    show(now >= last() - 1e-6 ? first() : next(1));
  });
  speed.addEventListener("click", () => {
    rate = (rate + 1) % SPEEDS.length;
    speed.textContent = `${SPEEDS[rate]}×`;
    speed.setAttribute("aria-label", `speed ${SPEEDS[rate]}×`);
    if (timer) (pause(), start());
  });
  scrub.addEventListener("input", () => {
    pause();
    show(Number(scrub.value));
  });
  scrub.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    pause();
    show(next(way));
  });
  const naming = requestAnimationFrame(() => {
    const playground = el.closest(".simlib-playground");
    if (playground) nameSliders(playground);
  });
  model.on("change:svg", draw);
  model.on("change:text", speak);
  model.on("change:trouble", speak);
  draw();
  speak();
  return () => {
    pause();
    cancelAnimationFrame(naming);
    model.off("change:svg", draw);
    model.off("change:text", speak);
    model.off("change:trouble", speak);
  };
}

export default { render };
