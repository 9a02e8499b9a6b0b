// Zoom, search and keys of a flame graph. Frames stand in the document callers first: a frame's
// callees are the elements behind it, up to the next one in its own row or below. Names are only
// ever handled as text.
(function () {
	"use strict";
	var svg = document.currentScript ? document.currentScript.parentNode : document.documentElement;
	var sideways = 10, characterWidth = 7.2;
	var width = svg.viewBox.baseVal.width - 2 * sideways;
	var frames = [], zoomed = 0, current = -1, pattern = null;

	function byId(id) { return svg.querySelector("#" + id); }

	function readFrames() {
		var callers = [];
		svg.querySelectorAll("#frames > g").forEach(function (g, i) {
			var rect = g.querySelector("rect"), title = g.firstChild.textContent;
			var row = +g.getAttribute("data-r");
			callers.length = row;
			frames.push({
				g: g, rect: rect, text: g.querySelector("text"), title: title, row: row,
				name: title.replace(/ \([^(]*\)$/, ""), value: +g.getAttribute("data-v"),
				x: +rect.getAttribute("x"), width: +rect.getAttribute("width"),
				caller: row ? callers[row - 1] : -1, end: i + 1
			});
			callers.push(i);
			g.index = i;
		});
		for (var i = frames.length - 1; i > 0; i--) {
			var caller = frames[frames[i].caller];
			caller.end = Math.max(caller.end, frames[i].end);
		}
	}

	// ---- drawing ----

	function label(frame, room) {
		var characters = Math.floor((room - 6) / characterWidth);
		if (characters < 3) return "";
		var all = Array.from(frame.name);
		return all.length <= characters ? frame.name : all.slice(0, characters - 2).join("") + "..";
	}

	function setText(frame, x, room) {
		var text = label(frame, room);
		if (!frame.text) {
			if (!text) return;
			frame.text = document.createElementNS(svg.namespaceURI, "text");
			frame.text.setAttribute("y", +frame.rect.getAttribute("y") + 11.5);
			frame.g.appendChild(frame.text);
		}
		frame.text.setAttribute("x", x + 3);
		if (frame.text.textContent !== text) frame.text.textContent = text;
	}

	function place(frame, x, room) {
		frame.g.style.display = room < 0.05 ? "none" : "";
		frame.rect.setAttribute("x", x);
		frame.rect.setAttribute("width", room);
		setText(frame, x, room);
	}

	function isCaller(index, of) {
		return index < of && of < frames[index].end;
	}

	function zoom(index) {
		var target = frames[index], scale = target.width > 0 ? width / target.width : 1;
		zoomed = index;
		frames.forEach(function (frame, i) {
			var caller = isCaller(i, index);
			frame.g.classList.toggle("caller", caller);
			if (caller)
				place(frame, sideways, width);
			else if (i === index || isCaller(index, i))
				place(frame, sideways + (frame.x - target.x) * scale, frame.width * scale);
			else
				frame.g.style.display = "none";
		});
		byId("reset").style.visibility = index ? "visible" : "hidden";
	}

	// ---- search ----

	function compile(text) {
		try {
			return new RegExp(text, "i");
		} catch (error) {
			return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
		}
	}

	// What lies on top of a frame that matches is counted with it.
	function search(text) {
		var matched = 0, counted = 0;
		pattern = text ? compile(text) : null;
		frames.forEach(function (frame, i) {
			var hit = pattern !== null && pattern.test(frame.name);
			frame.g.classList.toggle("hit", hit);
			if (hit && i >= counted) {
				matched += frame.value;
				counted = frame.end;
			}
		});
		byId("matched").textContent = pattern === null ? "" :
			"Matched: " + (100 * matched / (frames[0].value || 1)).toFixed(2) + " %";
		byId("search").textContent = pattern === null ? "Search" : "Reset search";
	}

	function askSearch() {
		var text = window.prompt("Search (a regular expression):", "");
		if (text !== null) search(text);
	}

	// ---- mouse and keys ----

	function show(index) {
		byId("details").textContent = index < 0 ? "" : frames[index].title;
	}

	function frameOf(element) {
		var g = element.closest ? element.closest("#frames > g") : null;
		return g ? g.index : -1;
	}

	function setCurrent(index) {
		if (current >= 0) frames[current].g.classList.remove("current");
		current = index;
		if (current >= 0) frames[current].g.classList.add("current");
		show(current);
	}

	function isShown(index) { return frames[index].g.style.display !== "none"; }

	function widestCallee(index) {
		var widest = index;
		for (var i = index + 1; i < frames[index].end; i = frames[i].end)
			if (isShown(i) && (widest === index || frames[i].value > frames[widest].value)) widest = i;
		return widest;
	}

	function sibling(index, step) {
		var row = frames[index].row;
		for (var i = index + step; i >= 0 && i < frames.length; i += step)
			if (frames[i].row === row && isShown(i)) return i;
		return index;
	}

	function neighbour(key) {
		var inverted = frames.length > 1 &&
			+frames[1].rect.getAttribute("y") > +frames[0].rect.getAttribute("y");
		if (key === "ArrowLeft") return sibling(current, -1);
		if (key === "ArrowRight") return sibling(current, 1);
		if ((key === "ArrowUp") !== inverted) return widestCallee(current);
		return Math.max(frames[current].caller, 0);
	}

	function onKey(event) {
		var handled = true;
		if (event.key === "/" || (event.ctrlKey && event.key === "f"))
			askSearch();
		else if (event.key === "Escape")
			pattern === null ? zoom(0) : search("");
		else if (event.key === "Enter" && current >= 0)
			zoom(current);
		else if (/^Arrow/.test(event.key))
			setCurrent(current < 0 ? zoomed : neighbour(event.key));
		else
			handled = false;
		if (handled) event.preventDefault();
	}

	readFrames();
	svg.addEventListener("click", function (event) {
		var index = frameOf(event.target);
		if (index >= 0) zoom(index);
		else if (event.target.id === "reset") zoom(0);
		else if (event.target.id === "search") pattern === null ? askSearch() : search("");
	});
	svg.addEventListener("mouseover", function (event) { show(frameOf(event.target)); });
	window.addEventListener("keydown", onKey);
})();
