// SPDX-License-Identifier: GPL-2.0-only
// Chromium without a window, driven over its DevTools protocol: messages of JSON, ended by a zero byte, through
// the pipes 3 and 4. As much of it as a person does: open a page, look at it, point, click and type.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const KEYS = { ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Enter: 13, Escape: 27 };

// A request that is not answered by then fails, and so does a page that does not load.
const LIMIT_MS = 300000;

export class Browser {
	constructor(program = "chromium") {
		this.folder = mkdtempSync(join(tmpdir(), "chromium-"));
		this.process = spawn(program, ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
			"--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
			"--user-data-dir=" + this.folder], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
		this.requests = new Map();
		this.pages = new Map();
		this.last = 0;
		this.unread = "";
		this.process.on("error", (error) => this.fail(error));
		this.process.on("exit", () => this.fail(new Error(program + " has ended")));
		this.process.stdio[3].on("error", (error) => this.fail(error));
		this.process.stdio[4].setEncoding("utf8").on("data", (text) => this.read(text));
	}

	fail(error) {
		this.error = error;
		for (const request of this.requests.values()) request.reject(error);
		this.requests.clear();
	}

	read(text) {
		const messages = (this.unread + text).split("\0");
		this.unread = messages.pop();
		for (const message of messages.map((part) => JSON.parse(part))) {
			const request = this.requests.get(message.id);
			this.requests.delete(message.id);
			if (request && message.error) request.reject(new Error(message.error.message));
			else if (request) request.resolve(message.result);
			else this.pages.get(message.sessionId)?.happened(message.method, message.params);
		}
	}

	send(method, params = {}, sessionId) {
		if (this.error) throw this.error;
		const id = ++this.last;
		this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
		return within(method, new Promise((resolve, reject) => this.requests.set(id, { resolve, reject })));
	}

	async newPage({ width = 1240, height = 500, colorScheme = "light", javaScriptEnabled = true } = {}) {
		const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
		const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
		const page = new Page(this, sessionId, targetId);
		this.pages.set(sessionId, page);
		await page.send("Page.enable");
		await page.send("Runtime.enable");
		await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
		await page.send("Emulation.setEmulatedMedia",
			{ features: [{ name: "prefers-color-scheme", value: colorScheme }] });
		await page.send("Emulation.setScriptExecutionDisabled", { value: !javaScriptEnabled });
		return page;
	}

	async close() {
		const ended = new Promise((resolve) => this.process.once("exit", resolve));
		await this.send("Browser.close").catch(() => this.process.kill("SIGKILL"));
		await ended;
		rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
	}
}

function within(what, promise) {
	let timer;
	const limit = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(what + " took too long")), LIMIT_MS);
	});
	return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

class Page {
	constructor(browser, sessionId, targetId) {
		Object.assign(this, { browser, sessionId, targetId, errors: [], answer: "" });
	}

	send(method, params) { return this.browser.send(method, params, this.sessionId); }

	happened(event, params) {
		if (event === "Page.loadEventFired") this.loaded?.();
		if (event === "Runtime.exceptionThrown")
			this.errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
		if (event === "Page.javascriptDialogOpening")
			this.send("Page.handleJavaScriptDialog", { accept: true, promptText: this.answer });
	}

	// An error of a script of its own counts as one of the test.
	check() {
		if (this.errors.length) throw new Error(this.errors.join("\n"));
	}

	async goto(url) {
		const loaded = new Promise((resolve) => { this.loaded = resolve; });
		await this.send("Page.navigate", { url });
		await within(url, loaded);
	}

	// Returns the function's result. It runs in the page, and sees nothing of this file but the argument.
	async evaluate(run, argument) {
		const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
			expression: "(" + run + ")(" + JSON.stringify(argument) + ")", awaitPromise: true, returnByValue: true });
		if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
		return result.value;
	}

	text(selector) {
		return this.evaluate((s) => document.querySelector(s).textContent, selector);
	}

	count(selector) {
		return this.evaluate((s) => document.querySelectorAll(s).length, selector);
	}

	mouse(type, x, y, more) {
		return this.send("Input.dispatchMouseEvent", { type, x, y, ...more });
	}

	point(x, y) { return this.mouse("mouseMoved", x, y); }

	// Presses at one place and releases at another.
	async drag(from, to) {
		const button = { button: "left", clickCount: 1 };
		await this.point(...from);
		await this.mouse("mousePressed", ...from, button);
		await this.point(...to);
		await this.mouse("mouseReleased", ...to, button);
	}

	async clickAt(x, y) { await this.drag([x, y], [x, y]); }

	// The middle of the first element of which the text holds that.
	async click(selector, text = "") {
		const at = await this.evaluate(([s, part]) => {
			const box = Array.from(document.querySelectorAll(s))
				.find((element) => element.textContent.includes(part)).getBoundingClientRect();
			return [box.x + box.width / 2, box.y + box.height / 2];
		}, [selector, text]);
		await this.clickAt(...at);
	}

	// A key, by its name or letter. What a dialog asks then is answered.
	async press(key, answer = "") {
		const event = { key, windowsVirtualKeyCode: KEYS[key] };
		this.answer = answer;
		await this.send("Input.dispatchKeyEvent",
			{ ...event, type: key.length > 1 ? "rawKeyDown" : "keyDown", text: key.length > 1 ? undefined : key });
		await this.send("Input.dispatchKeyEvent", { ...event, type: "keyUp" });
	}

	async screenshot(path) {
		const { data } = await this.send("Page.captureScreenshot", { format: "png" });
		writeFileSync(path, Buffer.from(data, "base64"));
	}

	async close() {
		this.browser.pages.delete(this.sessionId);
		await this.browser.send("Target.closeTarget", { targetId: this.targetId });
	}
}
