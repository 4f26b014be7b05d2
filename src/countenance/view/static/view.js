// The pages are whole without this; it follows runs, brings the tests in, and listens to the keyboard.
(function () {
  "use strict";
  var body = document.body, page = body.getAttribute("data-page");

  // The token came in with the address; the cookie has it now, so it need not stay in the bar or in the history.
  var here = new URL(location.href);
  if (here.searchParams.has("token")) {
    here.searchParams.delete("token");
    history.replaceState(null, "", here.pathname + here.search + here.hash);
  }

  function parsed(text) { return new DOMParser().parseFromString(text, "text/html"); }

  // Runs: new ones appear, running ones move on, without a click.
  function follow() {
    var last = null;
    setInterval(function () {
      if (document.hidden) return;
      fetch("/api/stamp").then(function (answer) { return answer.json(); }).then(function (answer) {
        var now = answer.stamp;
        if (last !== null && now !== last) {
          fetch(location.href).then(function (answer) { return answer.text(); }).then(function (text) {
            var fresh = parsed(text), part = fresh.getElementById("runs");
            if (!part) { location.reload(); return; }
            var ticked = Array.from(document.querySelectorAll("input[name=run]:checked"), function (i) { return i.value; });
            document.getElementById("runs").replaceChildren.apply(document.getElementById("runs"), Array.from(part.childNodes));
            document.querySelectorAll("input[name=run]").forEach(function (i) { i.checked = ticked.indexOf(i.value) >= 0; });
          });
        }
        last = now;
      }).catch(function () { /* the viewer was stopped */ });
    }, 2500);
  }

  // One run: the stream says how far the permutations are; then the sections come, each into its place.
  function tests() {
    var words = document.getElementById("progress-words"), bar = document.getElementById("progress-bar");
    function failed(sentence) {
      document.getElementById("waiting").textContent = "No tests";
      words.textContent = sentence;
      bar.hidden = true;
    }
    function show() {
      fetch(body.getAttribute("data-tests")).then(function (answer) { return answer.text(); }).then(function (text) {
        var fresh = parsed(text), part = function (name) { return fresh.querySelector('[data-part="' + name + '"]'); };
        if (!part("verdict")) { failed("The tests cannot be shown."); return; }
        var address = part("verdict").getAttribute("data-waiting");
        document.getElementById("verdict-place").replaceChildren(part("verdict"));
        if (address) faces(address);
        document.getElementById("estimates").replaceChildren(part("groups"));
        document.getElementById("sections").replaceChildren(part("sections"));
        body.setAttribute("data-tested", "yes");
        var script = document.createElement("script");
        script.src = "/static/report.js";
        document.body.appendChild(script);
        if (location.hash.length > 1) {
          var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
          for (var at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
          if (target) target.scrollIntoView();
        }
      }).catch(function () { failed("The viewer does not answer; was it stopped?"); });
    }
    // People are dots until their pictures have been read.
    function faces(address) {
      whenRead(address.split(" "), function () {
        return fetch(body.getAttribute("data-tests")).then(function (answer) { return answer.text(); }).then(function (text) {
          var fresh = parsed(text).querySelector('[data-part="verdict"]');
          if (fresh) document.getElementById("verdict-place").replaceChildren(fresh);
        });
      });
    }
    fetch(body.getAttribute("data-stream")).then(function (answer) {
      var reader = answer.body.getReader(), decoder = new TextDecoder(), rest = "", ended = false;
      function line(text) {
        var event = JSON.parse(text);
        if (event.error) { ended = true; failed(event.error); reader.cancel(); }
        else if (event.total) {
          bar.max = event.total; bar.value = event.done;
          words.textContent = event.done.toLocaleString("en") + " of " + event.total.toLocaleString("en") + " permutations of the labels are done; estimates are below.";
        } else if (event.verdict !== undefined) { ended = true; reader.cancel(); show(); }
      }
      (function next() {
        reader.read().then(function (got) {
          if (ended) return;
          if (got.done) { failed("The tests ended without a verdict; the terminal says more."); return; }
          rest += decoder.decode(got.value, { stream: true });
          var lines = rest.split("\n");
          rest = lines.pop();
          lines.forEach(function (text) { if (!ended && text) line(text); });
          if (!ended) next();
        }).catch(function () { if (!ended) failed("The viewer does not answer; was it stopped?"); });
      })();
    }).catch(function () { failed("The viewer does not answer; was it stopped?"); });
  }

  // Parts of a page that take longer come after it.
  function load(place) {
    fetch(place.getAttribute("data-load")).then(function (answer) { return answer.text(); }).then(function (text) {
      var fresh = parsed(text), part = fresh.getElementById("fragment") || fresh.querySelector(".empty");
      if (part) place.replaceChildren(part);
      body.setAttribute("data-tested", "yes");
      var addresses = part && part.getAttribute("data-waiting");
      if (addresses) whenRead(addresses.split(" "), function () { load(place); });
    }).catch(function () { place.textContent = "The viewer does not answer; was it stopped?"; });
  }
  document.querySelectorAll("[data-load]").forEach(load);

  // Asks about pictures until all have been read, then goes on.
  function whenRead(addresses, next) {
    Promise.all(addresses.map(function (address) {
      return fetch(address).then(function (answer) { return answer.json(); });
    })).then(function (states) {
      if (states.some(function (state) { return state.state === "loading"; })) setTimeout(whenRead, 700, addresses, next);
      else return next();
    }).catch(function () { /* the viewer was stopped */ });
  }

  // Pictures that are still being read: when all are, what the page shows is brought in, without a reload.
  function wait() {
    var addresses = (body.getAttribute("data-waiting") || "").split(" ").filter(Boolean);
    if (!addresses.length) return;
    whenRead(addresses, function () {
      return fetch(location.href).then(function (answer) { return answer.text(); }).then(function (text) {
        var main = document.getElementById("main"), fresh = parsed(text), part = fresh.getElementById("main");
        var tiles = Array.from(document.querySelectorAll(".tile")), at = tiles.indexOf(document.activeElement);
        var still = fresh.body.getAttribute("data-waiting");
        if (part) main.replaceChildren.apply(main, Array.from(part.childNodes));
        if (at >= 0) { var tile = document.querySelectorAll(".tile")[at]; if (tile) tile.focus(); }
        if (still) { body.setAttribute("data-waiting", still); setTimeout(wait, 700); }
        else body.removeAttribute("data-waiting");
      });
    });
  }

  // A picture that is drawn covers the word "loading" behind it, also where it is transparent; one that fails says so.
  function draw(image) { if (image.parentElement.matches(".picture")) image.classList.add("drawn"); }
  function fail(image) {
    var place = image.closest(".picture"), note = document.createElement("span");
    if (!place) return;
    if (place.closest(".card-faces")) { place.remove(); return; }
    note.className = "soft";
    note.textContent = "the picture cannot be read";
    place.classList.add("none");
    place.replaceChildren(note);
  }
  document.addEventListener("load", function (event) { if (event.target.tagName === "IMG") draw(event.target); }, true);
  document.addEventListener("error", function (event) { if (event.target.tagName === "IMG") fail(event.target); }, true);
  document.querySelectorAll(".picture > img").forEach(function (image) { if (image.complete && image.naturalWidth) draw(image); });

  // Zoom and layers of one picture.
  var zoom = 1;
  function setZoom(value) {
    var picture = document.querySelector(".zoomable");
    if (!picture) return;
    zoom = Math.min(8, Math.max(1, value));
    picture.style.width = 100 * zoom + "%";
  }
  function toggle(layer) {
    var button = document.querySelector('[data-toggle="' + layer + '"]');
    if (!button) return;
    var shown = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!shown));
    document.querySelector(".stage").classList.toggle("hide-" + layer, shown);
  }
  document.addEventListener("click", function (event) {
    var button = event.target.closest("button");
    if (!button) return;
    var way = button.getAttribute("data-zoom"), layer = button.getAttribute("data-toggle");
    if (way) setZoom(way === "in" ? zoom * 1.5 : way === "out" ? zoom / 1.5 : 1);
    if (layer) toggle(layer);
  });

  function go(rel) {
    var link = document.querySelector('a[rel="' + rel + '"]');
    if (link) location.href = link.href;
  }
  // Escape closes what is open around the focus, also from within a field; a search is cleared first, by the browser.
  function closed(target) {
    if (target.type === "search" && target.value) return false;
    var open = target.closest && target.closest("details[open]");
    if (!open) return false;
    open.open = false;
    open.querySelector("summary").focus();
    return true;
  }
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape" && closed(event.target)) return;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    var key = event.key;
    if (page === "sample") {
      var stage = event.target.closest && event.target.closest(".stage");
      if (key === "ArrowLeft" && !(stage && zoom > 1)) go("prev");
      else if (key === "ArrowRight" && !(stage && zoom > 1)) go("next");
      else if (key === "+" || key === "=") setZoom(zoom * 1.5);
      else if (key === "-") setZoom(zoom / 1.5);
      else if (key === "0") setZoom(1);
      else if (key === "t") toggle("truth");
      else if (key === "a") toggle("answer");
      else if (key === "Escape") go("up");
    } else if (page === "samples") {
      var tiles = Array.from(document.querySelectorAll(".tile")), at = tiles.indexOf(document.activeElement);
      if (key === "ArrowRight" && tiles.length) tiles[Math.min(at + 1, tiles.length - 1)].focus();
      else if (key === "ArrowLeft" && tiles.length) tiles[Math.max(at - 1, 0)].focus();
      else if (key === "n") go("next");
      else if (key === "p") go("prev");
      else return;
      if (key.indexOf("Arrow") === 0) event.preventDefault();
    } else if (page === "rows") {
      if (key === "n") go("next");
      else if (key === "p") go("prev");
    }
  });

  if (page === "runs" || page === "running") follow();
  if (page === "run") tests();
  wait();
})();
