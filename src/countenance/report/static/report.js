// The handle: moves the mark from which a gap matters, and says again how every comparison ends there.
(function () {
  "use strict";
  var WORDS = { harm: "served worse", better: "served better", out: "no gap of that size", untested: "too few to test" };

  var GROUPED = new Intl.NumberFormat("en"), AT_ONCE = 100;

  function effect(from, to) { return Math.abs(2 * Math.asin(Math.sqrt(to)) - 2 * Math.asin(Math.sqrt(from))); }

  // How many times as large a group must be so that a gap of delta would be seen; see growth in auditing/power.py.
  function times(row, delta) {
    var ratio = row.seen / delta;
    if (row.h && row.mde !== null) {
      var moved = row.rate >= 0.5 ? row.rate - delta : row.rate + delta;
      if (delta === row.gap) moved = Math.min(1, Math.max(0, moved)); // rounded for the page
      if (moved < 0 || moved > 1) return NaN;
      ratio = row.mde / effect(row.rate, moved);
    }
    if (row.seen === null && !row.h) return NaN;
    var together = ratio * ratio, left = 1 / together - (1 - row.share);
    if (ratio <= 1) return together;
    return left > 0 && row.share / left <= 2 * together ? row.share / left : together;
  }

  function stateAt(row, delta) {
    if (row.few) return "untested";
    if (row.out !== null && row.out < delta) return "out";
    return row.real ? (row.better ? "better" : "harm") : "unknown";
  }

  function decides(row, state, delta, nouns) {
    if (state !== "unknown") return WORDS[state];
    var larger = row.gap !== null && row.gap > delta; // then the gap itself is what people must show
    var more = Math.ceil(row.n * times(row, larger ? row.gap : delta)) - row.n;
    if (isNaN(more)) return "not enough " + nouns[1] + " to tell";
    if (more <= 0) {
      if (larger) return "looks worse; chance is not ruled out";
      return row.gap > delta / 2 ? "almost on the limit; more data will hardly settle it" : "not enough " + nouns[1] + " to tell";
    }
    if (more > 10000) return "more " + nouns[1] + " than a study can collect";
    return GROUPED.format(more) + " more " + (more === 1 ? nouns[0] : nouns[1]);
  }

  Array.prototype.forEach.call(document.querySelectorAll(".handle"), function (box) {
    var input = box.querySelector("input"), output = box.querySelector("output"), line = box.querySelector(".delta");
    var ticks = box.querySelector(".handle-rows"), nouns = box.getAttribute("data-nouns").split("|");
    var scale = Number(box.getAttribute("data-scale")), unit = box.getAttribute("data-unit");
    var audited = Number(box.getAttribute("data-delta")), zero = parseFloat(box.querySelector(".zero").getAttribute("x1"));
    var per = (parseFloat(line.getAttribute("x1")) - zero) / audited;
    var rows = Array.prototype.map.call(box.querySelectorAll("li"), function (item) {
      var row = JSON.parse(item.getAttribute("data-row"));
      row.item = item; row.words = item.querySelector(".decides"); row.state = item.className; row.first = row.words.textContent;
      return row;
    });
    var counts = {}, height = rows.length ? rows[0].item.offsetHeight || 25 : 25, scheduled = false, later = 0;
    var top = 0, seen = ticks.clientHeight, width = 0, places = {};
    Array.prototype.forEach.call(box.querySelectorAll("[data-count]"), function (count) { places[count.getAttribute("data-count")] = count; });
    rows.forEach(function (row) { counts[row.state] = (counts[row.state] || 0) + 1; });

    // While it moves, the mark is a thin layer of its own: nothing under it is painted again. Sizes are read when they change, not while it moves.
    var mark = document.createElement("span");
    mark.className = "delta-line"; mark.hidden = true; mark.setAttribute("aria-hidden", "true");
    ticks.insertBefore(mark, ticks.firstChild);
    function measure() { seen = ticks.clientHeight; width = line.ownerSVGElement.clientWidth || line.ownerSVGElement.getBoundingClientRect().width; }
    function stand(delta) {
      var place = zero + per * delta;
      mark.style.transform = "translateX(" + place / 100 * width + "px)";
      line.setAttribute("x1", place + "%"); line.setAttribute("x2", place + "%"); // not shown while the layer is
    }
    if (window.ResizeObserver) new ResizeObserver(function () { measure(); stand(Math.max(0, Number(input.value))); }).observe(ticks);
    measure();

    function say(row, delta) {
      var text = delta === audited ? row.first : decides(row, row.state, delta, nouns);
      if (row.words.textContent !== text) row.words.textContent = text;
    }
    function show(some, delta) {
      some.forEach(function (row) {
        if (row.item.className !== row.state) row.item.className = row.state;
        say(row, delta);
      });
    }
    // Rows that can be seen follow at once, the others some at a time when the mark rests.
    function showVisible(delta) {
      var from = Math.max(0, Math.floor(top / height) - 2), to = from + Math.ceil(seen / height) + 4;
      show(rows.slice(from, to), delta);
      clearTimeout(later);
      later = setTimeout(showRest, 150, delta, 0);
    }
    function showRest(delta, from) {
      show(rows.slice(from, from + AT_ONCE), delta);
      if (from + AT_ONCE < rows.length) later = setTimeout(showRest, 16, delta, from + AT_ONCE);
    }
    function move() {
      scheduled = false;
      var delta = Math.max(0, Number(input.value)), moved = false;
      if (mark.hidden) { mark.hidden = false; box.classList.add("moved"); }
      stand(delta);
      var size = Number((scale * delta).toFixed(2));
      output.textContent = size + (unit ? " " + (size === 1 ? unit.replace(/s$/, "") : unit) : "");
      rows.forEach(function (row) {
        var state = stateAt(row, delta);
        if (state === row.state) return;
        counts[row.state] -= 1; counts[state] = (counts[state] || 0) + 1; row.state = state; moved = true;
      });
      if (moved) Object.keys(places).forEach(function (state) {
        var text = String(counts[state] || 0);
        if (places[state].textContent !== text) places[state].textContent = text;
      });
      showVisible(delta);
    }
    function soon() { if (!scheduled) { scheduled = true; requestAnimationFrame(move); } }
    input.disabled = false;
    input.addEventListener("input", soon);
    ticks.addEventListener("scroll", function () { top = ticks.scrollTop; showVisible(Math.max(0, Number(input.value))); });
    window.addEventListener("beforeprint", function () {
      input.value = audited; move(); show(rows, audited);
      mark.hidden = true; box.classList.remove("moved");
    });
  });
})();

// Sorting, filtering and a CSV of what is shown. The page is whole without it.
(function () {
  "use strict";
  var table = document.getElementById("findings-table");
  if (!table) return;
  var body = table.tBodies[0];
  var rows = Array.prototype.slice.call(body.rows);
  var heads = Array.prototype.slice.call(table.tHead.rows[0].cells);
  var csv = document.getElementById("csv");
  rows.forEach(function (row, i) { row.place = i; row.words = row.textContent.toLowerCase(); });

  function value(row, column) {
    var text = row.cells[column].getAttribute("data-v");
    return text === null ? row.cells[column].textContent.toLowerCase() : text;
  }

  function sort(column, numeric, down) {
    var sorted = rows.slice().sort(function (a, b) {
      var x = value(a, column), y = value(b, column);
      if ((x === "") !== (y === "")) return x === "" ? 1 : -1; // what has no number stays at the end
      var order = numeric ? Number(x) - Number(y) : x.localeCompare(y, undefined, { numeric: true });
      return (down ? -order : order) || a.place - b.place;
    });
    sorted.forEach(function (row) { body.appendChild(row); });
  }

  heads.forEach(function (head, column) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.appendChild(button);
    var numeric = head.hasAttribute("data-numeric") || column === 0;
    button.addEventListener("click", function () {
      var down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(column, numeric, down);
    });
  });

  var controls = ["text", "metric", "attribute", "verdict"].map(function (name) {
    return document.getElementById("f-" + name);
  });
  var status = document.getElementById("f-count");

  function filter() {
    var text = controls[0].value.toLowerCase().trim(), shown = 0;
    rows.forEach(function (row) {
      var keep = (!text || row.words.indexOf(text) >= 0) &&
        (!controls[1].value || row.getAttribute("data-metric") === controls[1].value) &&
        (!controls[2].value || row.getAttribute("data-attribute") === controls[2].value) &&
        (!controls[3].value || row.getAttribute("data-verdict") === controls[3].value);
      row.hidden = !keep;
      if (keep) shown += 1;
    });
    status.textContent = shown + " of " + rows.length + " shown";
  }
  controls.forEach(function (control) { control.addEventListener("input", filter); });
  document.querySelector(".filters").hidden = false;
  filter();

  // The link holds every finding, a line each in the table's first order; with a filter, only the lines shown. The viewer's leads to a file.
  if (csv.href.indexOf("data:") === 0) {
    var lines = decodeURIComponent(csv.href.slice(csv.href.indexOf(",") + 1)).split("\r\n");
    csv.addEventListener("click", function () {
      var shown = [lines[0]];
      Array.prototype.forEach.call(body.rows, function (row) { if (!row.hidden) shown.push(lines[row.place + 1]); });
      var url = URL.createObjectURL(new Blob([shown.join("\r\n") + "\r\n"], { type: "text/csv;charset=utf-8" }));
      csv.href = url;
      setTimeout(function () { URL.revokeObjectURL(url); }, 60000);
    });
  }

})();

// What belongs on paper is opened for the printer.
window.addEventListener("beforeprint", function () {
  document.querySelectorAll("details[data-print]").forEach(function (fold) { fold.open = true; });
});

// A link into a closed fold opens it.
(function () {
  "use strict";
  function open() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target) target.scrollIntoView();
  }
  window.addEventListener("hashchange", open);
  document.addEventListener("click", function (event) {
    var link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) open();
  });
  if (location.hash) open();
})();
