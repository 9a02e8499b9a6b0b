// SPDX-License-Identifier: GPL-2.0-only
// What a person does with a flame graph, done in a browser; see the file "run" beside this one.
import { chromium } from "playwright-core";
import { strict as assert } from "node:assert";
import { pathToFileURL } from "node:url";

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
let failed = false;

async function open(file, options = {}) {
	const page = await browser.newPage({ viewport: { width: 1240, height: 500 }, ...options });
	page.on("pageerror", (error) => { throw error; });
	await page.goto(pathToFileURL(file).href);
	return page;
}

async function test(name, file, options, run) {
	let page;
	try {
		page = await open(file, options);
		await run(page);
		console.log("PASS " + name);
	} catch (error) {
		failed = true;
		console.log("FAIL " + name + "\n" + error.message);
	} finally {
		if (page) await page.close();
	}
}

// The frames that can be seen: name, left edge, width, what is written on them, classes.
function frames(page) {
	return page.evaluate(() => Array.from(document.querySelectorAll("#frames > g"))
		.filter((g) => g.style.display !== "none")
		.map((g) => ({
			name: g.firstChild.textContent.replace(/ \([^(]*\)$/, ""),
			x: +g.querySelector("rect").getAttribute("x"),
			width: +g.querySelector("rect").getAttribute("width"),
			label: g.querySelector("text") ? g.querySelector("text").textContent : "",
			hit: g.classList.contains("hit"), caller: g.classList.contains("caller"),
			current: g.classList.contains("current"),
		})));
}

async function frame(page, name) {
	return (await frames(page)).find((f) => f.name === name);
}

async function click(page, name) {
	await page.locator("#frames > g", { hasText: name }).first().locator("rect").click({ force: true });
}

async function search(page, text) {
	page.once("dialog", (dialog) => dialog.accept(text));
	await page.keyboard.press("/");
	return page.locator("#matched").textContent();
}

await test("zoom_and_reset", "small.svg", {}, async (page) => {
	const before = await frames(page);
	await click(page, "draw (");
	const draw = await frame(page, "draw");
	assert.equal(draw.width, 1180);
	assert.equal((await frame(page, "line")).width, 1180);
	assert.equal(await frame(page, "parse"), undefined);
	assert.equal((await frame(page, "main")).caller, true);
	await page.screenshot({ path: "zoomed.png" });
	await page.locator("#reset").click();
	assert.deepEqual(await frames(page), before);
});

await test("labels_fit_their_frames", "small.svg", {}, async (page) => {
	for (const box of await page.evaluate(() => Array.from(document.querySelectorAll("#frames text"))
		.map((t) => [t.getBBox().width, +t.parentNode.querySelector("rect").getAttribute("width")])))
		assert.ok(box[0] <= box[1], "a label of " + box[0] + " on a frame of " + box[1]);
	assert.equal((await frame(page, "main")).label, "main");
});

await test("search_counts_what_matches_once", "small.svg", {}, async (page) => {
	assert.equal(await search(page, "line|read"), "Matched: 45.00 %");
	assert.deepEqual((await frames(page)).filter((f) => f.hit).map((f) => f.name), ["line", "line", "read"]);
	await page.screenshot({ path: "searched.png" });
	await page.locator("#search").click();
	assert.equal((await frames(page)).filter((f) => f.hit).length, 0);
	assert.equal(await search(page, "("), "Matched: 0.00 %");
});

await test("keys_move_and_zoom", "small.svg", {}, async (page) => {
	for (const key of ["ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp"]) await page.keyboard.press(key);
	assert.equal((await frames(page)).find((f) => f.current).name, "draw");
	assert.match(await page.locator("#details").textContent(), /^draw \(35 samples, 35.00 %\)$/);
	await page.keyboard.press("ArrowRight");
	assert.equal((await frames(page)).find((f) => f.current).name, "parse");
	await page.keyboard.press("Enter");
	assert.equal((await frame(page, "parse")).width, 1180);
	await page.keyboard.press("Escape");
	assert.ok((await frame(page, "parse")).width < 1180);
});

await test("readable_without_scripts", "small.svg", { javaScriptEnabled: false }, async (page) => {
	await page.screenshot({ path: "noscript.png" });
	assert.equal(await page.locator("#frames text", { hasText: "parse" }).count(), 1);
});

for (const scheme of ["light", "dark"])
	await test("background_is_" + scheme, "small.svg", { colorScheme: scheme }, async (page) => {
		const colour = await page.evaluate(() =>
			getComputedStyle(document.querySelector("#background")).fill);
		assert.equal(colour, scheme === "light" ? "rgb(255, 255, 255)" : "rgb(28, 28, 32)");
		await page.screenshot({ path: scheme + ".png" });
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

// Times are told, not judged: machines differ.
await test("a_graph_of_50000_frames_works", "large.svg", {}, async (page) => {
	const times = await page.evaluate(() => {
		const timed = (action) => {
			const start = performance.now();
			action();
			document.documentElement.getBBox(); // the layout is done too
			return Math.round(performance.now() - start);
		};
		const target = Array.from(document.querySelectorAll("#frames > g"))
			.find((g) => g.textContent.startsWith("f7_0 ("));
		window.prompt = () => "^f7_";
		return {
			load: Math.round(performance.getEntriesByType("navigation")[0].loadEventEnd),
			zoom: timed(() => target.querySelector("rect").dispatchEvent(
				new MouseEvent("click", { bubbles: true }))),
			search: timed(() => window.dispatchEvent(new KeyboardEvent("keydown", { key: "/" }))),
		};
	});
	assert.equal((await frame(page, "f7_19")).width, 1180);
	assert.equal(await page.locator("#matched").textContent(), "Matched: 0.04 %");
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	assert.equal((await frames(page)).length, 50002);
	console.log("50,000 frames: loaded in " + times.load + " ms, zoomed in " + times.zoom +
		" ms, searched in " + times.search + " ms");
});

await browser.close();
process.exit(failed ? 1 : 0);
