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

  function value(row, column) { return row.cells[column].getAttribute("data-v"); }

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
    var bytes = Uint8Array.from(atob(csv.href.slice(csv.href.indexOf(",") + 1)), function (c) { return c.charCodeAt(0); });
    var lines = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).split("\r\n");
    csv.addEventListener("click", function () {
      var kept = [lines[0]];
      Array.prototype.forEach.call(body.rows, function (row) { if (!row.hidden) kept.push(lines[row.place + 1]); });
      var url = URL.createObjectURL(new Blob([kept.join("\r\n") + "\r\n"], { type: "text/csv;charset=utf-8" }));
      csv.href = url;
      setTimeout(function () { URL.revokeObjectURL(url); }, 60000);
    });
  }

  // Closed details are opened for the printer.
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  });
})();
