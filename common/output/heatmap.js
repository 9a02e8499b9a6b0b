// Selection of a range of time in a heat map: press at its first cell, release at its last one. The
// flame graph below then has the values of that range.
(function () {
	"use strict";
	var svg = document.currentScript ? document.currentScript.parentNode : document.documentElement;
	var left = 10, top = 60, parts = 50, cellHeight = 5;
	var heat = byId("heat"), range = byId("range"), all = byId("all"), flame = svg.querySelector("svg");
	var first = number("first"), cell = number("cell"), columns = number("columns");
	var width = number("width"), isTime = heat.getAttribute("data-unit") === "nanoseconds";
	var rows = readRows(), pressed = -1;

	function byId(id) { return svg.querySelector("#" + id); }

	function number(name) { return +heat.getAttribute("data-" + name); }

	// A line is "FRAME START VALUE".
	function readRows() {
		var list = [];
		svg.querySelectorAll("metadata.rows").forEach(function (part) {
			part.textContent.trim().split("\n").forEach(function (line) {
				var words = line.split(" ");
				if (words.length === 3) list.push({ frame: +words[0], start: +words[1], value: +words[2] });
			});
		});
		return list;
	}

	function seconds(ns) { return (ns / 1e9).toFixed(2) + " s"; }

	function valueIn(row, from, to) {
		if (!isTime) return row.start >= from && row.start < to ? row.value : 0;
		return Math.max(0, Math.min(row.start + row.value, to) - Math.max(row.start, from));
	}

	function show(from, to, title) {
		var values = [];
		rows.forEach(function (row) {
			values[row.frame] = (values[row.frame] || 0) + valueIn(row, from, to);
		});
		flame.setValues(values, title);
	}

	// Draws the cells from one to another, in the order of time: whole columns, and parts of two.
	function outline(from, to) {
		var path = "", column, low, high;
		for (column = Math.floor(from / parts); column <= Math.floor(to / parts); column++) {
			low = Math.max(from - column * parts, 0);
			high = Math.min(to - column * parts, parts - 1);
			path += "M" + (left + column * width).toFixed(2) + " " + (top + (parts - 1 - high) * cellHeight) +
				"h" + width.toFixed(2) + "v" + (high - low + 1) * cellHeight + "h" + (-width).toFixed(2) + "z";
		}
		range.setAttribute("d", path);
	}

	function cellAt(event) {
		var matrix = svg.getScreenCTM(), at = svg.createSVGPoint(), column, part;
		at.x = event.clientX;
		at.y = event.clientY;
		at = at.matrixTransform(matrix.inverse());
		column = Math.floor((at.x - left) / width);
		part = parts - 1 - Math.floor((at.y - top) / cellHeight);
		return Math.min(Math.max(column, 0), columns - 1) * parts + Math.min(Math.max(part, 0), parts - 1);
	}

	function select(a, b) {
		var from = first + Math.min(a, b) * cell, to = first + (Math.max(a, b) + 1) * cell;
		outline(Math.min(a, b), Math.max(a, b));
		show(from, to, seconds(from) + " to " + seconds(to));
		all.style.visibility = "visible";
	}

	function selectAll() {
		range.removeAttribute("d");
		show(-Infinity, Infinity, "All of the time");
		all.style.visibility = "hidden";
	}

	heat.addEventListener("mousedown", function (event) {
		pressed = cellAt(event);
		event.preventDefault();
	});
	svg.addEventListener("mousemove", function (event) {
		if (pressed >= 0) outline(Math.min(pressed, cellAt(event)), Math.max(pressed, cellAt(event)));
	});
	svg.addEventListener("mouseup", function (event) {
		if (pressed >= 0) select(pressed, cellAt(event));
		pressed = -1;
	});
	all.addEventListener("click", selectAll);
})();
