// Zoom, search and keys of a flame graph. All frames stand in a table, callers first and from left to
// right; so a frame's callees are those behind it, up to the next one in its own row or below. What
// can be seen is drawn from it anew: the widest frames as elements, with a title, those of a row that
// have one colour as one path. Names are only ever handled as text.
(function () {
	"use strict";
	var svg = document.currentScript ? document.currentScript.parentNode : document.documentElement;
	var sideways = 10, top = 58, rowHeight = 16, characterWidth = 7.2;
	var minWidth = 0.05, minElement = 1, maxElements = 4000;
	var width = svg.viewBox.baseVal.width - 2 * sideways;
	var boxes = byId("frames"), labels = byId("labels"), cursor = byId("cursor");
	var rows = +boxes.getAttribute("data-rows"), inverted = boxes.getAttribute("data-inverted") === "1";
	var unit = boxes.getAttribute("data-unit");
	var frames = readFrames(), shown = [];
	var zoomed = 0, current = -1, hovered = -1, pattern = null;

	function byId(id) { return svg.querySelector("#" + id); }

	// A line is "ROW COLOUR VALUE NAME (ITS VALUE, ITS SHARE)".
	function readFrame(line, index, callers) {
		var afterRow = line.indexOf(" "), afterColour = line.indexOf(" ", afterRow + 1);
		var afterValue = line.indexOf(" ", afterColour + 1), row = +line.slice(0, afterRow);
		var caller = row ? callers[row - 1] : null, value = +line.slice(afterColour + 1, afterValue);
		var frame = {
			index: index, row: row, colour: line.slice(afterRow + 1, afterColour), value: value,
			title: line.slice(afterValue + 1), caller: caller, end: index + 1,
			left: 0, filled: 0, x: 0, width: 0, isShown: false, isHit: false
		};
		callers.length = row;
		callers.push(frame);
		return frame;
	}

	function readFrames() {
		var callers = [];
		var table = Array.from(svg.querySelectorAll("metadata")).map(function (part) {
			return part.textContent.slice(1);
		}).join("");
		var list = table.slice(0, -1).split("\n").map(function (line, index) {
			return readFrame(line, index, callers);
		});
		for (var i = list.length - 1; i > 0; i--)
			list[i].caller.end = Math.max(list[i].caller.end, list[i].end);
		return list;
	}

	// Places frames beside each other, above their callers.
	function place() {
		frames.forEach(function (frame) {
			frame.left = frame.filled = frame.caller ? frame.caller.filled : 0;
			if (frame.caller) frame.caller.filled += frame.value;
		});
	}

	// For a heat map: gives frames other values, those of single frames without their callees.
	svg.setValues = function (values, title) {
		frames.forEach(function (frame) { frame.value = values[frame.index] || 0; });
		for (var i = frames.length - 1; i > 0; i--) frames[i].caller.value += frames[i].value;
		frames.forEach(function (frame) {
			frame.title = nameOf(frame) + " (" + quantity(frame.value) + ", " +
				(100 * frame.value / (frames[0].value || 1)).toFixed(2) + " %)";
		});
		place();
		byId("title").textContent = title + ": " + quantity(frames[0].value);
		zoom(0);
	};

	function quantity(value) {
		if (unit !== "nanoseconds") return value.toLocaleString("en") + " " + unit;
		var unitOfTime = value < 1e6 ? ["us", 1e3] : value < 1e9 ? ["ms", 1e6] : ["s", 1e9];
		return +(value / unitOfTime[1]).toPrecision(3) + " " + unitOfTime[0];
	}

	function nameOf(frame) { return frame.title.replace(/ \([^(]*\)$/, ""); }

	// ---- what can be seen, and where ----

	function show(frame, x, room) {
		frame.x = x;
		frame.width = room;
		frame.isShown = true;
		shown[frame.row].push(frame);
	}

	// The frame zoomed into is as wide as all, its callers too; others are above it or not there.
	function arrange() {
		var target = frames[zoomed], scale = target.value > 0 ? width / target.value : 0, i, frame;
		shown.forEach(function (row) { row.forEach(function (old) { old.isShown = false; }); });
		shown = [];
		for (i = 0; i < rows; i++) shown.push([]);
		for (frame = target.caller; frame; frame = frame.caller) show(frame, sideways, width);
		for (i = zoomed; i < target.end;) {
			frame = frames[i];
			if (frame.value * scale >= minWidth || i === zoomed) {
				show(frame, sideways + (frame.left - target.left) * scale, frame.value * scale);
				i++;
			} else
				i = frame.end;
		}
	}

	function y(row) { return top + (inverted ? row : rows - 1 - row) * rowHeight; }

	// ---- drawing ----

	function make(parent, tag, attributes, text) {
		var element = document.createElementNS(svg.namespaceURI, tag);
		for (var name in attributes) element.setAttribute(name, attributes[name]);
		if (text) element.textContent = text;
		parent.appendChild(element);
		return element;
	}

	function classOf(frame) {
		return (frame.isHit ? "hit" : frame.colour) + (frame.index < zoomed ? " caller" : "");
	}

	function elementWidth() {
		function count(least) {
			return shown.reduce(function (sum, row) {
				return sum + row.filter(function (frame) { return frame.width >= least; }).length;
			}, 0);
		}
		var least = minElement;
		while (count(least) > maxElements && least < width) least *= 1.25;
		return least;
	}

	function drawElement(parent, frame) {
		make(make(parent, "rect", {
			"class": classOf(frame), x: frame.x.toFixed(2), y: y(frame.row),
			width: frame.width.toFixed(2), height: rowHeight - 1
		}), "title", {}, frame.title);
	}

	// Neighbours of one colour are one rectangle.
	function drawPaths(parent, row, least) {
		var paths = {}, ends = {};
		row.forEach(function (frame) {
			var key = classOf(frame), end = frame.x + frame.width;
			if (frame.width >= least || !frame.row) return;
			if (!paths[key]) paths[key] = [];
			if (paths[key].length && Math.abs(ends[key] - frame.x) < 1e-6)
				paths[key][paths[key].length - 1].end = end;
			else
				paths[key].push({ x: frame.x, end: end });
			ends[key] = end;
		});
		Object.keys(paths).forEach(function (key) {
			make(parent, "path", {
				"class": key, d: paths[key].map(function (part) {
					return "M" + part.x.toFixed(2) + " " + y(row[0].row) + "h" +
						(part.end - part.x).toFixed(2) + "v" + (rowHeight - 1) +
						"H" + part.x.toFixed(2) + "z";
				}).join("")
			});
		});
	}

	function drawLabel(parent, frame) {
		var characters = Math.floor((frame.width - 6) / characterWidth), name;
		if (characters < 3) return;
		name = Array.from(nameOf(frame));
		if (name.length > characters) name = name.slice(0, characters - 2).concat("..");
		make(parent, "text", { x: (frame.x + 3).toFixed(2), y: y(frame.row) + 10.5 }, name.join(""));
	}

	// Made aside, and put in the place of what was there all at once.
	function refill(group, fill) {
		var parts = document.createDocumentFragment();
		fill(parts);
		group.textContent = "";
		group.appendChild(parts);
	}

	function draw() {
		var least = elementWidth();
		refill(boxes, function (parts) {
			shown.forEach(function (row) { drawPaths(parts, row, least); });
			shown.forEach(function (row) {
				row.forEach(function (frame) {
					if (frame.width >= least || !frame.row) drawElement(parts, frame);
				});
			});
		});
		refill(labels, function (parts) {
			shown.forEach(function (row) {
				row.forEach(function (frame) { drawLabel(parts, frame); });
			});
		});
		point();
	}

	function zoom(index) {
		zoomed = index;
		arrange();
		draw();
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
		frames.forEach(function (frame) {
			frame.isHit = pattern !== null && pattern.test(nameOf(frame));
			if (frame.isHit && frame.index >= counted) {
				matched += frame.value;
				counted = frame.end;
			}
		});
		draw();
		byId("matched").textContent = pattern === null ? "" :
			"Matched: " + (100 * matched / (frames[0].value || 1)).toFixed(2) + " %";
		byId("search").textContent = pattern === null ? "Search" : "Reset search";
	}

	function askSearch() {
		var text = window.prompt("Search (a regular expression):", "");
		if (text !== null) search(text);
	}

	// ---- mouse and keys ----

	// Shows which frame is meant: the one under the mouse, else the one that keys have moved to.
	function point() {
		var frame = frames[hovered >= 0 ? hovered : current];
		var isThere = frame !== undefined && frame.isShown;
		byId("details").textContent = isThere ? frame.title : "";
		cursor.style.visibility = isThere ? "visible" : "hidden";
		if (!isThere) return;
		cursor.setAttribute("x", frame.x);
		cursor.setAttribute("y", y(frame.row));
		cursor.setAttribute("width", frame.width);
		cursor.setAttribute("height", rowHeight - 1);
	}

	function find(row, x) {
		var low = 0, high = row.length, middle;
		while (low < high) {
			middle = (low + high) >> 1;
			if (row[middle].x + row[middle].width <= x) low = middle + 1;
			else high = middle;
		}
		return low < row.length && row[low].x <= x ? row[low].index : -1;
	}

	function frameAt(event) {
		var matrix = svg.getScreenCTM(), at = svg.createSVGPoint(), row;
		if (!matrix) return -1;
		at.x = event.clientX;
		at.y = event.clientY;
		at = at.matrixTransform(matrix.inverse());
		row = Math.floor((at.y - top) / rowHeight);
		if (row < 0 || row >= rows) return -1;
		return find(shown[inverted ? row : rows - 1 - row], at.x);
	}

	function widestCallee(frame) {
		var widest = frame;
		for (var i = frame.index + 1; i < frame.end; i = frames[i].end)
			if (frames[i].isShown && (widest === frame || frames[i].value > widest.value))
				widest = frames[i];
		return widest.index;
	}

	function sibling(frame, step) {
		var row = shown[frame.row], at = row.indexOf(frame) + step;
		return at >= 0 && at < row.length ? row[at].index : frame.index;
	}

	function neighbour(key) {
		var frame = frames[current];
		if (!frame.isShown) return zoomed;
		if (key === "ArrowLeft") return sibling(frame, -1);
		if (key === "ArrowRight") return sibling(frame, 1);
		if ((key === "ArrowUp") !== inverted) return widestCallee(frame);
		return frame.caller ? frame.caller.index : 0;
	}

	function moveTo(index) {
		current = index;
		hovered = -1;
		point();
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
			moveTo(current < 0 ? zoomed : neighbour(event.key));
		else
			handled = false;
		if (handled) event.preventDefault();
	}

	function onClick(event) {
		var index = frameAt(event);
		if (event.target.id === "reset") zoom(0);
		else if (event.target.id === "search") pattern === null ? askSearch() : search("");
		else if (index >= 0) zoom(index);
	}

	function onMove(event) {
		var index = frameAt(event);
		if (index === hovered) return;
		hovered = index;
		point();
	}

	place();
	arrange();
	svg.addEventListener("click", onClick);
	svg.addEventListener("mousemove", onMove);
	svg.addEventListener("mouseleave", function () { moveTo(current); });
	if (svg === document.documentElement)
		window.addEventListener("keydown", onKey);
	else { // one of several: keys are for the one that the mouse has pointed at, or Tab
		svg.setAttribute("tabindex", "0");
		svg.addEventListener("mouseenter", function () { svg.focus({ preventScroll: true }); });
		svg.addEventListener("keydown", onKey);
	}
})();
