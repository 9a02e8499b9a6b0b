// SPDX-License-Identifier: GPL-2.0-only
// Tests of a flame graph in a browser, as a person uses it; see the file "run" beside this one.
import { strict as assert } from "node:assert";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Browser } from "./chromium.mjs";

const browser = new Browser();
let failed = false;

async function open(file, options) {
	const page = await browser.newPage(options);
	await page.goto(pathToFileURL(file).href);
	return page;
}

async function test(name, file, options, run) {
	let page;
	try {
		page = await open(file, options);
		await run(page);
		page.check();
		console.log("PASS " + name);
	} catch (error) {
		failed = true;
		console.log("FAIL " + name + "\n" + error.message);
	} finally {
		if (page) await page.close();
	}
}

// The frames that are elements: name, left edge, width, what is written on them, classes.
function frames(page) {
	return page.evaluate(() => {
		const labels = new Map(Array.from(document.querySelectorAll("#labels text")).map((text) =>
			[+text.getAttribute("x") - 3 + " " + (text.getAttribute("y") - 10.5), text.textContent]));
		return Array.from(document.querySelectorAll("#frames rect")).map((rect) => {
			const x = +rect.getAttribute("x"), y = rect.getAttribute("y");
			return {
				name: rect.firstChild.textContent.replace(/ \([^(]*\)$/, ""), x, y: +y,
				width: +rect.getAttribute("width"), label: labels.get(x + " " + y) || "",
				hit: rect.classList.contains("hit"), caller: rect.classList.contains("caller"),
			};
		});
	});
}

// Written and drawn again they come in another order.
function byPlace(a, b) { return a.y - b.y || a.x - b.x; }

async function frame(page, name) {
	return (await frames(page)).find((f) => f.name === name);
}

async function click(page, name) {
	await page.click("#frames rect", name);
}

// The name of the frame that the mouse or the keys point at.
async function pointed(page) {
	return (await page.text("#details")).replace(/ \([^(]*\)$/, "");
}

function cursorVisibility(page) {
	return page.evaluate(() => document.querySelector("#cursor").style.visibility);
}

async function search(page, text) {
	await page.press("/", text);
	return page.text("#matched");
}

await test("zoom_and_reset", "small.svg", {}, async (page) => {
	const before = await frames(page);
	await click(page, "draw (");
	const draw = await frame(page, "draw");
	assert.equal(draw.width, 1180);
	assert.equal((await frame(page, "line")).width, 1180);
	assert.equal(await frame(page, "parse"), undefined);
	assert.equal((await frame(page, "main")).caller, true);
	await page.screenshot("zoomed.png");
	await page.click("#reset");
	assert.deepEqual((await frames(page)).sort(byPlace), before.sort(byPlace));
});

for (const file of ["small.svg", "hostile.svg"])
	await test("labels_fit_their_frames_in_" + file, file, {}, async (page) => {
		const ends = await page.evaluate(() => Array.from(document.querySelectorAll("#labels text"))
			.map((text) => [text.getBBox(), +text.getAttribute("x"), text.getAttribute("y")])
			.map(([box, x, y]) => ({ x: x - 3, y: y - 10.5, end: box.x + box.width })));
		const boxes = await frames(page);
		assert.ok(ends.length > 0);
		for (const label of ends) {
			const box = boxes.find((f) => Math.abs(f.x - label.x) < 0.01 && f.y === label.y);
			assert.ok(label.end <= box.x + box.width, "a label beyond its frame: " + box.name);
		}
	});

await test("a_redrawn_picture_is_the_one_that_was_written", "small.svg", {}, async (page) => {
	const before = await frames(page);
	assert.equal((await frame(page, "main")).label, "main");
	await page.press("Escape");
	assert.deepEqual((await frames(page)).sort(byPlace), before.sort(byPlace));
});

await test("search_counts_what_matches_once", "small.svg", {}, async (page) => {
	assert.equal(await search(page, "line|read"), "Matched: 45.00 %");
	assert.deepEqual((await frames(page)).filter((f) => f.hit).map((f) => f.name), ["line", "read", "line"]);
	await page.screenshot("searched.png");
	await page.click("#search");
	assert.equal((await frames(page)).filter((f) => f.hit).length, 0);
	assert.equal(await search(page, "("), "Matched: 0.00 %");
	await page.press("Escape");
	assert.equal(await page.text("#matched"), "");
});

await test("keys_move_and_zoom", "small.svg", {}, async (page) => {
	for (const key of ["ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp"]) await page.press(key);
	assert.equal(await page.text("#details"), "draw (35 samples, 35.00 %)");
	const cursor = await page.evaluate(() => ["x", "y"].map((name) =>
		+document.querySelector("#cursor").getAttribute(name)));
	const draw = await frame(page, "draw");
	assert.ok(Math.abs(cursor[0] - draw.x) < 0.01 && cursor[1] === draw.y);
	await page.press("ArrowRight");
	assert.equal(await pointed(page), "parse");
	await page.press("Enter");
	assert.equal((await frame(page, "parse")).width, 1180);
	await page.press("ArrowDown");
	assert.equal(await pointed(page), "main");
	await page.press("Escape");
	assert.ok((await frame(page, "parse")).width < 1180);
});

await test("the_mouse_points", "small.svg", {}, async (page) => {
	const lex = await frame(page, "lex");
	await page.point(lex.x + 5, lex.y + 5);
	assert.equal(await page.text("#details"), "lex (20 samples, 20.00 %)");
	assert.equal(await cursorVisibility(page), "visible");
	await page.point(lex.x + 5, lex.y - 20); // above the stacks
	assert.equal(await page.text("#details"), "");
	assert.equal(await cursorVisibility(page), "hidden");
});

await test("roots_on_top_work_too", "inverted.svg", {}, async (page) => {
	assert.ok((await frame(page, "all")).y < (await frame(page, "app")).y);
	await page.press("ArrowDown");
	await page.press("ArrowDown");
	assert.equal(await pointed(page), "app");
	await click(page, "draw (");
	assert.equal((await frame(page, "line")).width, 1180);
	const line = await frame(page, "line");
	await page.point(line.x + 5, line.y + 5);
	assert.equal(await pointed(page), "line");
});

await test("readable_without_scripts", "small.svg", { javaScriptEnabled: false }, async (page) => {
	await page.screenshot("noscript.png");
	assert.equal(await page.evaluate(() => Array.from(document.querySelectorAll("#labels text"))
		.filter((text) => text.textContent.includes("parse")).length), 1);
});

for (const scheme of ["light", "dark"])
	await test("background_is_" + scheme, "small.svg", { colorScheme: scheme }, async (page) => {
		const colour = await page.evaluate(() =>
			getComputedStyle(document.querySelector("#background")).fill);
		assert.equal(colour, scheme === "light" ? "rgb(255, 255, 255)" : "rgb(28, 28, 32)");
		await page.screenshot(scheme + ".png");
	});

await test("hostile_names_are_text", "hostile.svg", {}, async (page) => {
	assert.equal(await page.evaluate(() => window.hacked), undefined);
	const names = (await frames(page)).map((f) => f.name);
	assert.ok(names.includes("</title><script>window.hacked=1</script>"));
	assert.ok(names.includes("&amp") && names.includes("]]>"));
	assert.ok(names.includes("\\x1b[31m\\x01"));
	assert.ok(names.includes("\\xff\\xfe"));
	assert.equal(await page.evaluate(() => document.querySelectorAll("script").length), 1);
});

// ---- a page: several graphs in HTML ----

if (existsSync("page.html")) {
	await test("a_page_has_graphs_with_keys_of_their_own", "page.html", { height: 3000 }, async (page) => {
		await page.screenshot("page.png");
		assert.equal(await page.evaluate(() => document.querySelectorAll("b").length), 0);
		assert.ok((await page.text("body")).includes("<b>&`x: "));
		const graphs = await page.evaluate(() => Array.from(document.querySelectorAll("svg"))
			.map((svg) => [svg.querySelector("title").textContent, svg.getBoundingClientRect().top]));
		assert.equal(graphs.length, 2);
		assert.ok(graphs[0][0].includes("on CPU") && graphs[1][0].includes("waiting"));
		const details = () => page.evaluate(() => Array.from(document.querySelectorAll("#details"))
			.map((text) => text.textContent));
		for (const i of [0, 1]) {
			await page.point(600, graphs[i][1] + 5);
			await page.press("ArrowUp");
			assert.ok((await details())[i].startsWith("all ("));
			await page.point(600, graphs[i][1] - 5);
		}
		await page.press("ArrowUp");
		assert.deepEqual((await details()).map((text) => text.startsWith("all (")), [true, false]);
	});

	await test("a_page_is_readable_without_scripts", "page.html", { javaScriptEnabled: false }, async (page) => {
		assert.equal(await page.count("svg #frames"), 2);
		assert.ok(await page.count("tr") >= 3);
	});
}

// ---- 50,000 frames: 2,500 stacks of 20 ----

// In the order of their names, as they stand side by side; 1180 pixels for all.
const stacks = Array.from({ length: 2500 }, (_, i) => "f" + i + "_0").sort().map((name) => name.slice(0, -1));
const rowY = (row) => 58 + (21 - row) * 16; // all and app are the rows 0 and 1

// The samples of the file: waits of 8 ms that begin at 2, 12, 22 ... and 82 ms.
await test("a_heat_map_selects_time", "heat.svg", { height: 900 }, async (page) => {
	const all = await page.text("svg svg #frames rect title");
	const cell = (part) => [15, 60 + (49 - part) * 5 + 2];
	await page.clickAt(...cell(1));
	assert.equal(await page.text("svg svg #title"), "0.02 s to 0.04 s: 16 ms");
	assert.equal((await frame(page, "all")).width, 1180);
	await page.screenshot("heat.png");
	await page.drag(cell(4), cell(3));
	assert.equal(await page.text("svg svg #title"), "0.06 s to 0.10 s: 24 ms");
	assert.equal(await page.text("svg svg #frames rect title"), "all (24 ms, 100.00 %)");
	await page.clickAt(...cell(30));
	assert.equal(await page.text("svg svg #title"), "0.60 s to 0.62 s: 0 us");
	await page.click("#all");
	assert.equal(all.split(".")[0], "all (72");
	assert.equal(await page.text("svg svg #title"), "All of the time: 72 ms");
});

// How much of each row is covered, path by path and element by element.
function covered(page) {
	return page.evaluate(() => {
		const rows = {};
		const add = (y, width) => { rows[y] = (rows[y] || 0) + width; };
		for (const rect of document.querySelectorAll("#frames rect"))
			add(rect.getAttribute("y"), +rect.getAttribute("width"));
		for (const path of document.querySelectorAll("#frames path"))
			for (const part of path.getAttribute("d").matchAll(/M[0-9.]+ ([0-9.]+)h([0-9.]+)v/g))
				add(part[1], +part[2]);
		return rows;
	});
}

function checkCovered(rows) {
	assert.equal(Object.keys(rows).length, 22);
	// Each of up to 2,500 widths in a row is rounded to a hundredth.
	for (const [y, width] of Object.entries(rows))
		assert.ok(Math.abs(width - 1180) < 13, "of the row at " + y + " are drawn " + width);
}

await test("each_of_50000_frames_is_found_by_the_mouse", "large.svg", {}, async (page) => {
	checkCovered(await covered(page));
	for (const x of [11, 500, 777, 1189]) {
		await page.point(x, rowY(9) + 5);
		assert.equal(await page.text("#details"),
			stacks[Math.floor((x - 10) / (1180 / 2500))] + "7 (40 samples, 0.04 %)");
	}
});

await test("50000_frames_are_zoomed_searched_and_reset", "large.svg", {}, async (page) => {
	const stack = stacks[Math.floor((500 - 10) / (1180 / 2500))];
	await page.clickAt(500, rowY(9) + 5);
	const boxes = await frames(page);
	const names = ["all", "app", ...Array.from({ length: 20 }, (_, depth) => stack + depth)];
	assert.deepEqual(boxes.map((f) => f.name).sort(), names.sort());
	assert.ok(boxes.every((f) => f.x === 10 && f.width === 1180 && f.label === f.name));
	assert.deepEqual(boxes.filter((f) => f.caller).map((f) => f.name).sort(),
		["all", "app", ...Array.from({ length: 7 }, (_, depth) => stack + depth)].sort());
	await page.click("#reset");
	checkCovered(await covered(page));
	assert.equal(await search(page, "^f7_"), "Matched: 0.04 %");
	assert.equal(await page.count("#frames .hit"), 20); // a path in each row
	assert.equal(await search(page, "_7$"), "Matched: 100.00 %");
	assert.equal(await page.count("#frames .hit"), 1);
	await page.click("#search");
	assert.equal(await page.count("#frames .hit"), 0);
	checkCovered(await covered(page));
});

// Until what was done can be seen.
function timed(page, action, argument) {
	return page.evaluate(([name, position]) => new Promise((resolve) => {
		const key = (value) => window.dispatchEvent(new KeyboardEvent("keydown", { key: value }));
		const actions = {
			zoom: () => document.querySelector("#frames").dispatchEvent(new MouseEvent("click",
				{ bubbles: true, clientX: position[0], clientY: position[1] })),
			search: () => { window.prompt = () => "_7$"; key("/"); },
			reset: () => key("Escape"),
		};
		const start = performance.now();
		actions[name]();
		requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
	}), [action, argument]);
}

async function timedLoad(file) {
	const start = performance.now(), page = await open(file);
	await page.evaluate(() => new Promise((resolve) =>
		requestAnimationFrame(() => requestAnimationFrame(resolve))));
	return [performance.now() - start, page];
}

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

// Machines differ: what the script takes is held against the same document without one.
await test("50000_frames_take_no_longer_than_a_load", "large.svg", {}, async () => {
	const times = { plain: [], load: [], zoom: [], search: [], "reset search": [], "reset zoom": [] };
	for (let round = 0; round < 5; round++) {
		const [plain, plainPage] = await timedLoad("plain.svg");
		await plainPage.close();
		const [load, page] = await timedLoad("large.svg");
		times.plain.push(plain);
		times.load.push(load);
		times.zoom.push(await timed(page, "zoom", [500, rowY(1) + 5])); // all of them are drawn
		times.search.push(await timed(page, "search"));
		times["reset search"].push(await timed(page, "reset"));
		times["reset zoom"].push(await timed(page, "reset"));
		await page.close();
	}
	const medians = Object.entries(times).map(([name, list]) => [name, median(list)]);
	console.log("50,000 frames, milliseconds until seen, median of 5: " +
		medians.map(([name, time]) => name + " " + Math.round(time)).join(", ") +
		" (plain: loaded without the script)");
	for (const [name, time] of medians)
		assert.ok(time <= (name === "load" ? 3 : 1) * median(times.plain), name + " takes " +
			time / median(times.plain) + " times as long as to load it without the script");
});

await browser.close();
process.exit(failed ? 1 : 0);
